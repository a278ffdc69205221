"""A `dataclass` decorator with fewer generated methods, for a faster start.

The decorator of the standard library compiles up to seven methods for each class at each start.
Here `__repr__` is one function for all classes, and frozen classes rely on mypy to reject
assignments instead of generated methods.
"""

import dataclasses
import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    T = TypeVar("T")

    def dataclass(
        *, frozen: bool = False, slots: bool = False, order: bool = False, eq: bool = True
    ) -> Callable[[type[T]], type[T]]:
        """Return the decorator; a frozen class is hashed by its fields, as with dataclasses."""

        def decorate(cls: type[T]) -> type[T]:
            if "__repr__" not in vars(cls):
                cls.__repr__ = _shown
            is_hashed = frozen and eq
            make = dataclasses.dataclass(
                repr=False, eq=eq, order=order, unsafe_hash=is_hashed, slots=slots
            )
            return make(cls)

        return decorate

    @reprlib.recursive_repr()
    def _shown(self: object) -> str:
        fields = (each.name for each in dataclasses.fields(self) if each.repr)
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
        return f"{type(self).__qualname__}({values})"
