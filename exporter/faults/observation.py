"""The state between evaluations that rules need: events, time series and aliases."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from typing import TypeAlias

from exporter.faults.entities.graph import LIVING, NODE_KIND, AliasIndex, Graph
from exporter.faults.events.query import Events
from exporter.faults.events.store import EventStore
from exporter.faults.expr.syntax import Name
from exporter.faults.rules.rule import Rule
from exporter.faults.subject import KnownEntities, Subjects
from exporter.faults.timeseries import History
from exporter.faults.values import Address, Entity, Scene
from exporter.model.event import Event
from exporter.model.verdict import Edge, Key
from exporter.record import dataclass

KEPT_USES_SECS = 3600.0
"""How long uses of a process are kept after its end: that a device idles is reported late."""

KEPT_PARTS_SECS = 600.0
"""How long the slot of a lost device is kept: the device may vanish from the bus."""

ENDED_WITH = ("consumes", "runs_in")
"""The uses of an ended process; a fault at that time may have ended the process."""

SAME_EVENT_SECS = 5.0

AHEAD_SECS = 5.0
"""Events may be dated so much after now; more means that their clock was misread."""


NODE_ADDRESS: Address = ("node", "")

MAX_KEPT_EDGES = 5_000
MAX_CACHED = 10_000

MatchCache: TypeAlias = dict[tuple[tuple[Address, ...] | None, Events], tuple[list[Event], float]]
"""The events of these addresses by query, and the boot time until which they are valid."""

NOT_CACHED: tuple[list[Event], float] = ([], -math.inf)


@dataclass(frozen=True, slots=True)
class View:
    """One scene with its graphs and events; finds the events of an entity."""

    scene: Scene
    now: float
    entities: Mapping[Key, Entity]
    by_kind: Mapping[str, list[Entity]]
    graph: Graph  # as it is now
    past_graph: Graph  # with the uses of ended processes
    ended_uses: Mapping[Edge, float]  # those uses, and when each was last seen
    memory: EventStore
    cache: MatchCache
    sources_of: Mapping[str, frozenset[str]]

    def matching_events(self, entity: Entity, wanted: Events, after: float) -> list[Event] | None:
        """Find the events of the entity after this boot time; None if no source of them works."""
        if not self.memory.addresses_with(wanted.what):
            return [] if self.has_source(wanted) else None  # as nearly always
        addresses = None if entity.kind == NODE_KIND else entity.addresses
        if wanted.until:
            after = max(after, math.nextafter(self.ended_at(entity, wanted.until), -math.inf))
        if after > self.now - wanted.within_secs:
            events = self.memory.matching(addresses, wanted, self.now, after)
        else:
            events, until = self.cache.get((addresses, wanted), NOT_CACHED)
            if until < self.now:
                events = self.memory.matching(addresses, wanted, self.now)
                until = events[0].boottime + wanted.within_secs if events else math.inf
                self.cache[addresses, wanted] = (events, until)
        return events if events or self.has_source(wanted) else None

    def ended_at(self, entity: Entity, kinds: Sequence[str]) -> float:
        """Return when an event of these kinds was last about the entity or the node; -inf if never.

        Events of the entity's parts and wholes count as its own.
        """
        if not any(map(self.memory.addresses_with, kinds)):
            return -math.inf
        return self.memory.last_of(self._about(entity), kinds)

    def _about(self, entity: Entity) -> Iterator[Address]:
        yield NODE_ADDRESS
        yield from entity.addresses
        for key in self.graph.same(entity.key):
            if key in self.entities and key != entity.key:
                yield from self.entities[key].addresses

    def has_source(self, wanted: Events) -> bool:
        """Whether a source of such events works."""
        sources = self.sources_of.get(wanted.what)
        return not sources or not self.scene.event_sources.isdisjoint(sources)


@dataclass(slots=True)
class Observer:
    """Turns one scene after the other into a view, with the history that rules need."""

    rules: Iterable[Rule]
    subjects: Subjects
    aliases: AliasIndex
    history: History = field(default_factory=History)
    events: EventStore = field(init=False)
    now: float = 0.0
    _cache: MatchCache = field(default_factory=dict)
    _last_edges: tuple[Edge, ...] = ()
    _gone: dict[Edge, float] = field(default_factory=dict)
    _whole: dict[str, set[Key]] = field(default_factory=dict)
    _tracked: dict[str, set[tuple[str, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.events = EventStore(self.subjects.names_processes)
        self.learn(self.rules, self.subjects)

    def learn(self, rules: Iterable[Rule], subjects: Subjects) -> None:
        """Track the fields that these rules need; the history so far is kept."""
        self.rules, self.subjects = rules, subjects
        self._cache.clear()
        for rule in rules:
            for name, secs in rule.looks_back():
                kind = self._owner(rule.entity, name)
                self._track(kind, name.key, secs)
        for kind, field_name, secs in self.subjects.tracked:
            self._track(kind, field_name, secs)

    def observe(self, scene: Scene) -> View:
        """Return the view of this scene for rules."""
        entities = {entity.key: entity for entity in scene.entities}
        present = frozenset(entities)
        self.aliases.add_all(scene.entities)
        for address, key in scene.names:
            self.aliases.add(address, key)
        events = [_not_after(event, scene.now + AHEAD_SECS) for event in scene.events]
        if events or len(self._cache) > MAX_CACHED:
            self._cache.clear()
        for event in events:
            self._take(event, scene)
        latest = max((event.boottime for event in events), default=0.0)
        self.now = max(self.now, scene.now, latest)
        self.events.forget_old(self.now)
        for entity in self._known_by_events(entities):
            entities[entity.key] = entity
        by_kind: dict[str, list[Entity]] = defaultdict(list)
        for entity in entities.values():
            by_kind[entity.kind].append(entity)
        self._keep_histories(present, entities.keys())
        self._look_at_fields(by_kind)
        known = KnownEntities(entities, by_kind, self.history, self.events, self.aliases, self.now)
        scene = replace(scene, edges=_with_more(scene.edges, tuple(self.subjects.links(known))))
        graph = Graph(entities, scene.edges, self.subjects.traits)
        gone = self._edges_of_gone(scene.edges, present)
        past = Graph(entities, [*scene.edges, *gone], self.subjects.traits) if gone else graph
        uses = {e: self._gone[e] for e in gone if e.relation in ENDED_WITH}
        return View(
            scene,
            self.now,
            entities,
            by_kind,
            graph,
            past,
            uses,
            self.events,
            self._cache,
            self.subjects.event_sources,
        )

    def _keep_histories(self, read: AbstractSet[Key], known: AbstractSet[Key]) -> None:
        """Forget the history of components that are gone.

        While no component of a kind that is read as a whole is there (the driver is unloaded), the
        history of its components is kept until they are back.
        """
        for kind in self.subjects.read_as_a_whole:
            present = {key for key in read if key[0] == kind}
            self._whole[kind] = present or self._whole.get(kind, set())
            if not present:
                known = known | self._whole[kind]
        self.history.keep_only(known)

    def _track(self, kind: str, name: str, secs: float) -> None:
        self._tracked.setdefault(kind, set()).add((name, secs))

    def _owner(self, kind: str, name: Name) -> str:
        return (
            self.subjects.traits.related.get(kind, {}).get(name.related, kind)
            if name.related
            else kind
        )

    def _take(self, event: Event, scene: Scene) -> None:
        twice = self._duplicates_of(event) if event.kind in self.subjects.reported_twice else []
        if twice:
            bare = next((other for other in twice if not other.raw), None)
            if bare is not None and event.raw:  # the kernel log also names process and place
                self.events.exchange(bare, replace(event, source=bare.source))
            return
        if not self.subjects.is_reported_better(event, scene.event_sources):
            self.events.take(event)

    def _duplicates_of(self, event: Event) -> list[Event]:
        """Return the same event from another source just before."""
        others = self.aliases.addresses_of((event.entity_type, event.entity_id))
        wanted = Events(event.kind, (("code", (event.fields.get("code", ""),)),), SAME_EVENT_SECS)
        nearby = self.events.matching(others, wanted, event.boottime)
        duplicates = [other for other in nearby if other.source != event.source]
        return duplicates if 2 * len(duplicates) > len(nearby) else []

    def _known_by_events(self, entities: Mapping[Key, Entity]) -> Iterator[Entity]:
        """Yield entities that only events show: a lost device, an ended process."""
        for address in self.events.addresses():
            key = self.aliases.key_of(address)
            if key is not None and key not in entities:
                addresses = self.aliases.addresses_of(address)
                title = self.subjects.title(key, self.aliases, entities)
                yield Entity(key, title, addresses=addresses)
        for other in self.subjects.named_in_events(self.events, self.now):
            if other.key not in entities:
                yield replace(other, addresses=self.aliases.addresses_of(other.key))

    def _look_at_fields(self, by_kind: Mapping[str, list[Entity]]) -> None:
        for kind, fields in self._tracked.items():
            for entity in by_kind.get(kind, ()):
                for name, secs in fields:
                    value = entity.fields.get(name)
                    self.history.take(entity.key, name, secs, self.now, value)

    def _edges_of_gone(self, edges: tuple[Edge, ...], present: AbstractSet[Key]) -> list[Edge]:
        """Return the uses of processes that are gone, and the slots of devices that are gone."""
        lost = [e for e in self._last_edges if e.source not in present or e.target not in present]
        self._gone.update(dict.fromkeys(lost, self.now))
        self._last_edges = edges
        is_over = {
            edge: left < self.now - (KEPT_USES_SECS if edge.relation in LIVING else KEPT_PARTS_SECS)
            for edge, left in self._gone.items()
        }
        kept = [edge for edge, old in is_over.items() if not old][-MAX_KEPT_EDGES:]
        self._gone = {edge: self._gone[edge] for edge in kept}
        return [e for e in kept if e.source not in present or e.target not in present]


def _not_after(event: Event, latest: float) -> Event:
    """Return the event with at most this boot time: a time in the future would stop our clock."""
    return event if event.boottime <= latest else replace(event, boottime=latest)


def _with_more(edges: tuple[Edge, ...], more: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """Return all edges, each once; further edges are compared within their relations only."""
    relations = {edge.relation for edge in more}
    known = {edge for edge in edges if edge.relation in relations}
    return (*edges, *(edge for edge in dict.fromkeys(more) if edge not in known))
