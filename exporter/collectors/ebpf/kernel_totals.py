"""Events of the kernel since the start: sums up what bpftrace prints."""

from collections import Counter
from collections.abc import Mapping
from operator import add
from typing import Any

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
    """Takes the records of bpftrace; sockets wait until it is known whose they are."""

    def __init__(self) -> None:
        self._waiting: Counter[Opener] = Counter()
        self._retransmits: CappedTotals[User, int] = CappedTotals(
            MAX_USERS, lambda _: (OTHERS, ""), add, int
        )
        self._latencies: dict[tuple[int, str], Durations] = {}

    def take(self, data: Mapping[str, Any]) -> None:
        """Add the maps of one record; raise ValueError or TypeError for a foreign map."""
        for name, entries in data.items():
            if not isinstance(entries, dict):
                continue  # a plain number, printed when bpftrace ends
            for key, value in entries.items():
                first, second = map(int, key.split(","))
                if name.startswith("@retransmits"):
                    self._add_segments((first, second), int(value))
                elif name.startswith(("@time", "@sum")):
                    self._add_latency(first, second, value)

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

    def _add_latency(self, number: int, kind: int, value: Any) -> None:
        operation = OPERATIONS.get(kind)
        if operation is None:
            return
        key = (number, operation)
        if key not in self._latencies and len(self._latencies) >= MAX_DISKS:
            return
        durations = self._latencies.setdefault(key, Durations())
        if isinstance(value, list):
            durations.add_buckets(value)
        else:
            durations.nanoseconds += value
