"""`dataclass` for the values of this program: the same to write and to type, less to generate.

The decorator of the standard library compiles up to seven methods for each class at each start.
Two of them say here what they say once for all classes: `__repr__` is one function, and frozen
means that mypy refuses an assignment, so that nothing is generated to refuse it again.
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
        """Return the decorator; a frozen class is hashed by its fields, as that of dataclasses."""

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
