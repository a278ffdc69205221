"""A kind of entity: how entities of this kind are found in a snapshot."""

import dataclasses
import operator
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

from exporter.faults.values import Entity, Fields, FieldType, Names, Type, Value
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import PLAIN_NAMING, Edge, Naming
from exporter.record import dataclass

Getter: TypeAlias = Callable[[object], Any]
"""Returns the value of a field; the rows of a labeled field."""


def known_by_events(_: Snapshot) -> Iterable[Entity]:
    """Find no entities of this kind in a snapshot: only events name them."""
    return ()


def no_edges(_: Snapshot) -> Iterable[Edge]:
    """Return no edges, for kinds without any."""
    return ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of entity: its name in rules, its type in labels, its fields and related kinds.

    `reading` is the source of its entities; if the reading exists without an entity, the entity is
    gone, and with `ends` its faults end. Components of a kind that `is_read_as_a_whole` come and go
    with their driver: while there is none, the history of their fields is kept. Edges `below` lead
    from a component that `is_on_a_bus` to the port above; drivers, links and collectors depend on a
    kind that `is_depended_on`; a component of a kind with `has_status` has a status also without a
    fault, as long as its field `up` is true. A component whose field `identity` is another one now
    was replaced. `graph_word` is the kind's name in the graph, if
    another; `naming` is for incidents.
    """

    name: str
    hw_type: str
    names: Names
    build: Callable[[Snapshot], Iterable[Entity]]
    reading: type
    related: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({"node": "node"}))
    relate: Callable[[Snapshot], Iterable[Edge]] = no_edges
    ends: bool = False
    is_read_as_a_whole: bool = False
    is_on_a_bus: bool = False
    is_depended_on: bool = False
    has_status: bool = False
    identity: str = ""
    graph_word: str = ""
    naming: Naming = PLAIN_NAMING


def getters_of(kind: type) -> dict[str, Getter]:
    """Return the getter of each field that rules can read in this class."""
    return {
        name: _getter(name) if found.type is Type.TEXT else operator.attrgetter(name)
        for name, found in names_of(kind).items()
    }


def _getter(name: str) -> Getter:
    """Return the getter of a text or Enum field."""
    get = operator.attrgetter(name)

    def value_of(value: object) -> Value:
        found: Value | Enum = get(value)
        return str(found.value) if isinstance(found, Enum) else found

    return value_of


def prefixed(prefix: str, names: Mapping[str, FieldType]) -> dict[str, FieldType]:
    """Return the fields with a prefix in front of their names."""
    return {f"{prefix}{name}": found for name, found in names.items()}


class FieldsOf:
    """Fields that are read from a model value on demand."""

    __slots__ = ("_getters", "_value")

    def __init__(self, value: object, getters: Mapping[str, Getter]) -> None:
        self._value = value
        self._getters = getters

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when it was not reported."""
        getter = self._getters.get(name)
        if getter is not None:
            value: Value = getter(self._value)
            return value
        field_name, wanted = labels_of(name)
        getter = self._getters.get(field_name) if wanted else None
        rows = None if getter is None else getter(self._value)
        return of_labels(rows, wanted) if isinstance(rows, tuple) else None


class FirstOf:
    """The fields of several values of one component: the first that reports a field counts."""

    __slots__ = ("_values",)

    def __init__(self, *values: Fields) -> None:
        self._values = values

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when nothing reported the field."""
        for each in self._values:
            if (value := each.get(name)) is not None:
                return value
        return None


@lru_cache(maxsize=512)
def labels_of(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the field and the labels of `field[a,b]`; no labels for a plain field."""
    field_name, bracket, label = name.partition("[")
    return field_name, tuple(label[:-1].split(",")) if bracket else ()


def of_labels(rows: Iterable[tuple[str | float, ...]], wanted: tuple[str, ...]) -> Value:
    """Return the value of the row with these labels; None if there is none."""
    for row in rows:
        if row[:-1] == wanted:
            return row[-1]
    return None


_PLAIN: Mapping[object, Type] = {
    int: Type.NUMBER,
    float: Type.NUMBER,
    bool: Type.TRUTH,
    str: Type.TEXT,
}


def names_of(kind: type) -> dict[str, FieldType]:
    """Return the fields and properties of a model class that rules can read, with their types."""
    found = dict(_fields(kind))
    for name, member in vars(kind).items():
        if isinstance(member, property) and member.fget is not None and not name.startswith("_"):
            meant = _field_type(member.fget.__annotations__.get("return"))
            if meant is not None:
                found[name] = meant
    return found


def _fields(kind: type) -> Iterator[tuple[str, FieldType]]:
    for item in dataclasses.fields(kind):
        hint: Any = item.type
        meant = _field_type(hint)
        if meant is not None:
            yield item.name, meant


@cache
def _field_type(hint: Any) -> FieldType | None:
    """Return the type of a field with this annotation; None if rules cannot read it."""
    if isinstance(hint, str):
        raise TypeError(f"annotation in quotation marks: {hint}")
    if _is_labeled(hint):
        return FieldType(Type.NUMBER, is_labeled=True)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [_field_type(part) for part in typing.get_args(hint) if part is not type(None)]
        return _widest([part for part in parts if part is not None], len(parts))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return FieldType(Type.TEXT)
    plain = _PLAIN.get(hint)
    return None if plain is None else FieldType(plain)


def _is_labeled(hint: Any) -> bool:
    """Whether the annotation is a tuple of rows, each of some labels and a number."""
    rows = typing.get_args(hint) if typing.get_origin(hint) is tuple else ()
    if len(rows) != 2 or rows[1] is not Ellipsis:  # noqa: PLR2004 - tuple[row, ...]
        return False
    row = typing.get_args(rows[0]) if typing.get_origin(rows[0]) is tuple else ()
    return len(row) > 1 and set(row[:-1]) == {str} and row[-1] in (float, int)


def _widest(parts: list[FieldType], count: int) -> FieldType | None:
    """Return the type that all parts of a union have; None if they differ."""
    return parts[0] if parts and len(parts) == count and len(set(parts)) == 1 else None
