"""Communicators of NCCL: which ranks wait for which others, from the calls they have entered.

Processes belong together when they were made ranks of one id. Where that was not seen, because
the library was found too late, those of one workload with one parent do. Where not all calls were
counted, only what waits inside a call tells anything: such counts cannot be compared.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from exporter.collectors.ebpf.batch import Batch
from exporter.collectors.ebpf.calls import CALLS
from exporter.collectors.ebpf.collectives.lateness import Lateness
from exporter.collectors.ebpf.collectives.rank import USUAL_STATES, Rank
from exporter.collectors.ebpf.values import Communicator
from exporter.collectors.workloads.values import Workload
from exporter.record import dataclass

MAX_RANKS = 1024
FRESH_NS = 8_000_000_000
"""The ranks inside a call are printed every two seconds."""

SHOWN_RANKS = 4
NOBODY_BEHIND = -1
NANOSECONDS = 1e9
_UINT64 = 2**64 - 1

Group = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankProcesses:
    """What is known of the processes: those that are there, workload, parent and state of each.

    `busy` tells of ranks whether they compute, read or write.
    """

    workloads: Mapping[int, Workload]
    parents: Mapping[int, int]
    states: Mapping[int, str] = field(default_factory=dict)
    busy: Mapping[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class _Progress:
    """How far the slowest rank of a communicator has come, since when, and who is late."""

    least: int = NOBODY_BEHIND
    since_ns: int = 0
    lateness: Lateness = field(default_factory=Lateness)


class Communicators:
    """Takes what bpftrace prints; times are those of the kernel, in nanoseconds since boot."""

    def __init__(self) -> None:
        self._ranks: dict[tuple[int, int], Rank] = {}
        self._progress: dict[Group, _Progress] = {}

    def take(self, batch: Batch, now_ns: int) -> None:
        """Take one batch: ranks that are new, what was entered, who is inside, who has left."""
        gone = dict(batch.entries("@gone"))
        for key, (id_, ranks, rank, made_ns) in batch.entries("@made"):
            if gone.get(key, made_ns) < made_ns:  # the one before of the same address
                self._ranks.pop((key[0], key[1]), None)
                del gone[key]
            id_text = f"{id_ & _UINT64:016x}"
            self._add(Rank(key[0], id_text, rank, ranks, is_whole=True, born_ns=made_ns), key[1])
        for (pid, _, comm, what), value in batch.entries("@met"):
            self._rank(pid, comm, now_ns).count(what, value)
        for (pid, _, comm), entered_ns in batch.entries("@newest"):
            rank = self._rank(pid, comm, now_ns)
            rank.newest_ns = max(rank.newest_ns, entered_ns)
        for (pid, _, number), (since_ns, comm) in batch.entries("@in"):
            self._rank(pid, comm, now_ns).enter(CALLS[number].name, since_ns, now_ns)
        for pid, comm in gone:
            self._ranks.pop((pid, comm), None)

    def miss(self) -> None:
        """Note that calls were not counted for a while, for each rank as many as may be."""
        for rank in self._ranks.values():
            rank.is_whole = False
        self._progress.clear()

    @property
    def pids(self) -> frozenset[int]:
        """The processes that are ranks."""
        return frozenset(rank.pid for rank in self._ranks.values())

    def evaluate(self, now_ns: int, processes: RankProcesses) -> tuple[Communicator, ...]:
        """Return the waiting ranks of each communicator; forget those without live ranks."""
        groups: dict[Group, list[Rank]] = {}
        for rank in self._ranks.values():
            rank.note(is_there=rank.pid in processes.parents, now_ns=now_ns)
            groups.setdefault(_group(rank, processes), []).append(rank)
        for group in tuple(groups):
            if all(rank.has_ended for rank in groups[group]):
                del groups[group]
        kept = {id(rank) for ranks in groups.values() for rank in ranks}
        self._ranks = {key: rank for key, rank in self._ranks.items() if id(rank) in kept}
        self._progress = {group: self._progress.get(group, _Progress()) for group in groups}
        return tuple(
            self._judged(group, _ranks_of(each), now_ns, processes)
            for group, each in groups.items()
        )

    def _add(self, rank: Rank, comm: int) -> None:
        if len(self._ranks) < MAX_RANKS:
            self._ranks[rank.pid, comm] = rank

    def _rank(self, pid: int, comm: int, now_ns: int) -> Rank:
        """Find a rank, or make one whose start was not seen; beyond the bound it is not kept."""
        if (pid, comm) not in self._ranks:
            self._add(Rank(pid, born_ns=now_ns), comm)
        return self._ranks.get((pid, comm)) or Rank(pid)

    def _judged(
        self, group: Group, ranks: list[Rank], now_ns: int, processes: RankProcesses
    ) -> Communicator:
        progress = self._progress[group]
        is_whole = all(rank.is_whole for rank in ranks)  # counts can be compared
        most = max(rank.entered for rank in ranks)
        behind = [rank for rank in ranks if rank.entered < most] if is_whole else []
        inside = [rank for rank in ranks if now_ns - rank.seen_ns <= FRESH_NS]
        least = min(rank.entered for rank in ranks)
        if not behind or progress.least != least:
            progress.least, progress.since_ns = least if behind else NOBODY_BEHIND, now_ns
        since_ns = progress.since_ns
        waiting = [rank for rank in ranks if rank.entered == most] if behind else inside
        if inside and not behind:
            since_ns = min(rank.inside_ns for rank in inside)
            behind = [] if is_whole else [rank for rank in ranks if rank not in inside]
        found = progress.lateness.look(ranks, now_ns) if is_whole else None
        late = next((rank for rank in ranks if found and rank.order() == found.rank), None)
        return Communicator(
            id="-".join(group),
            workload=_workload(ranks, processes),
            ranks=ranks[0].ranks,
            ranks_here=len(ranks),
            pids=tuple(rank.pid for rank in ranks if not rank.has_ended),
            waiting_secs=max(0.0, (now_ns - since_ns) / NANOSECONDS) if waiting else 0.0,
            waiting_ranks=len(waiting) if behind or inside else 0,
            call=next((rank.call for rank in waiting if rank in inside), "collective"),
            missing=_names(behind, processes),
            missing_ranks=len(behind),
            missing_pids=tuple(rank.pid for rank in behind),
            missing_busy=_are_busy(behind, processes),
            late="" if late is None else late.name(),
            late_pid=None if late is None else late.pid,
            late_secs=found.secs if found else 0.0,
            late_ratio=found.ratio if found else 0.0,
        )


def _ranks_of(group: Iterable[Rank]) -> list[Rank]:
    """Sort the ranks of a group.

    Where no start was seen, a process may be in several communicators that cannot be told apart:
    it is one rank, by the communicator whose call it was last seen in.
    """
    by_last = sorted(group, key=lambda rank: rank.seen_ns)
    one_each = {rank.order(): rank for rank in by_last}
    return sorted(one_each.values(), key=Rank.order)


def _group(rank: Rank, processes: RankProcesses) -> Group:
    """Return what ranks of one communicator have in common."""
    if rank.id:
        return (rank.id,)
    who = processes.workloads.get(rank.pid)
    names = () if who is None else (who.namespace, who.pod, who.container)
    parent = processes.parents.get(rank.pid, rank.pid)
    return (*(name for name in names if name), str(parent))


def _workload(ranks: Iterable[Rank], processes: RankProcesses) -> Workload:
    known = (processes.workloads.get(rank.pid) for rank in ranks)
    return next((workload for workload in known if workload is not None), Workload("", "", ""))


def _are_busy(ranks: list[Rank], processes: RankProcesses) -> bool | None:
    busy = [processes.busy.get(rank.pid) for rank in ranks]
    return None if not busy or None in busy else all(busy)


def _names(ranks: list[Rank], processes: RankProcesses) -> str:
    shown = [rank.name(_state(rank, processes)) for rank in ranks[:SHOWN_RANKS]]
    more = len(ranks) - len(shown)
    return ", ".join([*shown, f"{more} more"] if more else shown)


def _state(rank: Rank, processes: RankProcesses) -> str:
    """Return what is unusual about the process of a rank that does not come."""
    if rank.has_ended:
        return "ended"
    state = processes.states.get(rank.pid, "")
    return "busy" if state in USUAL_STATES and processes.busy.get(rank.pid) else state
