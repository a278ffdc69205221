"""Network interfaces and InfiniBand ports as components of rules, and their repairs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from exporter.collectors.network.affinity import gpus_near, nearest_nics
from exporter.collectors.network.values import (
    DriverCounters,
    Infiniband,
    InfinibandPort,
    Interface,
    Network,
    NetworkStack,
    NicCounters,
)
from exporter.collectors.pcie.address import pci_address
from exporter.faults.entities.kind import FieldsOf, FirstOf, Kind, getters_of, names_of
from exporter.faults.entities.node import NodeFields, field_of
from exporter.faults.events.changes import turned_good
from exporter.faults.subject import KnownEntities, Repair
from exporter.faults.values import NO_FIELDS, Address, Entity, FieldType, Type, Value
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge, Key, Naming
from exporter.record import dataclass

_GETTERS, _COUNTED = getters_of(Interface), getters_of(NicCounters)

NEAREST = {"nearest_gpus": FieldType(Type.TEXT)}
"""The GPUs that an adapter is nearest to, in words; None where there is none."""


def _interfaces(snapshot: Snapshot) -> Iterable[Entity]:
    network, counted = snapshot.reading(Network), snapshot.reading(DriverCounters)
    counters = {nic.device: FieldsOf(nic, _COUNTED) for nic in (counted.nics if counted else ())}
    gpus = gpus_near(snapshot)
    for interface in network.interfaces if network else ():
        pci = pci_address(interface.pci_bus_id)
        own = FieldsOf(interface, _GETTERS)
        near = {"nearest_gpus": gpus.get(pci or "")}
        fields = FirstOf(own, counters.get(interface.device, NO_FIELDS), near)
        addresses = _named(interface.device, pci)
        yield Entity(("nic", interface.device), interface.device, fields, addresses)
    known = {pci_address(i.pci_bus_id) for i in (network.interfaces if network else ())}
    yield from _adapters(snapshot, known)


def _adapters(snapshot: Snapshot, known: set[str | None]) -> Iterable[Entity]:
    """Those of InfiniBand at other addresses than the known: only their driver speaks of them."""
    reading = snapshot.reading(Infiniband)
    ports = reading.ports if reading else ()
    for port in ports:
        pci = pci_address(port.pci_bus_id)
        if pci is not None and pci not in known:
            known.add(pci)
            links = [it.link_was_up for it in ports if it.pci_bus_id == port.pci_bus_id]
            had_link = None if None in links else any(links)
            yield Entity(("nic", port.device), port.device, {"link_was_up": had_link}, _named(pci))


def _named(*names: str | None) -> tuple[Address, ...]:
    """Return the names in events that are known: the device, and its PCI address."""
    return tuple(("network", name) for name in names if name)


NIC = Kind(
    "nic",
    "network",
    names_of(Interface) | names_of(NicCounters) | NEAREST,
    _interfaces,
    Network,
    related={"node": "node", "pcie": "pcie"},
    naming=Naming("interfaces"),
)


_PORT_GETTERS = getters_of(InfinibandPort)
_PORT_NAMES = names_of(InfinibandPort) | NEAREST
del _PORT_NAMES["events"]  # `rdma_events` in rules, where `events` is a function


def _carried(snapshot: Snapshot) -> Iterable[Edge]:
    """Yield the RoCE port on the same PCI function as a network interface."""
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
    reading, gpus = snapshot.reading(Infiniband), gpus_near(snapshot)
    for port in reading.ports if reading else ():
        name, pci = _port_id(port), pci_address(port.pci_bus_id)
        fields = FirstOf(FieldsOf(port, _PORT_GETTERS), {"nearest_gpus": gpus.get(pci or "")})
        yield Entity(("ib_port", name), name, fields, _named(name, pci))


IB_PORT = Kind(
    "ib_port",
    "network",
    _PORT_NAMES,
    _ports,
    Infiniband,
    related={"node": "node", "pcie": "pcie", "nic": "nic"},
    relate=_carried,
)


def _count(network: Network) -> Value:
    """Count the node's own interfaces; None if only those of a pod are visible."""
    is_whole = network.namespace == "host" and not network.truncated
    return len(network.interfaces) if is_whole else None


FIELDS = NodeFields(
    readings=(("", NetworkStack),),
    computed={"interface_count": field_of(Type.NUMBER, Network, _count)},
)


def adapters_near(snapshot: Snapshot) -> Mapping[str, list[Key]]:
    """Return the adapters nearest to each GPU and their InfiniBand ports, by UUID of the GPU."""
    reading = snapshot.reading(Infiniband)
    ports: defaultdict[str | None, list[Key]] = defaultdict(list)
    for port in reading.ports if reading else ():
        ports[pci_address(port.pci_bus_id)].append(("ib_port", _port_id(port)))
    found: defaultdict[str, list[Key]] = defaultdict(list)
    for near in nearest_nics(snapshot):
        nic = ("nic", near.device or near.rdma_device or "")
        found[near.gpu.uuid] += [nic, *ports[near.address]]
    return found


def adapters_of_ports(known: KnownEntities) -> Iterator[Edge]:
    """Join an InfiniBand port to the adapter at its address."""
    nics = known.by_kind.get("nic", ())
    adapters = {name: nic.key for nic in nics for name in nic.addresses}
    for port in known.by_kind.get("ib_port", ()):
        for name in port.addresses:
            if name in adapters:
                yield Edge("part_of", port.key, adapters[name])


@dataclass(slots=True)
class PortRepairs:
    """Remembers the last state of each port."""

    _nics: dict[str, bool] = field(default_factory=dict)
    _ports: dict[str, bool] = field(default_factory=dict)

    def between(self, snapshot: Snapshot, _: Iterable[Event]) -> Iterable[Repair]:
        """Yield ports of adapters that were down, or removed by their driver, and are up."""
        network, infiniband = snapshot.reading(Network), snapshot.reading(Infiniband)
        if network is not None:
            nics = [(nic.device, nic.pci_bus_id, nic.up) for nic in network.interfaces]
            yield from _came_up(self._nics, nics)
        if infiniband is not None:
            ports = [(_port_id(p), p.pci_bus_id, p.up) for p in infiniband.ports]
            yield from _came_up(self._ports, ports)


def _came_up(
    known: dict[str, bool], ports: Iterable[tuple[str, str | None, bool | None]]
) -> Iterator[Repair]:
    """Yield the ports that are up and were not, by address; only adapters on PCI count."""
    found = {name: (address, is_up) for name, address, is_up in ports if address}
    states = {name: is_up for name, (_, is_up) in found.items() if is_up is not None}
    for name in turned_good(known, states):
        yield "link_up", "network", pci_address(found[name][0]) or name
