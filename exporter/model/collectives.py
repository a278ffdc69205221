"""NCCL communicators on this node, and which rank waits for which."""

from dataclasses import dataclass

from exporter.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Communicator:
    """One communicator, as far as its ranks are processes of this node.

    `waiting_secs` is how long some of them have waited for the same collective, 0 where none does;
    `missing` names those that have not entered it; `missing_busy` tells whether all of these
    compute, read or write meanwhile, None where that is not known. `late` names the one that
    entered later than the others in each of the last windows: by `late_secs`, which is
    `late_ratio` of the time between two collectives. `ranks` is None where its start was not seen.
    """

    id: str
    workload: Workload
    ranks: int | None
    ranks_here: int
    pids: tuple[int, ...] = ()
    waiting_secs: float = 0.0
    waiting_ranks: int = 0
    call: str = ""
    missing: str = ""
    missing_ranks: int = 0
    missing_pids: tuple[int, ...] = ()
    missing_busy: bool | None = None
    late: str = ""
    late_pid: int | None = None
    late_secs: float = 0.0
    late_ratio: float = 0.0
