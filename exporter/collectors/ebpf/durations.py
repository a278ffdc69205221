"""Durations as the kernel counts them: by powers of two in nanoseconds."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from exporter.model.probe import Histogram

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
