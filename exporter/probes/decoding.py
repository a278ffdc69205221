"""From JSON to the frozen values of the model, leaving out what does not fit its type."""

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from exporter.model.label import clean_text

T = TypeVar("T")


def decode(kind: type[T], found: Mapping[str, Any]) -> tuple[T, tuple[str, ...]]:
    """The value of this dataclass, and the names of fields whose content did not fit.

    Unknown keys are left out. Raises ValueError when a field without default is not there or
    does not fit.
    """
    if not isinstance(found, Mapping):
        raise ValueError(f"{kind.__name__}: not an object")  # noqa: TRY004 - one error for misfits
    hints = _hints(cast("Any", kind))
    values: dict[str, Any] = {}
    misfits: list[str] = []
    for item in dataclasses.fields(cast("Any", kind)):
        if found.get(item.name) is None:
            continue
        try:
            values[item.name] = _fit(hints[item.name], found[item.name])
        except (ValueError, TypeError, OverflowError):
            misfits.append(item.name)
    try:
        return kind(**values), tuple(misfits)
    except TypeError as error:
        raise ValueError(f"{kind.__name__}: {error}") from error


@lru_cache(maxsize=64)
def _hints(kind: type) -> Mapping[str, Any]:
    return typing.get_type_hints(kind)


def _fit(hint: Any, found: Any) -> Any:  # noqa: ANN401 - decodes any type of the model
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (arg for arg in typing.get_args(hint) if arg is not type(None))
        return _fit(inner, found)
    if origin is tuple:
        return _fit_tuple(typing.get_args(hint), found)
    if dataclasses.is_dataclass(hint):
        return decode(cast("type", hint), found)[0]
    return _fit_scalar(hint, found)


def _fit_tuple(arguments: tuple[Any, ...], found: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as above
    if not isinstance(found, list):
        raise TypeError("not a list")
    if arguments[-1] is Ellipsis:
        return tuple(_fit(arguments[0], item) for item in found)
    if len(arguments) != len(found):
        raise ValueError("wrong length")
    return tuple(_fit(hint, item) for hint, item in zip(arguments, found, strict=True))


def _fit_scalar(hint: Any, found: Any) -> Any:  # noqa: ANN401 - as above
    if hint is str and isinstance(found, str):
        return clean_text(found)
    if hint is bool and isinstance(found, bool):
        return found
    if hint is int and isinstance(found, int) and not isinstance(found, bool):
        return found
    if hint is float and isinstance(found, (int, float)) and not isinstance(found, bool):
        number = float(found)
        if math.isfinite(number):
            return number
    raise TypeError(f"{found!r} is not {hint}")
