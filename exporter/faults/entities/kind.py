"""What a row in the list of kinds says: how entities of one sort are found in a snapshot."""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from exporter.faults.entities.entity import Entity, Getter
from exporter.faults.entities.vocabulary import FieldType, Names, names_of
from exporter.faults.expr.syntax import Type, Value
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge


def no_edges(_: Snapshot) -> Iterable[Edge]:
    """Entities of this kind bring no edges."""
    return ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One sort of entity: its name in rules, its type in labels, its fields and related ones.

    `reading` is what it is built from; where that was read and an entity is not in it, the entity
    is gone, and with `ends` its faults are over.
    """

    name: str
    hw_type: str
    names: Names
    build: Callable[[Snapshot], Iterable[Entity]]
    reading: type
    related: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({"node": "node"}))
    relate: Callable[[Snapshot], Iterable[Edge]] = no_edges
    ends: bool = False


def getters_of(kind: type) -> dict[str, Getter]:
    """How each field that rules can read is got from a value of this class."""
    return {
        name: _getter(name) if found.type is Type.TEXT else operator.attrgetter(name)
        for name, found in names_of(kind).items()
        if not found.is_labeled
    }


def _getter(name: str) -> Getter:
    """How a text is got, also where it is one of a few words."""
    get = operator.attrgetter(name)

    def value_of(value: object) -> Value:
        found: Value | Enum = get(value)
        return str(found.value) if isinstance(found, Enum) else found

    return value_of


def prefixed(prefix: str, names: Mapping[str, FieldType]) -> dict[str, FieldType]:
    """The same fields with something in front of their names."""
    return {f"{prefix}{name}": found for name, found in names.items()}
