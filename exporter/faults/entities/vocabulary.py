"""The words that rules may use: kinds of entities, their fields, related ones, and events."""

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

from exporter.faults.expr.syntax import Type

_PLAIN: Mapping[object, Type] = {
    int: Type.NUMBER,
    float: Type.NUMBER,
    bool: Type.TRUTH,
    str: Type.TEXT,
}


@dataclass(frozen=True, slots=True)
class FieldType:
    """What a field holds; `is_labeled` means one value per label, as in `clock[sm]`."""

    type: Type
    is_labeled: bool = False


Names = Mapping[str, FieldType]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words by kind of entity; `related` leads from a word in front of the dot to a kind."""

    names: Mapping[str, Names]
    related: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    event_words: frozenset[str] = frozenset()


def names_of(kind: type) -> dict[str, FieldType]:
    """The fields and properties of a model class that rules can read, with their types."""
    found = dict(_fields(kind))
    for name, member in vars(kind).items():
        if isinstance(member, property) and member.fget is not None and not name.startswith("_"):
            meant = _field_type(typing.get_type_hints(member.fget).get("return"))
            if meant is not None:
                found[name] = meant
    return found


def _fields(kind: type) -> Iterator[tuple[str, FieldType]]:
    hints = typing.get_type_hints(kind)
    for item in dataclasses.fields(kind):
        meant = _field_type(hints[item.name])
        if meant is not None:
            yield item.name, meant


def _field_type(hint: Any) -> FieldType | None:  # noqa: ANN401 - an annotation is of any type
    """What a field with this annotation holds; None for what rules cannot read."""
    if _is_labeled(hint):
        return FieldType(Type.NUMBER, is_labeled=True)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [_field_type(part) for part in typing.get_args(hint) if part is not type(None)]
        return _widest([part for part in parts if part is not None], len(parts))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return FieldType(Type.TEXT)
    plain = _PLAIN.get(hint)
    return None if plain is None else FieldType(plain)


def _is_labeled(hint: Any) -> bool:  # noqa: ANN401 - an annotation is of any type
    """Whether it is a tuple of rows, each of some labels and a number."""
    rows = typing.get_args(hint) if typing.get_origin(hint) is tuple else ()
    if len(rows) != 2 or rows[1] is not Ellipsis:  # noqa: PLR2004 - tuple[row, ...]
        return False
    row = typing.get_args(rows[0]) if typing.get_origin(rows[0]) is tuple else ()
    return len(row) > 1 and set(row[:-1]) == {str} and row[-1] in (float, int)


def _widest(parts: list[FieldType], count: int) -> FieldType | None:
    """The one type all parts of a union agree on."""
    return parts[0] if parts and len(parts) == count and len(set(parts)) == 1 else None


def did_you_mean(word: str, known: typing.Iterable[str]) -> str:
    """The known words for an error message, the close ones first."""
    import difflib  # noqa: PLC0415 - only for a mistake

    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"there are {', '.join(words[:60])}" if words else "there are none"
