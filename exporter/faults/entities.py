"""What rules speak about: entities with named fields, how they hang together, what happened."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeAlias

from exporter.faults.expression import Value
from exporter.model.event import Event

Key: TypeAlias = tuple[str, str]
"""The kind of an entity and its stable id."""

Address: TypeAlias = tuple[str, str]
"""What events call an entity: a type in the words of the faults page, and an id."""


class Fields(Protocol):
    """The fields of one entity by name (`clock[sm]` for one label); None is unknown."""

    def get(self, name: str, /) -> Value:
        """The value, or None when it was not said."""
        ...


NO_FIELDS: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing that can have a fault; one that is not fresh was not read lately."""

    key: Key
    name: str
    fields: Fields = field(default_factory=lambda: NO_FIELDS)
    addresses: tuple[Address, ...] = ()
    is_fresh: bool = True

    @property
    def kind(self) -> str:
        """What sort of thing it is, in the words of rules."""
        return self.key[0]


@dataclass(frozen=True, slots=True)
class Edge:
    """How one entity hangs together with another.

    `relation` is consumes, waits_on or runs_in (something that goes on), or part_of, below, near,
    peer (how the hardware is built). `evidence` says how that is known.
    """

    relation: str
    source: Key
    target: Key
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything rules look at in one judgement.

    `now` counts seconds since boot, `wall` since the epoch; `events` are those not seen before;
    `heard` names the sources of events that work.
    """

    node: str
    now: float
    wall: float
    entities: tuple[Entity, ...] = ()
    edges: tuple[Edge, ...] = ()
    events: tuple[Event, ...] = ()
    heard: frozenset[str] = frozenset()
    read_kinds: frozenset[str] = (
        frozenset()
    )  # kinds whose sources were read: what is not there is gone
    names: tuple[tuple[Address, Key], ...] = ()  # what events call things, beside their own names


Getter: TypeAlias = Callable[[object], Value]


class FieldsOf:
    """Fields read from a model value when they are asked for."""

    __slots__ = ("_getters", "_value")

    def __init__(self, value: object, getters: Mapping[str, Getter]) -> None:
        self._value = value
        self._getters = getters

    def get(self, name: str, /) -> Value:
        """The value of the field, or None when it was not said."""
        getter = self._getters.get(name)
        if getter is not None:
            return getter(self._value)
        field_name, bracket, label = name.partition("[")
        rows = getattr(self._value, field_name, None) if bracket else None
        return of_label(rows, label[:-1]) if isinstance(rows, tuple) else None


def of_label(rows: Iterable[tuple[str | float, ...]], label: str) -> Value:
    """The value of one label (`a`, or `a,b` where there are two) among rows of labels and value."""
    wanted = tuple(label.split(","))
    return next((row[-1] for row in rows if row[:-1] == wanted), None)
