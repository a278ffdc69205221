"""Aliases of components in events: PCI addresses, controllers, pod UIDs."""

from collections.abc import Iterable, Mapping

from exporter.faults.values import Address, Entity
from exporter.model.verdict import Key

MAX_NAMES = 20_000
NODE_KIND = "node"


class AliasIndex:
    """Remembers names also of what has gone; `kind_of` is the kind of entity by event type."""

    def __init__(self, kind_of: Mapping[str, str]) -> None:
        self._kind_of = kind_of
        self._keys: dict[Address, Key] = {}
        self._addresses: dict[Key, dict[Address, None]] = {}

    def add_all(self, entities: Iterable[Entity]) -> None:
        """Take in the names of these entities; the first to have a name keeps it."""
        for entity in entities:
            for address in entity.addresses:
                if address != entity.key:
                    self.add(address, entity.key)

    def add(self, address: Address, key: Key) -> None:
        """Remember that events about the address are about this entity."""
        self._addresses.setdefault(key, {})[address] = None
        self._keys.setdefault(address, key)
        if len(self._keys) > MAX_NAMES:
            oldest, owner = next(iter(self._keys.items()))
            del self._keys[oldest]
            self._addresses.pop(owner, None)

    def key_of(self, address: Address) -> Key | None:
        """Return what events with this address are about.

        None for the node and for unknown types.
        """
        known = self._keys.get(address)
        if known is not None:
            return known
        kind = self._kind_of.get(address[0])
        return None if kind in (None, NODE_KIND) else (str(kind), address[1])

    def known_key(self, address: Address) -> Key | None:
        """Return the entity that has this name, if one was ever seen."""
        return self._keys.get(address)

    def addresses_of(self, address: Address) -> tuple[Address, ...]:
        """All names of what this address is about, the address itself included."""
        key = self.key_of(address)
        if key is None:
            return (address,)
        return tuple(dict.fromkeys((address, key, *self._addresses.get(key, ()))))
