"""What was counted since the start, by call and workload: sums up what bpftrace prints."""

from collections.abc import Mapping
from dataclasses import field

from exporter.collectors.ebpf.batch import Batch
from exporter.collectors.ebpf.calls import CALLS
from exporter.collectors.ebpf.capped import OTHERS, CappedTotals, Durations
from exporter.collectors.ebpf.collectives.program import BYTES
from exporter.collectors.ebpf.program import DURATION, ERRORS
from exporter.collectors.workloads.values import TracedCall, Workload
from exporter.record import dataclass

MAX_COMBINATIONS = 64
"""Calls of workloads that are kept apart; what comes later is counted as that of others."""


@dataclass(slots=True)
class _Counts:
    """The calls of one function."""

    durations: Durations = field(default_factory=Durations)
    errors: int = 0
    bytes: int = 0

    def with_added(self, other: "_Counts") -> "_Counts":
        self.durations.add(other.durations)
        self.errors += other.errors
        self.bytes += other.bytes
        return self


class CallTotals:
    """Takes the records of bpftrace; what no workload is known for yet waits until it is."""

    def __init__(self) -> None:
        self._counted: dict[tuple[int, int], _Counts] = {}  # by pid and number of the call
        self._totals: CappedTotals[tuple[int, Workload], _Counts] = CappedTotals(
            MAX_COMBINATIONS, lambda key: (key[0], OTHERS), _Counts.with_added, _Counts
        )

    def take(self, batch: Batch) -> None:
        """Add one batch; raise ValueError, TypeError or KeyError for foreign rows."""
        for (pid, _, number), buckets in batch.entries("@time"):
            counts = self._counted.setdefault((pid, number), _Counts())
            counts.durations.add_buckets(buckets)
        for (pid, _, number, what), value in batch.entries("@sum"):
            counts = self._counted.setdefault((pid, number), _Counts())
            if what == DURATION:
                counts.durations.nanoseconds += value
            elif what == ERRORS:
                counts.errors += value
            elif what == BYTES:
                counts.bytes += value

    @property
    def pids(self) -> frozenset[int]:
        """The processes whose calls wait for the name of their workload."""
        return frozenset(pid for pid, _ in self._counted)

    def settle(self, workloads: Mapping[int, Workload], now: float) -> None:
        """Add what was counted to the totals of the workloads of these processes."""
        for (pid, number), counts in self._counted.items():
            self._totals.add((number, workloads.get(pid, OTHERS)), counts, now)
        self._counted.clear()
        alive = frozenset(workloads.values())
        self._totals.forget_ended(now, lambda key: key[1] in alive)

    def calls(self) -> tuple[TracedCall, ...]:
        """Return the totals."""
        return tuple(
            _shown(number, workload, total)
            for (number, workload), total in sorted(self._totals.sums.items())
        )


def _shown(number: int, workload: Workload, total: _Counts) -> TracedCall:
    call = CALLS[number]
    durations = total.durations.histogram()
    given = None if call.size is None else total.bytes
    return TracedCall(call.layer, call.name, workload, durations, total.errors, given)
