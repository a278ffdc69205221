"""The components of now, and what of them has changed: only rules that read it are evaluated."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from exporter.faults.values import Entity, Fields, Place, Value
from exporter.model.verdict import Key

Columns: TypeAlias = dict[str, list[Value] | None]
"""The values of each field, in the order of the components; None where one cannot be read."""

NOTHING: list[Entity] = []
"""The components of a kind of which there are none."""


class Components:
    """The components of the last look, by key and by kind, and what had changed at that look.

    `read` are those of the scene, `entities` also those that only events name; each is another
    object when its keys are others, else a component that is another object takes its place.
    `replaced` are such components of the scene, `new` those of kinds with the same components, by
    kind; `changed` are the fields that have changed, `rules` the ids of rules that read one.
    """

    def __init__(self) -> None:
        self.read: dict[Key, Entity] = {}
        self.entities: dict[Key, Entity] = {}
        self.by_kind: dict[str, list[Entity]] = {}
        self.replaced: list[Entity] = []
        self.new: dict[str, list[Entity]] = {}
        self.changed: set[Place] = set()
        self.rules: set[str] = set()
        self._scene: Sequence[Entity] = ()
        self._joined: tuple[object, list[Entity]] | None = None  # `read`, and those of events
        self._places: dict[Key, int] = {}  # in the list of the kind
        self._readers: dict[str, dict[str, list[str]]] = {}  # rules, by kind and field
        self._columns: dict[str, Columns] = {}

    def learn(self, reads: Mapping[str, Iterable[Place]], more: Iterable[Place]) -> None:
        """Note the fields that each rule reads, by the rule's id, and further fields.

        All components count as others at the next look.
        """
        self._scene, self._joined = (), None
        self.by_kind, self._readers, self._columns = {}, {}, {}
        for kind, name in more:
            self._readers.setdefault(kind, {}).setdefault(name, [])
        for rule, places in reads.items():
            for kind, name in places:
                self._readers.setdefault(kind, {}).setdefault(name, []).append(rule)

    def look(self, scene: Sequence[Entity]) -> None:
        """Take in the components of a scene; of two with one key the second counts."""
        before, self._scene = self._scene, scene
        at = _replaced(before, scene)
        self.replaced = [scene[place] for place in at]
        if len(before) == len(scene) and all(scene[it].key == before[it].key for it in at):
            self.read.update({entity.key: entity for entity in self.replaced})
            return
        self.read = {entity.key: entity for entity in scene}
        if len(self.read) != len(scene):
            self._scene = [*self.read.values()]

    def complete(self, named: list[Entity]) -> None:
        """Add the components that only events name; find the fields that have changed."""
        read, more = self._joined or (None, [])
        if read is self.read and more == named:
            before = {it.key[0]: [*self.by_kind[it.key[0]]] for it in self.replaced}
            for it in self.replaced:
                self.entities[it.key] = self.by_kind[it.key[0]][self._places[it.key]] = it
        else:
            before, self._joined = self.by_kind, (self.read, named)
            self.entities = self.read | {it.key: it for it in named}
            self._group()
            before = dict.fromkeys(self.by_kind, NOTHING) | before
        self.new, self.changed, self.rules = {}, set(), set()
        for kind, known in before.items():
            changed = self._changed(kind, known, self.by_kind.get(kind, NOTHING))
            readers = self._readers.get(kind, {})
            for name in changed:
                self.changed.add((kind, name))
                self.rules.update(readers.get(name, ()))

    def columns(self, kind: str) -> Columns:
        """Return the fields of all components of a kind, in their order."""
        return self._columns.get(kind, {})

    def _group(self) -> None:
        self.by_kind, self._places = {}, {}
        for key, entity in self.entities.items():
            group = self.by_kind.setdefault(key[0], [])
            self._places[key] = len(group)
            group.append(entity)

    def _changed(self, kind: str, before: list[Entity], found: list[Entity]) -> Iterable[str]:
        """Return the fields that differ, "" if the components do; only new objects are read."""
        names = self._readers.get(kind, ())
        if len(before) != len(found):
            fields = [entity.fields for entity in found]
            self._columns[kind] = {name: _column(name, fields) for name in names if name}
            return names
        new = _replaced(before, found)
        fields = [found[at].fields for at in new]
        changed = []
        if [_who(before[at]) for at in new] != [_who(found[at]) for at in new]:
            changed.append("")
        else:
            self.new[kind] = [found[at] for at in new]
        for name, column in self._columns[kind].items():
            values = _column(name, fields)
            if column is None or values is None:
                self._columns[kind][name] = _column(name, [entity.fields for entity in found])
                changed.append(name)
            elif values != [column[at] for at in new]:
                for at, value in zip(new, values, strict=True):
                    column[at] = value
                changed.append(name)
        return changed


def _replaced(before: Sequence[Entity], now: Sequence[Entity]) -> Sequence[int]:
    """Return the places of the components that are not the objects that were there before."""
    if before is now:
        return ()
    if len(before) != len(now):
        return range(len(now))
    pairs = enumerate(zip(before, now, strict=True))
    return [at for at, (old, new) in pairs if old is not new]


def _who(entity: Entity) -> object:
    """Return all of a component but its fields."""
    return entity.key, entity.name, entity.addresses, entity.is_fresh, entity.untold


def _column(name: str, fields: Iterable[Fields]) -> list[Value] | None:
    """Return the field of each component; None if it cannot be read."""
    try:
        return [each.get(name) for each in fields]
    except Exception:  # noqa: BLE001 - the rules that read the field fail as well, and are named
        return None
