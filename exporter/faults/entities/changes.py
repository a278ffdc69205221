"""Notes when what a rule reads has changed: a rule that reads other fields keeps its answer."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from exporter.faults.values import Entity, Fields, Place, Value

Columns: TypeAlias = Mapping[str, list[Value] | None]
"""The values of each field, in the order of the components; None where one cannot be read."""

NOTHING: list[Entity] = []
"""The components of a kind of which there are none, the same at each look."""


class FieldChanges:
    """For each rule the last look at which something that the rule reads had changed."""

    def __init__(self) -> None:
        self._looks = 0
        self._readers: dict[str, dict[str, list[str]]] = {}  # rules, by kind and field
        self._found: dict[str, list[Entity]] = {}
        self._who: dict[str, list[object]] = {}
        self._columns: dict[str, Columns] = {}
        self._last: dict[str, int] = {}

    def learn(self, reads: Mapping[str, Iterable[Place]], more: Iterable[Place]) -> None:
        """Note the fields that each rule reads, by the rule's id, and further fields.

        All fields count as changed at the next look.
        """
        self._looks += 1
        self._last = dict.fromkeys(reads, self._looks)
        self._readers, self._found, self._who, self._columns = {}, {}, {}, {}
        for kind, name in more:
            self._readers.setdefault(kind, {}).setdefault(name, [])
        for rule, places in reads.items():
            for kind, name in places:
                self._readers.setdefault(kind, {}).setdefault(name, []).append(rule)

    def look(self, by_kind: Mapping[str, list[Entity]]) -> None:
        """Compare the components with those of the last look."""
        self._looks += 1
        for kind, readers in self._readers.items():
            found = by_kind.get(kind, NOTHING)
            if found is not self._found.get(kind):
                self._found[kind] = found
                self._compare(kind, readers, found)

    def last(self, rule: str) -> int:
        """Return the number of the look at which the rule of this id read something new."""
        return self._last[rule]

    def columns(self, kind: str) -> Columns:
        """Return the fields of all components of a kind, in their order."""
        return self._columns.get(kind, {})

    def _compare(
        self, kind: str, readers: Mapping[str, Iterable[str]], found: list[Entity]
    ) -> None:
        who: list[object] = [(e.key, e.name, e.addresses, e.is_fresh, e.untold) for e in found]
        fields = [entity.fields for entity in found]
        columns = {name: _column(name, fields) for name in readers if name}
        before = self._columns.get(kind, {})
        changed = [name for name, now in columns.items() if now is None or now != before.get(name)]
        if who != self._who.get(kind):
            changed.append("")
        for name in changed:
            self._last.update(dict.fromkeys(readers.get(name, ()), self._looks))
        self._who[kind], self._columns[kind] = who, columns


def _column(name: str, fields: Iterable[Fields]) -> list[Value] | None:
    """Return the field of each component; None if it cannot be read."""
    try:
        return [each.get(name) for each in fields]
    except Exception:  # noqa: BLE001 - the rules that read the field fail as well, and are named
        return None
