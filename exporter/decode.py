"""Decodes JSON or TOML into frozen dataclasses, leniently, or strictly with error positions."""

import dataclasses
import math
import reprlib
import types
import typing
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, cast

from exporter.model.label import clean_text

T = TypeVar("T")


class MisfitError(ValueError):
    """A value that does not fit its field; `place` is the path of the field, as far as known."""

    def __init__(self, sentence: str, place: str = "") -> None:
        super().__init__(f"{place.removeprefix('.')}: {sentence}" if place else sentence)
        self.sentence = sentence
        self.place = place

    def under(self, part: str) -> "MisfitError":
        """Return the error with one more part in front of its path."""
        return MisfitError(self.sentence, f"{part}{self.place}")


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """The strictness of decoding.

    `unknown` makes the message for an unknown key; without it such keys are ignored. With `unfolds`
    rows may be written as objects, `{"sm": 1.98e9}` for `[["sm", 1.98e9]]`, and values of one kind
    as an object with any keys. `complete` gets the values of each dataclass by field before it is
    constructed, and may add or change some.
    """

    clean: Callable[[str], str] = clean_text
    unknown: Callable[[str, Collection[str]], str] | None = None
    unfolds: bool = False
    complete: Callable[[type, dict[str, Any]], None] | None = None


Converter = Callable[[Any, Rules], Any]
"""Converts a value to the type of its field; raises MisfitError."""

LENIENT = Rules()


class KeptLists:
    """The lists in the last value, and what they were decoded to: an equal list is the same."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[list[Any], Any]] = {}

    def decoded(self, name: str, content: object, fit: Converter, rules: Rules) -> Any:
        """Return the decoded content of a field; raise MisfitError."""
        known, value = self._kept.get(name, (None, None))
        if known != content:
            value = fit(content, rules)
            if isinstance(content, list):
                self._kept[name] = content, value
        return value


def decode(
    kind: type[T], found: Mapping[str, Any], kept: KeptLists | None = None
) -> tuple[T, tuple[str, ...]]:
    """Decode a value of this dataclass; also return the fields whose value did not fit.

    Unknown keys are ignored. `kept` are the lists of the value that was decoded before. Raises
    ValueError if a field without default is missing or does not fit.
    """
    misfits: list[str] = []
    value = _decoded(kind, found, LENIENT, misfits.append, kept)
    return cast("T", value), tuple(misfits)


def decode_strict(kind: type[T], found: object, rules: Rules, place: str) -> T:
    """Decode a value of this dataclass; raise ValueError that begins with the place."""
    try:
        return cast("T", _decoded(kind, found, rules))
    except MisfitError as error:
        raise error.under(place) from error


def fit_for(hint: Any) -> Converter:
    """Return the conversion to a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (inner,) = (arg for arg in arguments if arg is not type(None))
        return _fit_optional(fit_for(inner))
    if origin is tuple and arguments[-1] is Ellipsis:
        return _fit_each(fit_for(arguments[0]), _label_count(arguments[0]))
    if origin is tuple:
        return _fit_all(tuple(map(fit_for, arguments)))
    if dataclasses.is_dataclass(hint):
        return lambda found, rules: _decoded(cast("type", hint), found, rules)
    if issubclass(hint, Enum):
        return lambda found, _: _member(hint, found)
    return SCALARS[hint]


def _decoded(
    kind: type,
    found: object,
    rules: Rules,
    on_misfit: Callable[[str], None] | None = None,
    kept: KeptLists | None = None,
) -> object:
    if not isinstance(found, Mapping):
        raise MisfitError(f"an object is expected, not {_shown(found)}")
    fits = fits_of(kind)
    if rules.unknown is not None and not found.keys() <= fits.keys():
        raise MisfitError(rules.unknown(min(found.keys() - fits.keys()), fits))
    values: dict[str, Any] = {}
    for name in found.keys() & fits.keys():
        content = found[name]
        try:
            if content is not None:
                fit = fits[name]
                values[name] = (
                    kept.decoded(name, content, fit, rules) if kept else fit(content, rules)
                )
        except MisfitError as error:
            if on_misfit is None:
                raise error.under(f".{name}") from error
            on_misfit(name)
    return _made(kind, values, rules)


