"""Looks at a node, and what rules see of them."""

from collections.abc import Mapping

from exporter.collectors.everything import KINDS, scene_of
from exporter.faults.entities.components import Components
from exporter.faults.entities.graph import AliasIndex
from exporter.faults.events.store import EventStore
from exporter.faults.subject import KnownEntities
from exporter.faults.timeseries import History
from exporter.faults.values import Entity, Scene, Value
from exporter.model.snapshot import Snapshot, SourceReport
from exporter.model.verdict import Key


def seen(*readings: object, reports: tuple[SourceReport, ...] = ()) -> Scene:
    """The scene of a snapshot with these readings."""
    by_type = {type(each): each for each in readings}
    snapshot = Snapshot("n", 1, 5e8, 1000.0, 0.1, readings=by_type, reports=reports)
    return scene_of(snapshot, (), frozenset())


def entity(scene: Scene, key: Key) -> Entity:
    """The entity with this key."""
    return next(each for each in scene.entities if each.key == key)


def fields(scene: Scene, key: Key, *names: str) -> Mapping[str, Value]:
    """These fields of one entity."""
    found = entity(scene, key)
    return {name: found.fields.get(name) for name in names}


def edges(scene: Scene, *relations: str) -> set[tuple[str, Key, Key]]:
    """The edges of these relations, by relation, source and target."""
    return {(e.relation, e.source, e.target) for e in scene.edges if e.relation in relations}


def on_the_bus(scene: Scene) -> set[tuple[Key, Key]]:
    """The components that are part of a PCIe device, each with the device."""
    by_kind: dict[str, list[Entity]] = {}
    for each in scene.entities:
        by_kind.setdefault(each.kind, []).append(each)
    now = {each.key: each for each in scene.entities}
    seen = (History(), EventStore(), AliasIndex({}), scene.now, Components())
    known = KnownEntities(now, by_kind, *seen)
    return {(e.source, e.target) for e in KINDS.links(known) if e.target[0] == "pcie"}
