"""What is read by eBPF: calls, collectives, kernel events."""

from exporter.collectors.workloads.values import TracedCall, Workload
from exporter.exposition.family import Histogram
from exporter.record import dataclass


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


@dataclass(frozen=True, slots=True)
class TracedCalls:
    """What is counted now; `libraries` are the files that are attached to.

    `refused_libraries` are files in use, named like a library, that there is nothing to attach to
    in, or whose symbols cost too much to read.
    """

    calls: tuple[TracedCall, ...] = ()
    communicators: tuple[Communicator, ...] = ()
    libraries: int = 0
    refused_libraries: int = 0

    def traced_calls(self) -> tuple[TracedCall, ...]:
        """Return the calls of each workload."""
        return self.calls


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """How often a workload has called a function since the first time."""

    layer: str  # torch or python
    function: str
    workload: Workload
    calls: int


@dataclass(frozen=True, slots=True)
class TracedFunctions:
    """What is counted now; `files` are the interpreters and libraries that are attached to."""

    functions: tuple[TracedFunction, ...] = ()
    files: int = 0


@dataclass(frozen=True, slots=True)
class Retransmits:
    """TCP segments that a process of a workload sent again; `process` is empty where unknown."""

    workload: Workload
    process: str
    segments: int


@dataclass(frozen=True, slots=True)
class DiskLatency:
    """How long requests of one kind took at one disk; durations in seconds."""

    device: str
    operation: str  # read, write, flush or discard
    latency: Histogram


@dataclass(frozen=True, slots=True)
class TracedEvents:
    """What was counted since the start."""

    retransmits: tuple[Retransmits, ...] = ()
    latencies: tuple[DiskLatency, ...] = ()