def _made(kind: type, values: dict[str, Any], rules: Rules) -> object:
    if rules.complete is not None:
        rules.complete(kind, values)
    try:
        return kind(**values)
    except TypeError as error:
        raise MisfitError(str(error)) from error


@lru_cache(maxsize=128)
def fits_of(kind: type) -> Mapping[str, Converter]:
    """Return the conversion of each field.

    Cached: reading the types takes longer than decoding a whole answer.
    """
    hints = typing.get_type_hints(kind)
    return {item.name: fit_for(hints[item.name]) for item in dataclasses.fields(cast("Any", kind))}


def _fit_optional(fit: Converter) -> Converter:
    return lambda found, rules: None if found is None else fit(found, rules)


def _fit_each(fit: Converter, labels: int) -> Converter:
    def fitted(found: Any, rules: Rules) -> tuple[Any, ...]:
        if rules.unfolds and isinstance(found, Mapping):
            found = _rows(found, labels) if labels else list(found.values())
        fits = []
        for item in _list(found):
            try:
                fits.append(fit(item, rules))
            except MisfitError as error:
                raise error.under(f"[{len(fits)}]") from error
        return tuple(fits)

    return fitted


def _label_count(hint: Any) -> int:
    """Return the number of labels before the number in a row of this type; 0 for other types."""
    return len(typing.get_args(hint)) - 1 if typing.get_origin(hint) is tuple else 0


def _rows(found: Mapping[str, Any], labels: int) -> list[Any]:
    if labels == 1:
        return [[label, value] for label, value in found.items()]
    nested = ((label, inner) for label, inner in found.items() if isinstance(inner, Mapping))
    return [[label, *row] for label, inner in nested for row in _rows(inner, labels - 1)]


def _fit_all(fits: tuple[Converter, ...]) -> Converter:
    def fitted(found: Any, rules: Rules) -> tuple[Any, ...]:
        items = _list(found)
        if len(items) != len(fits):
            raise MisfitError(f"{len(fits)} values are expected, not {_shown(found)}")
        return tuple([fit(item, rules) for fit, item in zip(fits, items)])  # noqa: B905 - their lengths are equal

    return fitted


def _shown(found: object) -> str:
    return reprlib.repr(found)


def _list(found: object) -> list[Any]:
    if not isinstance(found, list):
        raise MisfitError(f"a list is expected, not {_shown(found)}")
    return found


def _member(kind: type[Enum], found: object) -> Enum:
    try:
        return kind(found)
    except ValueError as error:
        raise MisfitError(f"{_shown(found)} is no {kind.__name__}") from error


def _text(found: object, rules: Rules) -> str:
    if not isinstance(found, str):
        raise MisfitError(f"{_shown(found)} is no str")
    return rules.clean(found)


def _truth(found: object, _: Rules) -> bool:
    if not isinstance(found, bool):
        raise MisfitError(f"{_shown(found)} is no bool")
    return found


def _integer(found: object, _: Rules) -> int:
    if not isinstance(found, int) or isinstance(found, bool):
        raise MisfitError(f"{_shown(found)} is no int")
    return found


def _number(found: object, _: Rules) -> float:
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        raise MisfitError(f"{_shown(found)} is no float")
    try:
        number = float(found)
    except OverflowError as error:
        raise MisfitError("a number that is too large") from error
    if not math.isfinite(number):
        raise MisfitError(f"{_shown(found)} is not finite")
    return number


SCALARS: Mapping[type, Converter] = {str: _text, bool: _truth, int: _integer, float: _number}
