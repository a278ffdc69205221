"""A `dataclass` decorator with fewer generated methods, for a faster start, and a fast `replace`.

The decorator of the standard library compiles up to seven methods for each class at each start.
Here `__repr__` is one function for all classes, `__init__`, `__eq__`, `__hash__` and `__replace__`
are generated when first called, and frozen classes rely on mypy to reject assignments instead of
generated methods.
"""

import dataclasses
import reprlib
from collections.abc import Callable
from dataclasses import MISSING
from typing import TYPE_CHECKING, TypeVar

__all__ = ["dataclass", "replace"]

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def dataclass(
        *, frozen: bool = False, eq: bool = True, order: bool = False, slots: bool = False
    ) -> Callable[[type[T]], type[T]]:
        """Generate the methods of a class that has only fields, as `dataclasses.dataclass` does."""

        def decorate(cls: type[T]) -> type[T]:
            if "__repr__" not in vars(cls):
                cls.__repr__ = _shown
            cls.__doc__ = cls.__doc__ or cls.__name__  # or it would be the signature: python -OO
            made = dataclasses.dataclass(
                init=False, repr=False, eq=order, order=order, slots=slots
            )(cls)

            def initialize(self: T, *args: object, **kwargs: object) -> None:
                _generate_init(made)
                made.__init__(self, *args, **kwargs)

            made.__init__, made.__replace__ = initialize, _replaced
            if eq:
                made.__eq__, made.__hash__ = _equals, _hashed if frozen else None
            return made

        return decorate

    def replace(value: T, /, **changes: object) -> T:
        """Return a copy of the value with these fields changed; call no `__post_init__`."""
        return value.__replace__(**changes)

    def _replaced(self: T, /, **changes: object) -> T:
        _generate_replace(type(self))
        return self.__replace__(**changes)

    def _equals(self: object, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        _generate_eq(type(self))
        return self == other

    def _hashed(self: object) -> int:
        _generate_eq(type(self))
        return hash(self)

    def _generate_init(cls: type) -> None:
        parameters, lines, known = ["self"], [], {"MISSING": MISSING}
        for each in (field for field in dataclasses.fields(cls) if field.init):
            parameter, value = each.name, each.name
            if each.default is not MISSING:
                known[f"default_{each.name}"] = each.default
                parameter = f"{each.name}=default_{each.name}"
            elif each.default_factory is not MISSING:
                known[f"make_{each.name}"] = each.default_factory
                parameter = f"{each.name}=MISSING"
                value = f"make_{each.name}() if {each.name} is MISSING else {each.name}"
            parameters.append(parameter)
            lines.append(f"self.{each.name} = {value}")
        lines.append("self.__post_init__()" if hasattr(cls, "__post_init__") else "pass")
        _generate(cls, f"__init__({', '.join(parameters)})", lines, known)

    def _generate_replace(cls: type) -> None:
        names = [each.name for each in dataclasses.fields(cls)]
        lines = ["made = object.__new__(type(self))", *(f"made.{it} = self.{it}" for it in names)]
        lines.append("for name in changes: setattr(made, name, changes[name])")
        _generate(cls, "__replace__(self, /, **changes)", [*lines, "return made"], {})

    def _generate_eq(cls: type) -> None:
        names = [each.name for each in dataclasses.fields(cls) if each.compare]
        mine, others = ("".join(f"{it}.{name}, " for name in names) for it in ("self", "other"))
        lines = ["if type(self) is not type(other): return NotImplemented"]
        _generate(cls, "__eq__(self, other)", [*lines, f"return ({mine}) == ({others})"], {})
        if cls.__hash__ is not None:
            _generate(cls, "__hash__(self)", [f"return hash(({mine}))"], {})

    def _generate(cls: type, head: str, lines: list[str], known: dict[str, object]) -> None:
        """Define a function of this head and these lines, and make it the method of the class."""
        exec("\n ".join((f"def {head}:", *lines)), known)  # noqa: S102 - as the standard library
        name = head.partition("(")[0]
        known[name].__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, known[name])

    @reprlib.recursive_repr()
    def _shown(self: object) -> str:
        fields = (each.name for each in dataclasses.fields(self) if each.repr)
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in fields)
        return f"{type(self).__qualname__}({values})"
