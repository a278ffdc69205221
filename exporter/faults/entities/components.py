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
    `makeup` is another object when there are other components, or one has another name or address.
    """

    def __init__(self) -> None:
        self.read: dict[Key, Entity] = {}
        self.entities: dict[Key, Entity] = {}
        self.by_kind: dict[str, list[Entity]] = {}
        self.replaced: list[Entity] = []
        self.new: dict[str, list[Entity]] = {}
        self.changed: set[Place] = set()
        self.rules: set[str] = set()
        self.makeup = object()
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
        self.new, self.changed, self.rules = {}, set(), set()
        if read is not self.read or more != named:
            self._joined, self.makeup = (self.read, named), object()
            self.entities = self.read | {it.key: it for it in named}
            before = self.by_kind
            self._group()
            for kind in before.keys() | self.by_kind.keys():
                self._compare(kind, before.get(kind, NOTHING))
            return
        others: dict[str, dict[int, Entity]] = {}  # by kind and place
        for it in self.replaced:
            group, place = self.by_kind[it.key[0]], self._places[it.key]
            others.setdefault(it.key[0], {})[place] = group[place]
            self.entities[it.key] = group[place] = it
        for kind, old in others.items():
            self._note(kind, self._changed(kind, old))

    def columns(self, kind: str) -> Columns:
        """Return the fields of all components of a kind, in their order."""
        return self._columns.get(kind, {})

    def _group(self) -> None:
        self.by_kind, self._places = {}, {}
        for key, entity in self.entities.items():
            group = self.by_kind.setdefault(key[0], [])
            self._places[key] = len(group)
            group.append(entity)

    def _compare(self, kind: str, before: list[Entity]) -> None:
        """Find the changed fields of a kind whose components are listed anew."""
        found = self.by_kind.get(kind, NOTHING)
        if len(before) != len(found):
            names = self._readers.get(kind, ())
            fields = [entity.fields for entity in found]
            self._columns[kind] = {name: _column(name, fields) for name in names if name}
            self._note(kind, names)
        elif at := _replaced(before, found):
            self._note(kind, self._changed(kind, {place: before[place] for place in at}))

    def _changed(self, kind: str, old: Mapping[int, Entity]) -> list[str]:
        """Return the fields that differ from those of the components that were in these places.

        The field is "" if the components differ. Only new objects are read.
        """
        group = self.by_kind[kind]
        now = [group[place] for place in old]
        fields = [entity.fields for entity in now]
        changed = []
        if [*map(_who, old.values())] != [*map(_who, now)]:
            changed.append("")
            self.makeup = object()
        else:
            self.new[kind] = now
        for name, column in self._columns.get(kind, {}).items():
            values = _column(name, fields)
            if column is None or values is None:
                self._columns[kind][name] = _column(name, [entity.fields for entity in group])
                changed.append(name)
            elif values != [column[place] for place in old]:
                for place, value in zip(old, values, strict=True):
                    column[place] = value
                changed.append(name)
        return changed

    def _note(self, kind: str, changed: Iterable[str]) -> None:
        readers = self._readers.get(kind, {})
        for name in changed:
            self.changed.add((kind, name))
            self.rules.update(readers.get(name, ()))


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
