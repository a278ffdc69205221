"""The history that evaluations need: events, time series and aliases."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from exporter.faults.entities.external import probe_edges
from exporter.faults.entities.graph import LIVING, NODE_KIND, AliasIndex, Graph
from exporter.faults.entities.name_edges import name_edges
from exporter.faults.entities.wait_edges import DISK_FIELDS, WINDOW_SECS, lock_owners, wait_edges
from exporter.faults.events.event_kinds import KERNEL_LOG, NVML, event_sources_of
from exporter.faults.events.query import MAX_WINDOW_SECS, Events
from exporter.faults.events.store import EventStore
from exporter.faults.expr.syntax import Name
from exporter.faults.rules.rule import Rule
from exporter.faults.timeseries import History
from exporter.faults.values import Address, Entity, Scene
from exporter.model.disk import whole_disk
from exporter.model.event import Event
from exporter.model.kernel_events import LINK_CODES
from exporter.model.verdict import Edge, Key

KEPT_USES_SECS = 3600.0
"""Who used what is remembered after the end of a process: that its GPU idles is said much later."""

KEPT_PARTS_SECS = 600.0
"""Where a device sat is remembered after it has gone: a lost GPU may vanish from the bus."""

ENDED_WITH = ("consumes", "runs_in")
"""What a process that has ended did, which a fault of that moment may have ended."""

SAME_XID_SECS = 5.0

AHEAD_SECS = 5.0
"""Events of the moment may be dated a little after it; more is a clock that was misjudged."""


LOST_MEMBERS = Events("md_disk_failure", (), MAX_WINDOW_SECS)

NODE_ADDRESS: Address = ("node", "")

MAX_KEPT_EDGES = 5_000
MAX_CACHED = 10_000

MatchCache: TypeAlias = dict[tuple[tuple[Address, ...] | None, Events], tuple[list[Event], float]]
"""The events of these addresses that a rule asks for, and until when these are all."""

NOT_CACHED: tuple[list[Event], float] = ([], -math.inf)


@dataclass(frozen=True, slots=True)
class View:
    """One scene with all that is known beside it; answers what happened to an entity."""

    scene: Scene
    now: float
    entities: Mapping[Key, Entity]
    by_kind: Mapping[str, list[Entity]]
    graph: Graph  # as it is now
    past_graph: Graph  # with what processes that ended had used
    ended_uses: Mapping[Edge, float]  # those uses, and when they were last seen
    memory: EventStore
    cache: MatchCache

    def matching_events(self, entity: Entity, wanted: Events, after: float) -> list[Event] | None:
        """Find the events of the entity after this boot time.

        None when no source would report them and none is known.
        """
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
        """When an event of these kinds last was about the entity or about the whole node.

        What its parts are and what it is part of count as itself; minus infinity when none was.
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
        """Whether a source that would report such events works."""
        sources = event_sources_of(wanted.what)
        return not sources or not self.scene.event_sources.isdisjoint(sources)


