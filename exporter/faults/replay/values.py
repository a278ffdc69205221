"""From readable JSON to the frozen values of the model; what does not fit is an error."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, cast

from exporter.faults.values import did_you_mean

MOMENTS = ("expires", "dynamic_expires")


@dataclass(frozen=True, slots=True)
class Decoder:
    """Makes values of one moment; times in recordings count seconds from `origin`.

    Numbers by label may be written as an object (`{"sm": 1.98e9}`), and values of one kind as an
    object whose keys only tell them apart. A reading's own time is that of its moment where it
    is not written. Raises ValueError, which names the place.
    """

    origin: float  # boot time in seconds at which the recording begins
    now: float  # boot time in seconds of this moment

    def value(self, kind: type, found: object, place: str) -> object:
        """The value of this dataclass."""
        if not isinstance(found, Mapping):
            raise ValueError(f"{place}: an object is expected, not {found!r}")  # noqa: TRY004 - one error for misfits
        hints = _hints(kind)
        for name in found:
            if name not in hints:
                raise ValueError(f"{place}: no field {name}; {did_you_mean(name, hints)}")
        values: dict[str, Any] = {}
        if "read_boottime" in hints:
            values["read_boottime"] = self.now
        for name, given in found.items():
            values[name] = self._field(name, hints[name], given, f"{place}.{name}")
        try:
            return kind(**values)
        except TypeError as error:
            raise ValueError(f"{place}: {error}") from error

    def _field(self, name: str, hint: object, found: object, place: str) -> object:
        value = self._fitted(hint, found, place)
        is_moment = name.endswith("_boottime") or name in MOMENTS
        return self.origin + value if is_moment and isinstance(value, float) else value

    def _fitted(self, hint: object, found: object, place: str) -> object:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            if found is None:
                return None
            (inner,) = (each for each in arguments if each is not type(None))
            return self._fitted(inner, found, place)
        if origin is tuple:
            return self._row(arguments, found, place)
        if dataclasses.is_dataclass(hint):
            return self.value(cast("type", hint), found, place)
        return _scalar(hint, found, place)

    def _row(self, arguments: tuple[Any, ...], found: object, place: str) -> tuple[object, ...]:
        if arguments[-1] is Ellipsis:
            (each, _) = arguments
            if isinstance(found, Mapping):
                found = _unfolded(each, found)
            return tuple(
                self._fitted(each, item, f"{place}[{number}]")
                for number, item in enumerate(_list(found, place))
            )
        items = _list(found, place)
        if len(items) != len(arguments):
            raise ValueError(f"{place}: {len(arguments)} values are expected, not {items!r}")
        return tuple(self._fitted(hint, item, place) for hint, item in zip(arguments, items))  # noqa: B905 - their lengths are equal


@lru_cache(maxsize=128)
def _hints(kind: type) -> Mapping[str, object]:
    hints = typing.get_type_hints(kind)
    return {item.name: hints[item.name] for item in dataclasses.fields(kind)}


def _unfolded(each: object, found: Mapping[str, Any]) -> list[Any]:
    """Rows of labels and a value out of nested objects; of objects with names the objects."""
    if typing.get_origin(each) is not tuple:
        return list(found.values())
    return _rows(found, len(typing.get_args(each)) - 1)


def _rows(found: Mapping[str, Any], labels: int) -> list[Any]:
    if labels <= 1:
        return [[label, value] for label, value in found.items()]
    return [[label, *row] for label, inner in found.items() for row in _rows(inner, labels - 1)]


def _list(found: object, place: str) -> list[Any]:
    if not isinstance(found, list):
        raise ValueError(f"{place}: a list is expected, not {found!r}")  # noqa: TRY004 - as above
    return found


def _scalar(hint: object, found: object, place: str) -> object:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(found)
    is_truth = isinstance(found, bool)
    if hint is float and isinstance(found, (int, float)) and not is_truth:
        return float(found)
    if not isinstance(hint, type) or not isinstance(found, hint) or (is_truth and hint is not bool):
        raise ValueError(f"{place}: {found!r} is no {getattr(hint, '__name__', hint)}")
    return found
