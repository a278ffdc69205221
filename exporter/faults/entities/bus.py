"""PCIe devices, the ports above them, and InfiniBand ports as entities."""

from collections.abc import Iterable

from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.values import Address, Entity, FieldType, Type, Value
from exporter.model.gpu import Gpus
from exporter.model.infiniband import Infiniband, InfinibandPort
from exporter.model.network import Network
from exporter.model.pci import pci_address
from exporter.model.pcie import Pcie, PcieDevice
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge, Key

_PCIE_GETTERS = getters_of(PcieDevice)
_PORT_GETTERS = getters_of(InfinibandPort)
_PORT_NAMES = {
    "rdma_events" if name == "events" else name: found
    for name, found in names_of(InfinibandPort).items()
}
"""The fields of a port; `events` is a function in rules."""


class _PortFields:
    """The fields of one port, what RDMA counted under a name of its own."""

    __slots__ = ("_values",)

    def __init__(self, port: InfinibandPort) -> None:
        self._values = FieldsOf(port, _PORT_GETTERS)

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when it was not said."""
        return self._values.get(name.removeprefix("rdma_"))


def _devices(snapshot: Snapshot) -> Iterable[Entity]:
    pcie = snapshot.reading(Pcie)
    for device in pcie.devices if pcie else ():
        key = ("pcie", device.device)
        yield Entity(key, device.device, FieldsOf(device, _PCIE_GETTERS), (key,))


def _bus(snapshot: Snapshot) -> Iterable[Edge]:
    """Which device is below which port, and which GPU, card or port is which device."""
    pcie = snapshot.reading(Pcie)
    known = {device.device for device in pcie.devices} if pcie else set()
    for device in pcie.devices if pcie else ():
        if device.parent:
            yield Edge("below", ("pcie", device.device), ("pcie", device.parent))
    for key, address in _users(snapshot):
        if address in known:
            yield Edge("part_of", key, ("pcie", address))


def _users(snapshot: Snapshot) -> Iterable[tuple[Key, str | None]]:
    gpus, network = snapshot.reading(Gpus), snapshot.reading(Network)
    for state in gpus.states if gpus else ():
        yield ("gpu", state.gpu.uuid), pci_address(state.gpu.pci_bus_id)
    for interface in network.interfaces if network else ():
        yield ("nic", interface.device), pci_address(interface.pci_bus_id)
    ports = snapshot.reading(Infiniband)
    for port in ports.ports if ports else ():
        yield ("ib_port", _port_id(port)), pci_address(port.pci_bus_id)


def _carried(snapshot: Snapshot) -> Iterable[Edge]:
    """Which RoCE port is the network interface on the same PCI function."""
    ports, network = snapshot.reading(Infiniband), snapshot.reading(Network)
    devices: dict[str, str] = {}
    for interface in network.interfaces if network else ():
        if interface.pci_bus_id:
            devices.setdefault(interface.pci_bus_id, interface.device)
    for port in ports.ports if ports else ():
        device = devices.get(port.pci_bus_id or "")
        if device and port.link_layer == "Ethernet":
            yield Edge("part_of", ("ib_port", _port_id(port)), ("nic", device))


def _port_id(port: InfinibandPort) -> str:
    return f"{port.device}/{port.port}"


def _ports(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(Infiniband)
    for port in reading.ports if reading else ():
        addresses: list[Address] = [("network", _port_id(port))]
        pci = pci_address(port.pci_bus_id)
        if pci:
            addresses.append(("network", pci))
        name = _port_id(port)
        yield Entity(("ib_port", name), name, _PortFields(port), tuple(addresses))


PCIE = Kind(
    "pcie",
    "pcie",
    names_of(PcieDevice) | {"errors_by_severity": FieldType(Type.NUMBER, is_labeled=True)},
    _devices,
    Pcie,
    relate=_bus,
)
IB_PORT = Kind(
    "ib_port",
    "network",
    _PORT_NAMES,
    _ports,
    Infiniband,
    related={"node": "node", "pcie": "pcie"},
    relate=_carried,
)