@dataclass(slots=True)
class Observer:
    """Takes in one scene after the other."""

    rules: Iterable[Rule]
    related: Mapping[str, Mapping[str, str]]
    aliases: AliasIndex
    history: History = field(default_factory=History)
    events: EventStore = field(default_factory=EventStore)
    now: float = 0.0
    _cache: MatchCache = field(default_factory=dict)
    _last_edges: tuple[Edge, ...] = ()
    _gone: dict[Edge, float] = field(default_factory=dict)
    _gpus: set[Key] = field(default_factory=set)
    _tracked: dict[str, set[tuple[str, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rule in self.rules:
            for name, secs in rule.looks_back():
                kind = self._owner(rule.entity, name)
                self._track(kind, name.key, secs)
        for field_name in DISK_FIELDS:
            self._track("disk", field_name, WINDOW_SECS)

    def observe(self, scene: Scene) -> View:
        """Everything rules look at now."""
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
        waiting = wait_edges(by_kind, self.history, self.events, self.now)
        links = (*self._links_by_events(by_kind), *name_edges(entities, by_kind))
        probed = probe_edges(self.events, self.aliases, self.now)
        scene = replace(scene, edges=_with_more(scene.edges, (*waiting, *links, *probed)))
        graph = Graph(entities, scene.edges)
        gone = self._edges_of_gone(scene.edges, present)
        past = Graph(entities, [*scene.edges, *gone]) if gone else graph
        uses = {e: self._gone[e] for e in gone if e.relation in ENDED_WITH}
        return View(scene, self.now, entities, by_kind, graph, past, uses, self.events, self._cache)

    def _keep_histories(self, read: AbstractSet[Key], known: AbstractSet[Key]) -> None:
        """Forget what the fields of those were that are gone.

        While a driver is unloaded none of its GPUs is read: what they were counts when they are
        back.
        """
        gpus = {key for key in read if key[0] == "gpu"}
        self._gpus = gpus or self._gpus
        self.history.keep_only(known if gpus else known | self._gpus)

    def _track(self, kind: str, name: str, secs: float) -> None:
        self._tracked.setdefault(kind, set()).add((name, secs))

    def _owner(self, kind: str, name: Name) -> str:
        return self.related.get(kind, {}).get(name.related, kind) if name.related else kind

    def _take(self, event: Event, scene: Scene) -> None:
        twice = self._duplicates_of(event) if event.kind == "xid" else []
        if twice:
            bare = next((other for other in twice if not other.raw), None)
            if bare is not None and event.raw:  # the log names process and place as well
                self.events.exchange(bare, replace(event, source=bare.source))
            return
        code = event.fields.get("code", "")
        if event.source == NVML and code in LINK_CODES and KERNEL_LOG in scene.event_sources:
            return  # the log names the link as well
        self.events.take(event)

    def _duplicates_of(self, event: Event) -> list[Event]:
        """Return the same Xid from another source just before: log and NVML both report it."""
        others = self.aliases.addresses_of((event.entity_type, event.entity_id))
        wanted = Events("xid", (("code", (event.fields.get("code", ""),)),), SAME_XID_SECS)
        nearby = self.events.matching(others, wanted, event.boottime)
        duplicates = [other for other in nearby if other.source != event.source]
        return duplicates if 2 * len(duplicates) > len(nearby) else []

    def _known_by_events(self, entities: Mapping[Key, Entity]) -> Iterator[Entity]:
        """Yield what is not in the scene, but had events or is named in one.

        A lost GPU, a process.
        """
        for address in self.events.addresses():
            key = self.aliases.key_of(address)
            if key is not None and key not in entities:
                addresses = self.aliases.addresses_of(address)
                yield Entity(key, self._title(key, entities), addresses=addresses)
        for owner in lock_owners(self.events, self.now).values():
            if owner.key not in entities:
                yield replace(owner, addresses=self.aliases.addresses_of(owner.key))

    def _title(self, key: Key, entities: Mapping[Key, Entity]) -> str:
        """Return a name for people: that of the GPU and the number of the link, else the id."""
        pci, slash, link = key[1].partition("/")
        gpu = entities.get(self.aliases.known_key(("gpu", pci)) or key)
        return f"{gpu.name} link {link}" if gpu is not None and slash else key[1]

    def _links_by_events(self, by_kind: Mapping[str, list[Entity]]) -> Iterator[Edge]:
        """Join a link to the GPU whose address is in its name, a lost disk to its array."""
        for link in by_kind.get("nvlink", ()):
            gpu = self.aliases.known_key(("gpu", link.key[1].partition("/")[0]))
            if gpu is not None:
                yield Edge("part_of", link.key, gpu)
        for array in by_kind.get("md_array", ()):
            for event in self.events.matching(array.addresses, LOST_MEMBERS, self.now):
                disk = whole_disk(event.fields.get("member", ""))
                yield Edge("part_of", ("disk", disk), array.key)

    def _look_at_fields(self, by_kind: Mapping[str, list[Entity]]) -> None:
        for kind, fields in self._tracked.items():
            for entity in by_kind.get(kind, ()):
                for name, secs in fields:
                    value = entity.fields.get(name)
                    self.history.take(entity.key, name, secs, self.now, value)

    def _edges_of_gone(self, edges: tuple[Edge, ...], present: AbstractSet[Key]) -> list[Edge]:
        """Return what processes that are gone used, and where devices that are gone sat."""
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
    """Return the event, dated this boot time at the latest.

    One from the future would stop our clock.
    """
    return event if event.boottime <= latest else replace(event, boottime=latest)


def _with_more(edges: tuple[Edge, ...], more: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """All edges, each once; only those that are like the further ones are compared with them."""
    relations = {edge.relation for edge in more}
    known = {edge for edge in edges if edge.relation in relations}
    return (*edges, *(edge for edge in dict.fromkeys(more) if edge not in known))
