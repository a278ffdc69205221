"""The graph of entities and their relations, and the aliases of entities in events."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain

from exporter.faults.values import Address, Entity, KindTraits
from exporter.model.verdict import Edge, Key

SAME = "same"
SIBLINGS = "siblings"
"""The relation of a fault to the fault of its parent that it was joined to."""

NODE_WIDE = ("node", "hosts")
LIVING = ("consumes", "waits_on", "runs_in")
"""Relations of processes; those of hardware are part_of, below and peer."""

MAX_DEPTH = 16

MAX_NAMES = 20_000
NODE_KIND = "node"


class Graph:
    """The relations among these entities, built for each evaluation.

    Edges of processes lead to what the process uses or waits for; hardware edges lead from the part
    to the whole (part_of), from a device to the port above it (below), and between neighbours.
    """

    def __init__(self, keys: Iterable[Key], edges: Iterable[Edge], traits: KindTraits) -> None:
        self._traits = traits
        self._keys = dict.fromkeys(keys)
        self._edges: dict[str, list[Edge]] = defaultdict(list)
        for edge in edges:
            self._edges[edge.relation].append(edge)
        self._indexes: dict[tuple[str, bool], dict[Key, list[Key]]] = {}
        self._wholes: dict[Key, Mapping[Key, None]] = {}
        self._related: dict[tuple[Key, str], Mapping[Key, None]] = {}

    def with_more(self, edges: Collection[Edge]) -> "Graph":
        """Return a graph that has these edges as well; this one if there are none."""
        known = chain.from_iterable(self._edges.values())
        return Graph(self._keys, chain(known, edges), self._traits) if edges else self

    def _index(self, relation: str, *, is_back: bool) -> dict[Key, list[Key]]:
        """Return the far ends of edges by the near ones; a relation is indexed at its first use."""
        index = self._indexes.get((relation, is_back))
        if index is None:
            index = self._indexes[relation, is_back] = defaultdict(list)
            for edge in self._edges.get(relation, ()):
                near, far = edge.source, edge.target
                if is_back:
                    near, far = far, near
                index[near].append(far)
        return index

    def targets(self, relation: str, key: Key) -> list[Key]:
        """Return the targets of edges of this relation from this key."""
        return self._index(relation, is_back=False).get(key, [])

    def _sources(self, relation: str, key: Key) -> list[Key]:
        return self._index(relation, is_back=True).get(key, [])

    def _on_a_bus(self, key: Key) -> list[Key]:
        return [part for part in self.same(key) if part[0] in self._traits.on_a_bus]

    def count(self, relation: str) -> int:
        """Return the number of edges of this relation."""
        return len(self._edges.get(relation, ()))

    def related(self, key: Key, relation: str) -> Collection[Key]:
        """Return the possible causes of a fault of `key` by this relation."""
        if relation in NODE_WIDE:
            return self._keys
        if (key, relation) not in self._related:
            self._related[key, relation] = dict.fromkeys(RELATIONS[relation](self, key))
        return self._related[key, relation]

    def users(self, key: Key) -> list[Key]:
        """Return the processes that use or wait for this entity, its parts or its wholes."""
        found: dict[Key, None] = {}
        for part in self.same(key):
            for relation in ("consumes", "waits_on"):
                found.update(dict.fromkeys(self._sources(relation, part)))
        return list(found)

    def same(self, key: Key) -> Collection[Key]:
        """Return the entity, then its parts and wholes: one component in several views."""
        if key not in self._wholes:
            self._wholes[key] = dict.fromkeys(self._connected(key))
        return self._wholes[key]

    def _connected(self, key: Key) -> Iterator[Key]:
        yield key
        for edges in (self.targets, self._sources):
            seen = {key}
            waiting = [key]
            while waiting:
                for other in edges("part_of", waiting.pop()):
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
                        yield other

    def wholes(self, key: Key) -> Iterator[Key]:
        """Yield the wholes that the entity is part of, the nearest first."""
        level = self.targets("part_of", key)
        for _ in range(MAX_DEPTH):
            yield from level
            level = [whole for part in level for whole in self.targets("part_of", part)]

    def above(self, key: Key) -> Iterator[Key]:
        """Yield every port between the root and the device, and the device's own function."""
        level = self._on_a_bus(key)
        for _ in range(MAX_DEPTH):
            yield from level
            level = [port for part in level for port in self.targets("below", part)]
            if not level:
                return

    def beside(self, key: Key) -> Iterator[Key]:
        """Yield the devices under the same port."""
        for own in self._on_a_bus(key):
            for port in self.targets("below", own):
                for sibling in self._sources("below", port):
                    yield from self.same(sibling)

    def under(self, key: Key) -> Iterator[Key]:
        """Yield the devices below a port, however deep."""
        level = self._on_a_bus(key)
        for _ in range(MAX_DEPTH):
            level = [device for port in level for device in self._sources("below", port)]
            if not level:
                return
            for device in level:
                yield from self.same(device)

    def around(self, relation: str, key: Key) -> Iterator[Key]:
        """Yield neighbours by an edge without direction, with their parts and wholes."""
        for part in self.same(key):
            for edges in (self.targets, self._sources):
                for other in edges(relation, part):
                    yield from self.same(other)

    def used(self, key: Key) -> Iterator[Key]:
        """Yield the components that a process uses, or the processes that use a component."""
        for part in self.same(key):
            yield from self.targets("consumes", part)
            yield from self._sources("consumes", part)

    def waited_for(self, key: Key) -> Iterator[Key]:
        """Yield what a process or the users of a component wait for; all entities for the node."""
        if key[0] == "node":
            yield from self._keys
            return
        waiting = [key, *self.users(key), *self._sources("runs_in", key)]
        seen = set(waiting)
        while waiting:
            for target in self.targets("waits_on", waiting.pop(0)):
                yield from self.same(target)
                if target[0] == "process" and target not in seen:  # the owner of a lock waits, too
                    seen.add(target)
                    waiting.append(target)

    def working_with(self, key: Key) -> Iterator[Key]:
        """Yield the workload of a process, or the processes of a workload."""
        yield from self.targets("runs_in", key)
        yield from self._sources("runs_in", key)

    def depended_on(self, key: Key) -> Iterator[Key]:
        """Yield the component, and those that drivers, links and collectors depend on."""
        yield from (other for other in self._keys if other[0] in self._traits.depended_on)
        yield from self.same(key)


