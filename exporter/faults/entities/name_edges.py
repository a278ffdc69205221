"""Relations by name, for components that are known only from events."""

import re
from collections.abc import Iterable, Iterator, Mapping

from exporter.faults.values import Entity
from exporter.model.disk import whole_disk
from exporter.model.verdict import Edge, Key

ON_THE_BUS = ("gpu", "nic", "ib_port", "disk")
_NAMESPACE = re.compile(r"(nvme\d+)n\d+")


def name_edges(
    entities: Mapping[Key, Entity], by_kind: Mapping[str, Iterable[Entity]]
) -> Iterator[Edge]:
    """Join a component to the PCI device whose address it has, a filesystem to its disk.

    Disks are also known by the name of their controller: nvme1n1 is part of nvme1. A port of
    InfiniBand is part of the adapter at its address.
    """
    for part, whole in _named(by_kind):
        if whole in entities:
            yield Edge("part_of", part.key, whole)


def _named(by_kind: Mapping[str, Iterable[Entity]]) -> Iterator[tuple[Entity, Key]]:
    """Each component with the keys of what it would be part of."""
    for kind in ON_THE_BUS:
        for entity in by_kind.get(kind, ()):
            for _, name in entity.addresses:
                yield entity, ("pcie", name)
    yield from _ports_of_adapters(by_kind)
    for filesystem in by_kind.get("filesystem", ()):
        for _, name in filesystem.addresses:
            yield filesystem, ("disk", whole_disk(name))
    for disk in by_kind.get("disk", ()):
        match = _NAMESPACE.fullmatch(disk.key[1])
        if match:
            yield disk, ("disk", match[1])


def _ports_of_adapters(by_kind: Mapping[str, Iterable[Entity]]) -> Iterator[tuple[Entity, Key]]:
    adapters = {name: nic.key for nic in by_kind.get("nic", ()) for name in nic.addresses}
    for port in by_kind.get("ib_port", ()):
        yield from ((port, adapters[name]) for name in port.addresses if name in adapters)
