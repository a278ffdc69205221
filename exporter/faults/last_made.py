"""Keeps a value for as long as its inputs are equal."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LastMade(Generic[T]):
    """The last value, and its inputs."""

    _last: tuple[object, T] | None = None

    def made(self, of: object, make: Callable[[], T]) -> T:
        """Return the value of `make`; call `make` only if the inputs `of` are other ones."""
        if self._last is None or self._last[0] != of:
            self._last = (of, make())
        return self._last[1]
