"""Looks at a node, and what rules see of them."""

from collections.abc import Mapping

from exporter.faults.entities.kinds import scene_of
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
