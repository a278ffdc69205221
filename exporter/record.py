"""A `dataclass` decorator with fewer generated methods, for a faster start.

The decorator of the standard library compiles up to seven methods for each class at each start.
Here `__repr__` is one function for all classes, `__eq__` and `__hash__` are generated when first
called, and frozen classes rely on mypy to reject assignments instead of generated methods.
"""

import dataclasses
import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *, frozen: bool = False, eq: bool = True, order: bool = False, slots: bool = False
    ) -> Callable[[type[T]], type[T]]:
        """Generate the methods of a class that has only fields, as `dataclasses.dataclass` does."""

        def decorate(cls: type[T]) -> type[T]:
            if "__repr__" not in vars(cls):
                cls.__repr__ = _shown
            cls.__doc__ = cls.__doc__ or cls.__name__  # or it would be the signature: python -OO
            made = dataclasses.dataclass(repr=False, eq=order, order=order, slots=slots)(cls)
            if eq:
                made.__eq__, made.__hash__ = _equals, _hashed if frozen else None
            return made

        return decorate

    def _equals(self: object, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        _generate(type(self))
        return self == other

    def _hashed(self: object) -> int:
        _generate(type(self))
        return hash(self)

    def _generate(cls: type) -> None:
        names = [each.name for each in dataclasses.fields(cls) if each.compare]
        made = dataclasses.make_dataclass(
            cls.__name__, names, init=False, repr=False, unsafe_hash=True
        )
        cls.__eq__ = made.__eq__
        if cls.__hash__ is not None:
            cls.__hash__ = made.__hash__

    @reprlib.recursive_repr()
    def _shown(self: object) -> str:
        fields = (each.name for each in dataclasses.fields(self) if each.repr)
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
        return f"{type(self).__qualname__}({values})"
