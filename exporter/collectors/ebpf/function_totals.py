"""Calls of chosen functions since the start: sums up what bpftrace prints."""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import add
from typing import Any

from exporter.collectors.ebpf.capped import OTHERS, CappedTotals
from exporter.collectors.ebpf.functions import Function
from exporter.collectors.ebpf.values import TracedFunction
from exporter.collectors.workloads.values import Workload

MAX_SERIES = 256
"""Functions of workloads that are kept apart; what comes later is counted as that of others."""


class FunctionTotals:
    """Takes the records of bpftrace; what no workload is known for yet waits until it is."""

    def __init__(self, chosen: Sequence[Function]) -> None:
        self._chosen = chosen
        self._waiting: Counter[tuple[int, int]] = Counter()  # by pid and number of the function
        self._totals: CappedTotals[tuple[int, Workload], int] = CappedTotals(
            MAX_SERIES, lambda key: (key[0], OTHERS), add, int
        )

    def take(self, data: Mapping[str, Any]) -> None:
        """Add the maps of one record; raise ValueError or TypeError for what is none of ours."""
        for name, entries in data.items():
            if name.startswith("@calls") and isinstance(entries, dict):
                for key, calls in entries.items():
                    pid, number = (int(part) for part in key.split(","))
                    if 0 <= number < len(self._chosen):
                        self._waiting[pid, number] += int(calls)

    @property
    def pids(self) -> frozenset[int]:
        """The processes whose calls wait for the name of their workload."""
        return frozenset(pid for pid, _ in self._waiting)

    def settle(self, workloads: Mapping[int, Workload], now: float) -> None:
        """Add what waits to the totals of the workloads; forget those that ended long ago."""
        for (pid, number), calls in self._waiting.items():
            self._totals.add((number, workloads.get(pid, OTHERS)), calls, now)
        self._waiting.clear()
        self._totals.forget_ended(now)

    def functions(self) -> tuple[TracedFunction, ...]:
        """Return the totals."""
        return tuple(
            TracedFunction(self._chosen[number].layer, self._chosen[number].name, workload, calls)
            for (number, workload), calls in sorted(self._totals.sums.items())
        )
