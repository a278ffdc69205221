"""Notes when what a rule reads has changed: a rule that reads other fields keeps its answer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from exporter.faults.values import Entity, Fields, Place, Value

Columns: TypeAlias = dict[str, list[Value] | None]
"""The values of each field, in the order of the components; None where one cannot be read."""

NOTHING: list[Entity] = []
"""The components of a kind of which there are none, the same at each look."""


class FieldChanges:
    """What had changed at the last look.

    `rules` are the ids of rules that read something else. `new` are, by kind, the components that
    are other objects; only of kinds whose components are the same ones.
    """

    def __init__(self) -> None:
        self.rules: set[str] = set()
        self.new: dict[str, list[Entity]] = {}
        self._readers: dict[str, dict[str, list[str]]] = {}  # rules, by kind and field
        self._found: dict[str, list[Entity]] = {}
        self._columns: dict[str, Columns] = {}

    def learn(self, reads: Mapping[str, Iterable[Place]], more: Iterable[Place]) -> None:
        """Note the fields that each rule reads, by the rule's id, and further fields.

        All fields count as changed at the next look.
        """
        self._readers, self._found, self._columns = {}, {}, {}
        for kind, name in more:
            self._readers.setdefault(kind, {}).setdefault(name, [])
        for rule, places in reads.items():
            for kind, name in places:
                self._readers.setdefault(kind, {}).setdefault(name, []).append(rule)

    def look(self, by_kind: Mapping[str, list[Entity]]) -> None:
        """Compare the components with those of the last look."""
        self.rules, self.new = set(), {}
        for kind, readers in self._readers.items():
            before, found = self._found.get(kind), by_kind.get(kind, NOTHING)
            if found is not before:
                self._found[kind] = found
                changed = self._changed(kind, readers, before, found)
                self.rules.update(rule for name in changed for rule in readers.get(name, ()))

    def columns(self, kind: str) -> Columns:
        """Return the fields of all components of a kind, in their order."""
        return self._columns.get(kind, {})

    def _changed(
        self, kind: str, names: Iterable[str], before: list[Entity] | None, found: list[Entity]
    ) -> list[str]:
        """Return the fields that differ, "" if the components do; only new objects are read."""
        if before is None or len(before) != len(found):
            fields = [entity.fields for entity in found]
            self._columns[kind] = {name: _column(name, fields) for name in names if name}
            return [*names, ""]
        new = replaced(before, found)
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


def replaced(before: Sequence[Entity], now: Sequence[Entity]) -> Sequence[int]:
    """Return the places of the components that are not the objects that were there before."""
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
