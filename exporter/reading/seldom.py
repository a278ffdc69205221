"""Keeps what hardly changes, and reads it seldom: limits of a link, the cgroup of a process."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

LOOKS = 20
"""Readings that a kept value serves: five minutes at the default interval (docs/workloads.md)."""

MOST = 4096
"""Values that are kept; beyond, all are read again."""


class Seldom(Generic[T]):
    """Values by key, each read again after so many looks; what could not be read is not kept."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[int, T]] = {}

    def get(self, key: Hashable, read: Callable[[], T | None]) -> T | None:
        """Return the kept value of this key, or read it; None if it cannot be read."""
        left, value = self._kept.pop(key, (0, None))
        if left == 0 or value is None:
            left, value = LOOKS, read()
        if value is not None:
            if len(self._kept) >= MOST:
                self._kept.clear()
            self._kept[key] = (left - 1, value)
        return value

    def clear(self) -> None:
        """Forget all values: other hardware is there."""
        self._kept.clear()
