"""Keeps what was made, while what it was made of is the same."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LastMade(Generic[T]):
    """What was made last, and of what."""

    _last: tuple[object, T] | None = None

    def made(self, of: object, make: Callable[[], T]) -> T:
        """Return what `make` returns; do not call it while `of` is equal to that of last time."""
        if self._last is None or self._last[0] != of:
            self._last = (of, make())
        return self._last[1]
