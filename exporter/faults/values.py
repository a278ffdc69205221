"""Common values of the rule engine: three-valued truth, components, scenes, vocabulary."""

import typing
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol, TypeAlias

from exporter.model.event import Event
from exporter.model.verdict import Edge, Key, Naming
from exporter.record import dataclass

Value: TypeAlias = float | bool | str | None
"""The value of a part of an expression; None is unknown."""


class Type(Enum):
    """The type of a part of an expression."""

    NUMBER = "a number"
    TRUTH = "a condition"
    TEXT = "a text"


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of a field; `is_labeled` means one value per label, as in `clock[sm]`."""

    type: Type
    is_labeled: bool = False


Names = Mapping[str, FieldType]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All words of rules by kind of entity; `related` gives the kind for a word before the dot.

    `actions` are sentences that tell a person what to do; `usual_texts` replace, in these
    sentences, fields that a component does not have.
    """

    names: Mapping[str, Names]
    related: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    event_words: frozenset[str] = frozenset()
    actions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    usual_texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


MAX_WORDS = 20
"""How many known words an error message lists."""


def did_you_mean(word: str, known: typing.Iterable[str]) -> str:
    """Return the known words for an error message, similar ones first."""
    return _hint(word, tuple(sorted(known)))


@lru_cache(maxsize=1024)  # a mistake may be in each of a thousand rules
def _hint(word: str, words: tuple[str, ...]) -> str:
    import difflib  # noqa: PLC0415 - only for a mistake

    close = difflib.get_close_matches(word, words, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    more = f" and {len(words) - MAX_WORDS} more" if len(words) > MAX_WORDS else ""
    return f"there are {', '.join(words[:MAX_WORDS])}{more}" if words else "there are none"


Address: TypeAlias = tuple[str, str]
"""The name of an entity in events: a type as on the faults page, and an id."""

Place: TypeAlias = tuple[str, str]
"""A kind and one of its fields; without a field, which components of the kind there are."""


RulesByKey: TypeAlias = Mapping[Key, Sequence[str]]
"""The ids of rules by component."""


class Fields(Protocol):
    """The fields of one entity by name (`clock[sm]` for one label); None is unknown."""

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when it was not reported."""
        ...


NO_FIELDS: Mapping[str, Value] = MappingProxyType({})


@dataclass(slots=True)  # not frozen: made for each process in each evaluation
class Entity:
    """A component that can have a fault; it is not fresh if it was not read lately.

    `untold` are fields that the backend cannot read: whether the component has them is unknown.
    """

    key: Key
    name: str
    fields: Fields = field(default_factory=lambda: NO_FIELDS)
    addresses: tuple[Address, ...] = ()
    is_fresh: bool = True
    untold: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """The kind of the component in rules."""
        return self.key[0]


@dataclass(frozen=True, slots=True)
class Scene:
    """The input of one evaluation.

    `now` is in seconds since boot, `wall` since the epoch; `events` are the new ones;
    `event_sources` names the sources of events that work.
    """

    node: str
    now: float
    wall: float
    entities: tuple[Entity, ...] = ()
    edges: tuple[Edge, ...] = ()
    events: tuple[Event, ...] = ()
    event_sources: frozenset[str] = frozenset()
    read_kinds: frozenset[str] = (
        frozenset()
    )  # kinds whose sources were read: a missing entity is gone
    names: tuple[tuple[Address, Key], ...] = ()  # further names of components in events
    booted_at: float = 0.0  # since the epoch, without the small steps of clocks

    def wall_of(self, boottime: float) -> float:
        """Return a boot time as seconds since the epoch."""
        return round(self.booted_at + boottime, 6)


@dataclass(frozen=True, slots=True)
class KindTraits:
    """The properties of kinds that evaluation needs.

    `ending` are kinds whose faults end with their entities. `on_a_bus`, `depended_on` and
    `with_status` are the kinds with the flags of `Kind`; `graph_words` are by kind, `namings` by
    type in labels. Equal faults of kinds `with_siblings` may have one cause; the components of
    `uncounted` kinds are known from events only. `identities` are the fields by kind that are
    another one once a component was replaced.
    """

    hw_types: Mapping[str, str]
    related: Mapping[str, Mapping[str, str]]
    ending: frozenset[str] = frozenset()
    on_a_bus: frozenset[str] = frozenset()
    depended_on: frozenset[str] = frozenset()
    with_status: frozenset[str] = frozenset()
    graph_words: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    namings: Mapping[str, Naming] = field(default_factory=lambda: MappingProxyType({}))
    with_siblings: frozenset[str] = frozenset()
    uncounted: frozenset[str] = frozenset()
    identities: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
