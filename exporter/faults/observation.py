"""The state between evaluations that rules need: events, time series and aliases."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import TypeAlias

from exporter.faults.entities.components import Components
from exporter.faults.entities.graph import LIVING, NODE_KIND, AliasIndex, Graph
from exporter.faults.entities.sampling import Sampler
from exporter.faults.events.changes import remember
from exporter.faults.events.query import Events
from exporter.faults.events.store import EventStore
from exporter.faults.expr.syntax import Name
from exporter.faults.last_made import LastMade
from exporter.faults.rules.rule import Rule
from exporter.faults.subject import KnownEntities, Subjects
from exporter.faults.timeseries import History
from exporter.faults.values import Address, Entity, Scene
from exporter.model.event import Event
from exporter.model.verdict import Edge, Key
from exporter.record import dataclass, replace

KEPT_USES_SECS = 3600.0
"""How long uses of a process are kept after its end: that a device idles is reported late."""

KEPT_PARTS_SECS = 600.0
"""How long the slot of a lost device is kept: the device may vanish from the bus."""

ENDED_WITH = ("consumes", "runs_in")
"""The uses of an ended process; a fault at that time may have ended the process."""

SAME_EVENT_SECS = 5.0

CLOCK_SECS = 0.001
"""The clocks are read one after the other: a smaller step is none, and dates no fault anew."""

AHEAD_SECS = 5.0
"""Events may be dated so much after now; more means that their clock was misread."""

NODE_ADDRESS: Address = ("node", "")

MAX_KEPT_EDGES = 5_000
MAX_CACHED = 10_000

MatchCache: TypeAlias = dict[
    tuple[tuple[Address, ...] | None, int], tuple[list[Event], float, Events | None]
]
"""The events of these addresses by query (its `id`), the boot time until which they are valid."""

NOT_CACHED: tuple[list[Event], float, None] = ([], -math.inf, None)


@dataclass(frozen=True, slots=True)
class View:
    """One scene with its graphs and events; finds the events of an entity."""

    scene: Scene
    now: float
    is_later: bool  # than the view before
    entities: Mapping[Key, Entity]
    by_kind: Mapping[str, list[Entity]]
    graph: Graph  # as it is now
    past_graph: Graph  # with the uses of ended processes
    ended_uses: Mapping[Edge, float]  # those uses, and when each was last seen
    memory: EventStore
    components: Components
    events_mark: object  # another one when there are other events, or other sources of events
    cache: MatchCache
    sources_of: Mapping[str, frozenset[str]]

    def matching_events(self, entity: Entity, wanted: Events, after: float) -> list[Event] | None:
        """Find the events of the entity after this boot time; None if no source of them works."""
        if not self.memory.addresses_with(wanted.what):
            return [] if self.has_source(wanted) else None  # as nearly always
        addresses = None if entity.kind == NODE_KIND else entity.addresses
        if wanted.until:
            after = max(after, self.repaired_at(entity, wanted.until))
        if after > self.now - wanted.within_secs:
            events = self.memory.matching(addresses, wanted, self.now, after)
        else:
            place = (addresses, id(wanted))  # to hash the filters takes longer than to look
            events, until, _ = self.cache.get(place, NOT_CACHED)
            if until < self.now:
                events = self.memory.matching(addresses, wanted, self.now)
                until = events[0].boottime + wanted.within_secs if events else math.inf
                self.cache[place] = (events, until, wanted)
        return events if events or self.has_source(wanted) else None

    def repaired_at(self, entity: Entity, kinds: Sequence[str]) -> float:
        """Return just before when an event of these kinds last was about the entity or the node.

        What is said at the same moment comes after the repair; -inf without such an event. Events
        of the entity's parts and wholes count as its own.
        """
        if not any(map(self.memory.addresses_with, kinds)):
            return -math.inf
        return math.nextafter(self.memory.last_of(self._about(entity), kinds), -math.inf)

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
    components: Components = field(default_factory=Components)
    events: EventStore = field(init=False)
    sampler: Sampler = field(init=False)
    now: float = 0.0
    booted_at: float = 0.0  # seconds since the epoch
    _cache: MatchCache = field(default_factory=dict)
    _edges: tuple[tuple[Edge, ...], ...] = ((), (), ())  # of a scene, those of links, and all
    _alike: LastMade[dict[str, set[Edge]]] = field(default_factory=LastMade)
    """The edges of the scene by those relations that links have, too."""
    _keys: tuple[object, object] = (None, None)  # of a scene, and all: others if there are others
    _joins: LastMade[list[tuple[Edge, ...]]] = field(default_factory=LastMade)
    _graph: Graph | None = None  # None once the keys or edges have changed
    _last_edges: tuple[tuple[Edge, ...], tuple[Edge, ...]] = ((), ())  # of the scene, added ones
    _lost: tuple[tuple[Edge, ...], object, list[Edge]] = ((), None, [])
    """Edges, the keys that were read, and the edges to or from other keys."""
    _past: LastMade[Graph] = field(default_factory=LastMade)
    _gone: dict[Edge, float] = field(default_factory=dict)
    _whole: dict[str, set[Key]] = field(default_factory=dict)
    _identities: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.events = EventStore(self.subjects.names_processes)
        self.sampler = Sampler(self.history)
        self.learn(self.rules, self.subjects)

    def learn(self, rules: Iterable[Rule], subjects: Subjects) -> None:
        """Track the fields that these rules need; the history so far is kept."""
        self.rules, self.subjects = rules, subjects
        self._cache.clear()
        self._graph = None
        for rule in rules:
            for name, secs in rule.windows:
                kind = self._owner(rule.entity, name)
                self.sampler.track(kind, name.key, secs)
        for kind, field_name, secs in self.subjects.tracked:
            self.sampler.track(kind, field_name, secs)
        reads = {
            rule.id: rule.reads(subjects.traits.related.get(rule.entity, {})) for rule in rules
        }
        self.components.learn(reads, self.sampler.places())

    def observe(self, scene: Scene) -> View:
        """Return the view of this scene for rules."""
        parts = self.components
        parts.look(scene.entities)
        self.aliases.add_all(parts.read.values() if self.aliases.is_full else parts.replaced)
        self._forget_replaced()
        is_later = self._take_events(scene)
        parts.complete([*self._known_by_events(parts.read)])
        entities, by_kind = parts.entities, parts.by_kind
        if self._keys[0] is not parts.read or self._keys[1] is not entities:
            self._keys, self._graph = (parts.read, entities), None
            self._keep_histories(parts.read.keys(), entities.keys())
        self.sampler.take(parts, self.now)
        known = KnownEntities(
            entities, by_kind, self.history, self.events, self.aliases, self.now, parts
        )
        edges = self._all_edges(scene, known)
        scene = replace(scene, edges=edges, booted_at=self.booted_at)
        if (graph := self._graph) is None:
            graph = self._graph = Graph(entities, edges, self.subjects.traits)
        gone = self._edges_of_gone(parts.read)
        past = self._past.made((graph, gone), lambda: graph.with_more(gone))
        uses = {e: self._gone[e] for e in gone if e.relation in ENDED_WITH}
        return View(
            scene,
            self.now,
            is_later,
            entities,
            by_kind,
            graph,
            past,
            uses,
            self.events,
            parts,
            (self.events.version, scene.event_sources),
            self._cache,
            self.subjects.event_sources,
        )

    def _forget_replaced(self) -> None:
        """Forget the past of a component in whose place another is now."""
        names = self.subjects.traits.identities
        for entity in self.components.replaced:
            if not (name := names.get(entity.key[0])):
                continue
            if not (identity := entity.fields.get(name)):
                continue
            if self._identities.get(entity.key[1], identity) != identity:
                self.events.forget(entity.addresses)
                self.sampler.forget(entity.key)
                self._cache.clear()
            remember(self._identities, entity.key[1], identity)

    def _take_events(self, scene: Scene) -> bool:
        """Take in the time and the events of a scene; tell whether it is later than the last."""
        for address, key in scene.names:
            self.aliases.add(address, key)
        events = [_not_after(event, scene.now + AHEAD_SECS) for event in scene.events]
        if events or len(self._cache) > MAX_CACHED:
            self._cache.clear()
        for event in events:
            self._take(event, scene)
        if abs(scene.wall - scene.now - self.booted_at) > CLOCK_SECS:
            self.booted_at = scene.wall - scene.now
        latest = max((event.boottime for event in events), default=0.0)
        before, self.now = self.now, max(self.now, scene.now, latest)
        self.events.forget_old(self.now)
        return self.now > before

    def _all_edges(self, scene: Scene, known: KnownEntities) -> tuple[Edge, ...]:
        """Return the edges with those of links; the same tuple if no edge has changed."""
        edges = scene.edges
        joins = self._joins.made(
            (known.components.makeup, scene.names), lambda: self.subjects.joins(known)
        )
        more = tuple(self.subjects.links(known, joins))
        before = self._edges
        if edges is not before[0] or more != before[1]:
            relations = {edge.relation for edge in more}
            alike = self._alike.made((edges, relations), lambda: _by_relation(edges, relations))
            added = [it for it in dict.fromkeys(more) if it not in alike.get(it.relation, ())]
            self._edges = (edges, more, (*edges, *added))
            if edges is not before[0] or _ends(self._added()) != _ends(before[2][len(edges) :]):
                self._graph = None  # other evidence of an edge changes no relation
        return self._edges[2]

    def _added(self) -> tuple[Edge, ...]:
        """Return the edges that those of the scene do not have."""
        return self._edges[2][len(self._edges[0]) :]

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

    def _owner(self, kind: str, name: Name) -> str:
        return self.subjects.traits.related.get(kind, {}).get(name.related, kind)

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

    def _edges_of_gone(self, present: Mapping[Key, Entity]) -> list[Edge]:
        """Return the uses of processes that are gone, and the slots of devices that are gone."""
        edges, added = self._last_edges
        if edges is not self._lost[0] or present is not self._lost[1]:
            self._lost = (edges, present, _leaving(edges, present))
        lost = [*self._lost[2], *_leaving(added, present)]
        self._gone.update(dict.fromkeys(lost, self.now))
        self._last_edges = (self._edges[0], self._added())
        kept = [
            edge
            for edge, left in self._gone.items()
            if left >= self.now - (KEPT_USES_SECS if edge.relation in LIVING else KEPT_PARTS_SECS)
        ][-MAX_KEPT_EDGES:]
        self._gone = {edge: self._gone[edge] for edge in kept}
        return _leaving(kept, present)


def _leaving(edges: Iterable[Edge], present: Container[Key]) -> list[Edge]:
    """Return the edges from or to a component that is not present."""
    return [e for e in edges if e.source not in present or e.target not in present]


def _by_relation(edges: Iterable[Edge], relations: Container[str]) -> dict[str, set[Edge]]:
    """Return the edges of these relations, by relation."""
    found: dict[str, set[Edge]] = {}
    for edge in edges:
        if edge.relation in relations:
            found.setdefault(edge.relation, set()).add(edge)
    return found


def _ends(edges: Iterable[Edge]) -> list[tuple[str, Key, Key]]:
    """Return the edges without their evidence."""
    return [(edge.relation, edge.source, edge.target) for edge in edges]


def _not_after(event: Event, latest: float) -> Event:
    """Return the event with at most this boot time: a time in the future would stop our clock."""
    return event if event.boottime <= latest else replace(event, boottime=latest)
