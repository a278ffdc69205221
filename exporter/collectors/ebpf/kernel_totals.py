"""Events of the kernel since the start: sums up what bpftrace prints."""

from collections import Counter
from collections.abc import Mapping
from operator import add

from exporter.collectors.ebpf.batch import Batch
from exporter.collectors.ebpf.capped import OTHERS, CappedTotals, Durations
from exporter.collectors.ebpf.values import DiskLatency, Retransmits
from exporter.collectors.workloads.values import Workload

MAX_USERS = 64
"""Processes of workloads that are kept apart; what comes later is counted as that of others."""

MAX_WAITING = 4096
MAX_DISKS = 256

OPERATIONS = {ord("R"): "read", ord("W"): "write", ord("F"): "flush", ord("D"): "discard"}
"""By the first letter of the kind of a request (rwbs); others are not shown."""

Opener = tuple[int, int]
"""The cgroup of a socket, and the process that opened it, by their numbers; 0 is unknown."""

User = tuple[Workload, str]
"""A workload, and the name of its process."""

UNKNOWN: User = (Workload("", "", "unknown"), "")


class KernelTotals:
    """Takes the batches of bpftrace; sockets wait until it is known whose they are."""

    def __init__(self) -> None:
        self._waiting: Counter[Opener] = Counter()
        self._retransmits: CappedTotals[User, int] = CappedTotals(
            MAX_USERS, lambda _: (OTHERS, ""), add
        )
        self._latencies: dict[tuple[int, str], Durations] = {}

    def take(self, batch: Batch) -> None:
        """Add one batch; raise ValueError, TypeError or KeyError for foreign rows."""
        for (cgroup, pid), segments in batch.entries("@retransmits"):
            self._add_segments((cgroup, pid), segments)
        for (disk, kind), buckets in batch.entries("@time"):
            self._durations(disk, kind).add_buckets(buckets)
        for (disk, kind), nanoseconds in batch.entries("@sum"):
            self._durations(disk, kind).nanoseconds += nanoseconds

    @property
    def openers(self) -> frozenset[Opener]:
        """The processes whose sockets wait for the name of their workload."""
        return frozenset(self._waiting)

    @property
    def disks(self) -> frozenset[int]:
        """The numbers of the disks that had requests."""
        return frozenset(number for number, _ in self._latencies)

    def settle(self, users: Mapping[Opener, User], now: float) -> None:
        """Add waiting events to the totals of users; forget users that ended long ago."""
        for opener, segments in self._waiting.items():
            self._retransmits.add(users.get(opener, UNKNOWN), segments, now)
        self._waiting.clear()
        self._retransmits.forget_ended(now)

    def retransmits(self) -> tuple[Retransmits, ...]:
        """Return the segments by user."""
        return tuple(
            Retransmits(workload, process, segments)
            for (workload, process), segments in sorted(self._retransmits.sums.items())
        )

    def latencies(self, names: Mapping[int, str]) -> tuple[DiskLatency, ...]:
        """Return the latencies of the disks that have a name; several may have the same."""
        found: dict[tuple[str, str], Durations] = {}
        for (number, operation), durations in self._latencies.items():
            if number in names:
                found.setdefault((names[number], operation), Durations()).add(durations)
        return tuple(DiskLatency(*key, each.histogram()) for key, each in sorted(found.items()))

    def _add_segments(self, opener: Opener, segments: int) -> None:
        is_known = opener in self._waiting or len(self._waiting) < MAX_WAITING
        self._waiting[opener if is_known else (0, 0)] += segments

    def _durations(self, disk: int, kind: int) -> Durations:
        """Return the durations of an operation on a disk; nobody keeps those beyond the limit."""
        key = (disk, OPERATIONS.get(kind, ""))
        is_new = key not in self._latencies
        if kind not in OPERATIONS or (is_new and len(self._latencies) >= MAX_DISKS):
            return Durations()
        return self._latencies.setdefault(key, Durations())