Related = Callable[[Graph, Key], Iterable[Key]]

RELATIONS: Mapping[str, Related] = {
    SAME: Graph.same,
    "node": lambda graph, _: graph.related(("", ""), "node"),
    "hosts": lambda graph, _: graph.related(("", ""), "hosts"),
    "upstream_of": Graph.above,
    "downstream_of": Graph.under,
    "port_shared": Graph.beside,
    "link_peer": lambda graph, key: graph.around("peer", key),
    "reached_over": lambda graph, key: graph.around("reached_over", key),
    "consumes": Graph.used,
    "waits_on": Graph.waited_for,
    "runs_in": Graph.working_with,
    "depends_on": Graph.depended_on,
    "lies_on": Graph.wholes,
}
"""The relations that `via` may name, each with the possible causes by it."""


class AliasIndex:
    """Maps names in events to entities, gone ones too; `kind_of` is the kind by event type."""

    def __init__(self, kind_of: Mapping[str, str]) -> None:
        self._kind_of = kind_of
        self._keys: dict[Address, Key] = {}
        self._addresses: dict[Key, dict[Address, None]] = {}

    @property
    def is_full(self) -> bool:
        """Whether a new name pushes out an older one, which may have to be added again."""
        return len(self._keys) >= MAX_NAMES

    def add_all(self, entities: Iterable[Entity]) -> None:
        """Add the names of these entities; the first entity with a name keeps it."""
        for entity in entities:
            for address in entity.addresses:
                if address != entity.key:
                    self.add(address, entity.key)

    def add(self, address: Address, key: Key) -> None:
        """Map the address, in events, to this entity."""
        self._addresses.setdefault(key, {})[address] = None
        self._keys.setdefault(address, key)
        if len(self._keys) > MAX_NAMES:
            oldest, owner = next(iter(self._keys.items()))
            del self._keys[oldest]
            self._addresses.pop(owner, None)

    def key_of(self, address: Address) -> Key | None:
        """Return the entity of events with this address; None for the node and unknown types."""
        known = self._keys.get(address)
        if known is not None:
            return known
        kind = self._kind_of.get(address[0])
        return None if kind in (None, NODE_KIND) else (str(kind), address[1])

    def known_key(self, address: Address) -> Key | None:
        """Return the entity that was seen with this name; None if there was none."""
        return self._keys.get(address)

    def addresses_of(self, address: Address) -> tuple[Address, ...]:
        """Return all names of the entity of this address, the address included."""
        key = self.key_of(address)
        if key is None:
            return (address,)
        return tuple(dict.fromkeys((address, key, *self._addresses.get(key, ()))))
