"""Names components: each has a subject, under which pages and alerts speak of it."""

from collections.abc import Iterable, Mapping

from exporter.faults.entities.components import Components
from exporter.faults.values import Entity
from exporter.model.verdict import Key, Subject


class SubjectIndex:
    """The subjects of all components, by key; `hw_types` are the types in labels by kind."""

    def __init__(self, hw_types: Mapping[str, str]) -> None:
        self._hw_types = hw_types
        self._known: dict[Key, Subject] = {}
        self._gone: dict[Key, Subject] = {}
        self._entities: object = None  # of which the known subjects are

    def take(self, parts: Components, mentioned: Iterable[Key]) -> bool:
        """Name the components; return whether a subject has changed.

        Of components that are gone only the mentioned ones are kept.
        """
        known, gone = self._known, self._gone
        if self._entities is not parts.entities:
            self._entities = parts.entities
            self._known = {key: self._name(it) for key, it in parts.entities.items()}
        else:
            names = {it.key: self._name(it) for it in parts.replaced}
            other = {key: name for key, name in names.items() if name is not known.get(key)}
            self._known = known | other if other else known
        self._gone = {
            key: known.get(key) or gone[key]
            for key in mentioned
            if key not in self._known and (key in known or key in gone)
        }
        return (self._known, self._gone) != (known, gone)

    def of(self, key: Key) -> Subject:
        """Return the subject of a component, by its id where its name is not known."""
        return self._known.get(key) or self._gone.get(key) or self._made(key, key[1])

    def _name(self, entity: Entity) -> Subject:
        """Name one component; while its driver is reloaded only its id is known: keep the name."""
        key = entity.key
        known = self._known.get(key) or self._gone.get(key)
        if known is None or entity.name not in (known.hw_name, key[1]):
            return self._made(key, entity.name)
        return known

    def _made(self, key: Key, name: str) -> Subject:
        return Subject(key[0], self._hw_types.get(key[0], key[0]), key[1], name)
