"""Keeps a value for as long as its inputs are equal."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class LastMade(Generic[T]):
    """The last value, and its inputs."""

    _last: tuple[object, T] | None = None

    def made(self, of: object, make: Callable[[], T]) -> T:
        """Return the value of `make`; call `make` only if the inputs `of` are other ones."""
        value = make() if self._last is None or self._last[0] != of else self._last[1]
        self._last = (of, value)  # to find the same objects equal takes no time the next time
        return value
