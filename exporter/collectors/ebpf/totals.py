"""What was counted since the start, by call and workload: sums up what bpftrace prints."""

from dataclasses import field

from exporter.collectors.ebpf.batch import Batch
from exporter.collectors.ebpf.calls import CALLS
from exporter.collectors.ebpf.capped import Durations, WorkloadTotals
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


class CallTotals(WorkloadTotals[_Counts]):
    """Takes the batches of bpftrace."""

    def __init__(self) -> None:
        super().__init__(MAX_COMBINATIONS, _Counts.with_added, _Counts)

    def take(self, batch: Batch) -> None:
        """Add one batch; raise ValueError, TypeError or KeyError for foreign rows."""
        for (pid, _, number), buckets in batch.entries("@time"):
            durations = Durations()
            durations.add_buckets(buckets)
            self.add(pid, number, _Counts(durations))
        for (pid, _, number, what), value in batch.entries("@sum"):
            if what == DURATION:
                self.add(pid, number, _Counts(Durations(nanoseconds=value)))
            elif what == ERRORS:
                self.add(pid, number, _Counts(errors=value))
            elif what == BYTES:
                self.add(pid, number, _Counts(bytes=value))

    def calls(self) -> tuple[TracedCall, ...]:
        """Return the totals."""
        return tuple(_shown(*row) for row in self.sums())


def _shown(number: int, workload: Workload, total: _Counts) -> TracedCall:
    call = CALLS[number]
    durations = total.durations.histogram()
    given = None if call.size is None else total.bytes
    return TracedCall(call.layer, call.name, workload, durations, total.errors, given)
