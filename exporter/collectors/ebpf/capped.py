"""Totals since the start of the exporter, bounded in number and in time; durations of calls.

The kernel counts durations by powers of two in nanoseconds.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from itertools import accumulate
from typing import Generic, TypeVar

from exporter.collectors.workloads.values import Workload
from exporter.exposition.family import Histogram
from exporter.record import dataclass

OTHERS = Workload("", "", "other")
KEPT_SECS = 900.0
"""For so long the counts of a workload that has ended are shown."""

K = TypeVar("K")
T = TypeVar("T")


class CappedTotals(Generic[K, T]):
    """Sums by key: `most` keys are kept apart, further ones are counted under `rest_of(key)`.

    `merged` adds its second argument to its first one, and returns the sum.
    """

    def __init__(
        self,
        most: int,
        rest_of: Callable[[K], K],
        merged: Callable[[T, T], T],
    ) -> None:
        self._most = most
        self._rest_of = rest_of
        self._merged = merged
        self._changed: dict[K, float] = {}
        self.sums: dict[K, T] = {}

    def add(self, key: K, amount: T, now: float) -> None:
        """Add an amount to the sum of a key at this time in seconds."""
        if key not in self.sums and len(self.sums) >= self._most:
            key = self._rest_of(key)
        self.sums[key] = self._merged(self.sums[key], amount) if key in self.sums else amount
        self._changed[key] = now

    def forget_ended(self, now: float, is_alive: Callable[[K], bool] = lambda _: False) -> None:
        """Forget keys that nothing was added to for long, unless they are alive."""
        for key, changed in tuple(self._changed.items()):
            if now - changed > KEPT_SECS and not is_alive(key):
                del self.sums[key], self._changed[key]


class WorkloadTotals(Generic[T]):
    """Sums by a number and workload; what no workload is known for yet waits until it is.

    `most` are kept apart, and `merged` adds, as for `CappedTotals`, beginning with `zero()`.
    """

    def __init__(self, most: int, merged: Callable[[T, T], T], zero: Callable[[], T]) -> None:
        self._merged = merged
        self._waiting: defaultdict[tuple[int, int], T] = defaultdict(zero)  # by pid and number
        self._totals: CappedTotals[tuple[int, Workload], T] = CappedTotals(
            most, lambda key: (key[0], OTHERS), merged
        )

    def add(self, pid: int, number: int, amount: T) -> None:
        """Add what a process has done."""
        self._waiting[pid, number] = self._merged(self._waiting[pid, number], amount)

    @property
    def pids(self) -> frozenset[int]:
        """The processes whose counts wait for the name of their workload."""
        return frozenset(pid for pid, _ in self._waiting)

    def settle(self, workloads: Mapping[int, Workload], now: float) -> None:
        """Add what waits to the totals of the workloads of these processes; forget ended ones."""
        for (pid, number), amount in self._waiting.items():
            self._totals.add((number, workloads.get(pid, OTHERS)), amount, now)
        self._waiting.clear()
        alive = frozenset(workloads.values())
        self._totals.forget_ended(now, lambda key: key[1] in alive)

    def sums(self) -> list[tuple[int, Workload, T]]:
        """Return the sums in the order of numbers and workloads."""
        return [(*key, total) for key, total in sorted(self._totals.sums.items())]


BOUNDS_NS = tuple(2**power for power in range(10, 35, 2))
"""From a microsecond to 17 seconds: the kernel counts by powers of two, every other is a bound."""

NANOSECONDS = 1e9


@dataclass(slots=True)
class Durations:
    """How many were within each bound, and beyond the last, and their sum."""

    within: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_NS) + 1))
    nanoseconds: int = 0

    def add_buckets(self, buckets: Iterable[Mapping[str, int]]) -> None:
        """Add the buckets of a `hist` of bpftrace; the first of them may have no `min`."""
        for bucket in buckets:
            self.within[bisect_left(BOUNDS_NS, bucket["max"])] += bucket["count"]

    def add(self, other: "Durations") -> None:
        """Add those of another."""
        self.within = [a + b for a, b in zip(self.within, other.within, strict=True)]
        self.nanoseconds += other.nanoseconds

    def histogram(self) -> Histogram:
        """Return them as they are on the page, in seconds."""
        bounds = (*(bound / NANOSECONDS for bound in BOUNDS_NS), math.inf)
        buckets = tuple(zip(bounds, accumulate(self.within), strict=True))
        return Histogram(buckets, self.nanoseconds / NANOSECONDS)
