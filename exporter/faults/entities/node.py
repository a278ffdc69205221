"""The node as a component, with the fields that collectors give it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from exporter.faults.entities.kind import (
    FieldsOf,
    Getter,
    Kind,
    getters_of,
    names_of,
    prefixed,
)
from exporter.faults.values import Entity, FieldType, Type, Value
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Naming
from exporter.record import dataclass

NODE = "node"


def of_reading(kind: type, say: Callable[[Any], Value]) -> Getter:
    """Return a getter of one value of this reading; the value is None without the reading."""

    def value_of(snapshot: object) -> Value:
        reading = snapshot.reading(kind) if isinstance(snapshot, Snapshot) else None
        return None if reading is None else say(reading)

    return value_of


@dataclass(frozen=True, slots=True)
class NodeField:
    """One field of the node that is computed from the snapshot."""

    type: FieldType
    get: Getter


def field_of(meant: Type, kind: type, say: Callable[[Any], Value]) -> NodeField:
    """Return a field of this type, computed from one reading; None without the reading."""
    return NodeField(FieldType(meant), of_reading(kind, say))


@dataclass(frozen=True, slots=True)
class NodeFields:
    """The fields of the node that one collector adds.

    `readings` are classes whose fields are fields of the node, each with the prefix of their names;
    `computed` are single fields by name.
    """

    readings: tuple[tuple[str, type], ...] = ()
    computed: Mapping[str, NodeField] = field(default_factory=lambda: MappingProxyType({}))


def node_kind(parts: Iterable[NodeFields]) -> Kind:
    """Return the kind of the node, with the fields of these collectors."""
    getters: dict[str, Getter] = {}
    names: dict[str, FieldType] = {}
    for part in parts:
        for prefix, kind in part.readings:
            names |= prefixed(prefix, names_of(kind))
            for name, get in getters_of(kind).items():
                getters[f"{prefix}{name}"] = of_reading(kind, get)
        getters |= {name: each.get for name, each in part.computed.items()}
        names |= {name: each.type for name, each in part.computed.items()}

    def build(snapshot: Snapshot) -> Iterable[Entity]:
        key = (NODE, snapshot.node)
        yield Entity(key, snapshot.node, FieldsOf(snapshot, getters), ((NODE, ""), key))

    return Kind(
        NODE,
        NODE,
        names,
        build,
        Snapshot,
        related={},
        is_depended_on=True,
        naming=Naming(is_alone=True),
    )
