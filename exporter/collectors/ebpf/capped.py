"""Totals since the start of the exporter: bounded in number and in time."""

from collections.abc import Callable
from typing import Generic, TypeVar

from exporter.collectors.workloads.values import Workload

OTHERS = Workload("", "", "other")
KEPT_SECS = 900.0
"""For so long the counts of a workload that has ended are shown."""

K = TypeVar("K")
T = TypeVar("T")


def never(_: object) -> bool:
    """Return False: no key is kept for its own sake."""
    return False


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

    def forget_ended(self, now: float, is_alive: Callable[[K], bool] = never) -> None:
        """Forget keys that nothing was added to for long, unless they are alive."""
        for key, changed in tuple(self._changed.items()):
            if now - changed > KEPT_SECS and not is_alive(key):
                del self.sums[key], self._changed[key]
