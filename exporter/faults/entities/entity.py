"""What rules speak about: entities with named fields, how they hang together, what happened."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol, TypeAlias

from exporter.faults.expr.syntax import Value
from exporter.model.event import Event
from exporter.model.verdict import Edge, Key

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
        field_name, wanted = labels_of(name)
        rows = getattr(self._value, field_name, None) if wanted else None
        return of_labels(rows, wanted) if isinstance(rows, tuple) else None


@lru_cache(maxsize=512)
def labels_of(name: str) -> tuple[str, tuple[str, ...]]:
    """The field and the labels of `field[a,b]`; a plain field has none."""
    field_name, bracket, label = name.partition("[")
    return field_name, tuple(label[:-1].split(",")) if bracket else ()


def of_labels(rows: Iterable[tuple[str | float, ...]], wanted: tuple[str, ...]) -> Value:
    """The value beside these labels among rows of labels and a value."""
    for row in rows:
        if row[:-1] == wanted:
            return row[-1]
    return None
