"""From JSON to the frozen values of the model, leaving out what does not fit its type."""

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from exporter.model.label import clean_text

T = TypeVar("T")

Fit = Callable[[Any], Any]
"""Gives what was found in its type; raises ValueError, TypeError or OverflowError."""


def decode(kind: type[T], found: Mapping[str, Any]) -> tuple[T, tuple[str, ...]]:
    """The value of this dataclass, and the names of fields whose content did not fit.

    Unknown keys are left out. Raises ValueError when a field without default is not there or
    does not fit.
    """
    if not isinstance(found, Mapping):
        raise ValueError(f"{kind.__name__}: not an object")  # noqa: TRY004 - one error for misfits
    values: dict[str, Any] = {}
    misfits: list[str] = []
    for name, fit in _fits_of(cast("Any", kind)):
        given = found.get(name)
        if given is None:
            continue
        try:
            values[name] = fit(given)
        except (ValueError, TypeError, OverflowError):
            misfits.append(name)
    try:
        return kind(**values), tuple(misfits)
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from error


@lru_cache(maxsize=64)
def _fits_of(kind: type) -> tuple[tuple[str, Fit], ...]:
    """For each field its name and the function that fits what was found to its type.

    Worked out once: looking at types takes longer than fitting a whole answer to them.
    """
    hints = typing.get_type_hints(kind)
    return tuple((item.name, _fit_for(hints[item.name])) for item in dataclasses.fields(kind))


def _fit_for(hint: Any) -> Fit:  # noqa: ANN401 - any type of the model
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (arg for arg in arguments if arg is not type(None))
        return _fit_for(inner)
    if origin is tuple and arguments[-1] is Ellipsis:
        return _fit_each(_fit_for(arguments[0]))
    if origin is tuple:
        return _fit_all(tuple(map(_fit_for, arguments)))
    if dataclasses.is_dataclass(hint):
        return lambda found: decode(cast("type", hint), found)[0]
    return SCALARS[hint]


def _fit_each(fit: Fit) -> Fit:
    def fitted(found: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as above
        return tuple(map(fit, _list(found)))

    return fitted


def _fit_all(fits: tuple[Fit, ...]) -> Fit:
    def fitted(found: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as above
        return tuple(fit(item) for fit, item in zip(fits, _list(found), strict=True))

    return fitted


def _list(found: object) -> list[Any]:
    if not isinstance(found, list):
        raise TypeError("not a list")
    return found


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError("not a text")
    return clean_text(found)


def _truth(found: object) -> bool:
    if not isinstance(found, bool):
        raise TypeError("neither true nor false")
    return found


def _integer(found: object) -> int:
    if not isinstance(found, int) or isinstance(found, bool):
        raise TypeError("not a whole number")
    return found


def _number(found: object) -> float:
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        raise TypeError("not a number")
    number = float(found)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


SCALARS: Mapping[type, Fit] = {str: _text, bool: _truth, int: _integer, float: _number}
