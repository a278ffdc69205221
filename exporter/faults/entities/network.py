"""Network interfaces as entities, known by their name and by their PCI address.

An InfiniBand adapter without an interface is one by the name of its device.
"""

from collections.abc import Iterable

from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.values import NO_FIELDS, Address, Entity
from exporter.model.infiniband import Infiniband
from exporter.model.network import Interface, Network
from exporter.model.pci import pci_address
from exporter.model.snapshot import Snapshot

_GETTERS = getters_of(Interface)


def _interfaces(snapshot: Snapshot) -> Iterable[Entity]:
    network = snapshot.reading(Network)
    for interface in network.interfaces if network else ():
        addresses: list[Address] = [("network", interface.device)]
        pci = pci_address(interface.pci_bus_id)
        if pci:
            addresses.append(("network", pci))
        fields = FieldsOf(interface, _GETTERS)
        yield Entity(("nic", interface.device), interface.device, fields, tuple(addresses))
    known = {pci_address(i.pci_bus_id) for i in (network.interfaces if network else ())}
    yield from _adapters(snapshot, known)


def _adapters(snapshot: Snapshot, known: set[str | None]) -> Iterable[Entity]:
    """Those of InfiniBand at other addresses than the known: only their driver speaks of them."""
    reading = snapshot.reading(Infiniband)
    for port in reading.ports if reading else ():
        pci = pci_address(port.pci_bus_id)
        if pci is not None and pci not in known:
            known.add(pci)
            yield Entity(("nic", port.device), port.device, NO_FIELDS, (("network", pci),))


NIC = Kind(
    "nic",
    "network",
    names_of(Interface),
    _interfaces,
    Network,
    related={"node": "node", "pcie": "pcie"},
)
