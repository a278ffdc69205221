"""What collectors tell the rule engine of their hardware.

The engine knows components, events and edges between components; only collectors know which
hardware they are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

from exporter.faults.entities.components import Components
from exporter.faults.entities.graph import AliasIndex
from exporter.faults.entities.kind import Kind, known_by_events
from exporter.faults.entities.node import NodeFields, node_kind
from exporter.faults.events.query import BOOT
from exporter.faults.events.store import EventStore
from exporter.faults.fault_history import FIELDS as HISTORY_FIELDS
from exporter.faults.fault_history import Build
from exporter.faults.timeseries import History
from exporter.faults.values import Address, Entity, KindTraits, Names, Scene, Value, Vocabulary
from exporter.faults.watched import Kept
from exporter.model.event import Event, EventType
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge, Key, Naming
from exporter.record import dataclass

ANY_KIND = ""
Repair = tuple[str, str, str]
"""The kind of a repair event, and the type and id of the repaired component."""


class EventFeed(Protocol):
    """The events of one reading; remembers which events were returned before."""

    @property
    def name(self) -> str:
        """The `source` of these events."""
        ...

    def new_events(self, snapshot: Snapshot) -> Iterable[Event]:
        """Return the events that no earlier snapshot had."""
        ...

    def works(self, snapshot: Snapshot) -> bool:
        """Tell whether the source of these events works now."""
        ...


@dataclass(slots=True)
class NumberedEvents:
    """The feed of a reading with numbered `events`.

    `is_working` tells of a reading whether its source of events works; after a restart, `first_new`
    returns the number from which events are new to this process.
    """

    name: str
    reading: type
    is_working: Callable[[Any], bool] = lambda _: True
    first_new: Callable[[Any], int] | None = None
    _last: int = 0

    def new_events(self, snapshot: Snapshot) -> Iterable[Event]:
        """Return the events with a higher number than all before."""
        reading: Any = snapshot.reading(self.reading)
        if reading is None:
            return ()
        if self.first_new is not None:
            self._last = max(self._last, self.first_new(reading) - 1)
        new = [event for event in reading.events if event.number > self._last]
        self._last = max((event.number for event in new), default=self._last)
        return new

    def works(self, snapshot: Snapshot) -> bool:
        """Tell whether the reading is there and its source of events works."""
        reading = snapshot.reading(self.reading)
        return reading is not None and self.is_working(reading)


class Interpreter(Protocol):
    """Adds facts about a component to its events; may remember snapshots."""

    def see(self, snapshot: Snapshot) -> None:
        """Take in the snapshot before its events are interpreted."""
        ...

    def interpret(self, event: Event) -> Event:
        """Return the event with the meaning of its fields added."""
        ...


class Repairs(Protocol):
    """Finds repairs by comparing each snapshot with the one before."""

    def between(self, snapshot: Snapshot, events: Iterable[Event]) -> Iterable[Repair]:
        """Yield the repairs since the last snapshot; `events` are the events since then."""
        ...


@dataclass(frozen=True, slots=True)
class KnownEntities:
    """The components of now, and the history, that edges are derived from."""

    entities: Mapping[Key, Entity]
    by_kind: Mapping[str, list[Entity]]
    history: History
    events: EventStore
    aliases: AliasIndex
    now: float
    components: Components

    def values(self, kind: str, name: str) -> Sequence[Value]:
        """Return a field of all components of a kind, in their order."""
        known = self.components.columns(kind).get(name)
        return known or [entity.fields.get(name) for entity in self.by_kind.get(kind, ())]


@dataclass(frozen=True, slots=True)
class Extension:
    """Fields that one collector adds to components of others.

    `names` are the fields by kind of component, `ANY_KIND` for all; `extend` returns the components
    with these fields, and new components if there are any.
    """

    names: Mapping[str, Names]
    extend: Callable[[tuple[Entity, ...], Snapshot], tuple[Entity, ...]]


@dataclass(frozen=True, slots=True)
class CollectorSubject:
    """One collector's part of the rule engine.

    `event_kinds` are the kinds of events by name, each with the feeds that report it. `names`
    yields further names of components in events. `joins` yield edges that are told by the names of
    components, `links` edges that events and time tell as well; `tracked` are the fields whose
    history the links need: kind, field, seconds. `named_in_events` yields components that only
    events name. `resolve` sets the component that the text of an event
    names. Events of the kinds `reported_twice` come from two feeds, once each; events of the kinds
    `names_processes` are also about the process in their field `pid`. `repair_kinds` are the kinds
    of events for `repairs`. `usual_texts` replace, in sentences, fields that a component does not
    have. `counts_events` are feeds whose reading counts its events itself. `is_reported_better`
    tells whether another feed reports the same event with more detail. `title` names a component
    that only events name; None for an unknown component.
    """

    kinds: tuple[Kind, ...] = ()
    node: NodeFields = field(default_factory=NodeFields)
    feeds: tuple[Callable[[bool], EventFeed], ...] = ()
    event_kinds: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    interpreter: Callable[[], Interpreter] | None = None
    repairs: Callable[[], Repairs] | None = None
    names: Callable[[Snapshot], Iterable[tuple[Address, Key]]] | None = None
    joins: tuple[Callable[[KnownEntities], Iterable[Edge]], ...] = ()
    links: tuple[Callable[[KnownEntities], Iterable[Edge]], ...] = ()
    tracked: tuple[tuple[str, str, float], ...] = ()
    named_in_events: Callable[[EventStore, float], Iterable[Entity]] | None = None
    extension: Extension | None = None
    resolve: Callable[[Sequence[Event], tuple[Entity, ...]], Sequence[Event]] | None = None
    reported_twice: frozenset[str] = frozenset()
    names_processes: frozenset[str] = frozenset()
    repair_kinds: frozenset[str] = frozenset()
    usual_texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    counts_events: frozenset[str] = frozenset()
    is_reported_better: Callable[[Event, frozenset[str]], bool] | None = None
    title: Callable[[Key, AliasIndex, Mapping[Key, Entity]], str | None] | None = None


@dataclass(frozen=True)
class Subjects:
    """The subjects of some collectors, as the engine needs them.

    Where several kinds have the same type in labels, events of that type are about the first kind.
    """

    rows: tuple[CollectorSubject, ...]

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of components, the node first."""
        node = node_kind(row.node for row in self.rows)
        return (node, *(kind for row in self.rows for kind in row.kinds))

    @cached_property
    def event_sources(self) -> Mapping[str, frozenset[str]]:
        """The feeds by kind of event; one of them must work, or events may be missed."""
        found: dict[str, frozenset[str]] = {}
        for row in self.rows:
            for kind, feeds in row.event_kinds.items():
                found[kind] = found.get(kind, frozenset()) | feeds
        return found

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of rules: kinds, fields, relations and events."""
        added = [row.extension.names for row in self.rows if row.extension]
        names = {
            kind.name: {
                **({} if kind.ends else HISTORY_FIELDS),
                **kind.names,
                **{
                    name: found
                    for each in added
                    for which in (ANY_KIND, kind.name)
                    for name, found in each.get(which, {}).items()
                },
            }
            for kind in self.kinds
        }
        types = (each.value for each in EventType)
        repaired = (kind for row in self.rows for kind in row.repair_kinds)
        return Vocabulary(
            names=MappingProxyType(names),
            related=MappingProxyType({kind.name: kind.related for kind in self.kinds}),
            event_words=frozenset({BOOT, *self.event_sources, *repaired, *types}),
            usual_texts={name: text for row in self.rows for name, text in row.usual_texts.items()},
        )

    @cached_property
    def traits(self) -> KindTraits:
        """The properties of the kinds that evaluation needs."""
        return KindTraits(
            hw_types=MappingProxyType({kind.name: kind.hw_type for kind in self.kinds}),
            related=self.vocabulary.related,
            ending=frozenset(kind.name for kind in self.kinds if kind.ends),
            on_a_bus=frozenset(kind.name for kind in self.kinds if kind.is_on_a_bus),
            depended_on=frozenset(kind.name for kind in self.kinds if kind.is_depended_on),
            with_status=frozenset(kind.name for kind in self.kinds if kind.has_status),
            graph_words={kind.name: kind.graph_word for kind in self.kinds if kind.graph_word},
            namings={kind.hw_type: kind.naming for kind in self.kinds if kind.naming != Naming()},
            with_siblings=frozenset(k.name for k in self.kinds[1:] if not k.naming.is_alone),
            identities={kind.name: kind.identity for kind in self.kinds if kind.identity},
            uncounted=frozenset(k.name for k in self.kinds if k.build is known_by_events),
        )

    def scene_of(
        self,
        snapshot: Snapshot,
        events: Iterable[Event],
        event_sources: frozenset[str],
        kept: Kept | None = None,
        builds: Iterable[Build] | None = None,
    ) -> Scene:
        """Return the input of an evaluation: the entities of a snapshot, and its new events.

        What was `kept` of the last snapshot is used again where its readings are the same. `builds`
        find the entities, without it those of the kinds.
        """
        kept = kept or Kept()
        builds = [kind.build for kind in self.kinds] if builds is None else builds
        entities = kept.joined("entities", builds, snapshot)
        for row in self.rows:
            if row.extension:
                entities = row.extension.extend(entities, snapshot)
        received: Sequence[Event] = tuple(events)
        for row in self.rows:
            if row.resolve and received:
                received = row.resolve(received, entities)
        return Scene(
            node=snapshot.node,
            now=snapshot.taken_boottime + snapshot.renewed_secs,
            wall=snapshot.taken_at + snapshot.renewed_secs,
            entities=entities,
            edges=kept.joined("edges", [kind.relate for kind in self.kinds], snapshot),
            events=tuple(received),
            event_sources=event_sources,
            names=tuple(it for row in self.rows if row.names for it in row.names(snapshot)),
            read_kinds=frozenset(
                kind.name for kind in self.kinds if snapshot.reading(kind.reading) is not None
            ),
        )

    def interpreters(self) -> list[Interpreter]:
        """Make the interpreters of events, each with an empty memory."""
        return [row.interpreter() for row in self.rows if row.interpreter]

    def joins(self, known: KnownEntities) -> list[tuple[Edge, ...]]:
        """Return the edges that the names of components tell, by subject."""
        return [tuple(edge for join in row.joins for edge in join(known)) for row in self.rows]

    def links(
        self, known: KnownEntities, joins: Iterable[Iterable[Edge]] | None = None
    ) -> Iterator[Edge]:
        """Yield the edges that one snapshot does not show; `joins` are known from the last one."""
        joins = self.joins(known) if joins is None else joins
        for row, joined in zip(self.rows, joins, strict=True):
            yield from joined
            for link in row.links:
                yield from link(known)

    def named_in_events(self, events: EventStore, now: float) -> Iterator[Entity]:
        """Yield the components that only events name."""
        for row in self.rows:
            if row.named_in_events:
                yield from row.named_in_events(events, now)

    def title(self, key: Key, aliases: AliasIndex, entities: Mapping[Key, Entity]) -> str:
        """Return a display name of a component that only events name."""
        titles = (row.title(key, aliases, entities) for row in self.rows if row.title)
        return next((title for title in titles if title), key[1])

    @cached_property
    def tracked(self) -> tuple[tuple[str, str, float], ...]:
        """The fields whose history the links need: kind, field, seconds."""
        return tuple(each for row in self.rows for each in row.tracked)

    @cached_property
    def read_as_a_whole(self) -> tuple[str, ...]:
        """The kinds whose components all come and go with their driver."""
        return tuple(kind.name for kind in self.kinds if kind.is_read_as_a_whole)

    @cached_property
    def reported_twice(self) -> frozenset[str]:
        """The kinds of events that two feeds report, once each."""
        return frozenset(kind for row in self.rows for kind in row.reported_twice)

    @cached_property
    def names_processes(self) -> frozenset[str]:
        """The kinds of events that are also about the process in their field `pid`."""
        return frozenset(kind for row in self.rows for kind in row.names_processes)

    @cached_property
    def counted_elsewhere(self) -> frozenset[str]:
        """The feeds whose reading counts their events itself."""
        return frozenset(feed for row in self.rows for feed in row.counts_events)

    def is_reported_better(self, event: Event, working: frozenset[str]) -> bool:
        """Tell whether another working feed reports the same event with more detail."""
        return any(
            row.is_reported_better(event, working) for row in self.rows if row.is_reported_better
        )
