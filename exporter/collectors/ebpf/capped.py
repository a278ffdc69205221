"""Totals since the start of the exporter, bounded in number and in time; durations of calls.

The kernel counts durations by powers of two in nanoseconds.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from itertools import accumulate
from typing import Generic, TypeVar

from exporter.collectors.workloads.values import Workload
from exporter.model.probe import Histogram
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
        zero: Callable[[], T],
    ) -> None:
        self._most = most
        self._rest_of = rest_of
        self._merged = merged
        self._zero = zero
        self._changed: dict[K, float] = {}
        self.sums: dict[K, T] = {}

    def add(self, key: K, amount: T, now: float) -> None:
        """Add an amount to the sum of a key at this time in seconds."""
        if key not in self.sums and len(self.sums) >= self._most:
            key = self._rest_of(key)
        total = self.sums[key] if key in self.sums else self._zero()
        self.sums[key] = self._merged(total, amount)
        self._changed[key] = now

    def forget_ended(self, now: float, is_alive: Callable[[K], bool] = lambda _: False) -> None:
        """Forget keys that nothing was added to for long, unless they are alive."""
        for key, changed in tuple(self._changed.items()):
            if now - changed > KEPT_SECS and not is_alive(key):
                del self.sums[key], self._changed[key]


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
