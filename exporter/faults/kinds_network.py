"""Network interfaces as entities, known by their name and by their PCI address."""

from collections.abc import Iterable

from exporter.faults.entities import Address, Entity, FieldsOf
from exporter.faults.kind import Kind, getters_of
from exporter.faults.vocabulary import names_of
from exporter.model.network import Interface, Network
from exporter.model.pci import pci_address
from exporter.model.snapshot import Snapshot

_GETTERS = getters_of(Interface)


def _interfaces(snapshot: Snapshot) -> Iterable[Entity]:
    network = snapshot.reading(Network)
    for interface in network.interfaces if network else ():
        addresses: list[Address] = [("network", interface.device)]
        pci = pci_address(interface.pci_bus_id or "")
        if pci:
            addresses.append(("network", pci))
        fields = FieldsOf(interface, _GETTERS)
        yield Entity(("nic", interface.device), interface.device, fields, tuple(addresses))


NIC = Kind(
    "nic",
    "network",
    names_of(Interface),
    _interfaces,
    Network,
    kin={"node": "node", "pcie": "pcie"},
)
