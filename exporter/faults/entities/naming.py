"""Names components: each has a subject, under which pages and alerts speak of it."""

from collections.abc import Iterable, Mapping, Sequence

from exporter.faults.entities.changes import replaced
from exporter.faults.last_made import LastMade
from exporter.faults.values import Entity
from exporter.model.verdict import Key, Subject


class SubjectIndex:
    """The subjects of all components, by key; `hw_types` are the types in labels by kind."""

    def __init__(self, hw_types: Mapping[str, str]) -> None:
        self._hw_types = hw_types
        self._known: dict[Key, Subject] = {}
        self._all: LastMade[dict[Key, Subject]] = LastMade()
        self._by_kind: dict[str, tuple[list[Entity], dict[Key, Subject]]] = {}

    def take(self, by_kind: Mapping[str, list[Entity]], mentioned: Sequence[Key]) -> bool:
        """Name the components by kind; return whether a subject has changed.

        Of components that are gone only the mentioned ones are kept.
        """
        for kind, entities in by_kind.items():
            if kind not in self._by_kind or self._by_kind[kind][0] is not entities:
                self._by_kind[kind] = (entities, self._named(kind, entities))
        known = self._known
        self._known = self._all.made(
            ([self._by_kind[kind][1] for kind in by_kind], mentioned),
            lambda: self._joined(by_kind, mentioned),
        )
        return self._known is not known and self._known != known

    def _joined(self, by_kind: Iterable[str], mentioned: Iterable[Key]) -> dict[Key, Subject]:
        """Return the subjects of these kinds, and of the mentioned components that are gone."""
        fresh: dict[Key, Subject] = {}
        for kind in by_kind:
            fresh |= self._by_kind[kind][1]
        for key in mentioned:
            if key not in fresh and key in self._known:
                fresh[key] = self._known[key]
        return fresh

    def of(self, key: Key) -> Subject:
        """Return the subject of a component, by its id where its name is not known."""
        return self._known.get(key) or self._made(key, key[1])

    def _named(self, kind: str, entities: list[Entity]) -> dict[Key, Subject]:
        """Name the components of a kind; a component that is the same object keeps its subject."""
        before, names = self._by_kind.get(kind, ([], {}))
        new = [entities[place] for place in replaced(before, entities)]
        named = {it.key: self._name(it) for it in new}
        known = names if named.items() <= names.items() else names | named
        return known if len(known) == len(entities) else {it.key: self._name(it) for it in entities}

    def _name(self, entity: Entity) -> Subject:
        """Name one component; while its driver is reloaded only its id is known: keep the name."""
        known, key = self._known.get(entity.key), entity.key
        if known is None or entity.name not in (known.hw_name, key[1]):
            return self._made(key, entity.name)
        return known

    def _made(self, key: Key, name: str) -> Subject:
        return Subject(key[0], self._hw_types.get(key[0], key[0]), key[1], name)
