"""Repairs of network and InfiniBand ports, derived by comparing two readings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from exporter.collectors.network.values import Infiniband, Network
from exporter.collectors.pcie.values import pci_address
from exporter.faults.events.changes import turned_good
from exporter.faults.subject import Repair
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot


@dataclass(slots=True)
class PortRepairs:
    """Remembers the last look at each port."""

    _nics: dict[str, bool] = field(default_factory=dict)
    _ports: dict[str, bool] = field(default_factory=dict)

    def between(self, snapshot: Snapshot, _: Iterable[Event]) -> Iterable[Repair]:
        """Yield the ports that are up again."""
        for port in self._links(snapshot):
            yield "link_up", "network", port

    def _links(self, snapshot: Snapshot) -> Iterator[str]:
        """Find ports of adapters that were down, or taken away by their driver, and are up."""
        network, infiniband = snapshot.reading(Network), snapshot.reading(Infiniband)
        if network is not None:
            nics = [(nic.device, nic.pci_bus_id, nic.up) for nic in network.interfaces]
            yield from _came_up(self._nics, nics)
        if infiniband is not None:
            ports = [(f"{p.device}/{p.port}", p.pci_bus_id, p.up) for p in infiniband.ports]
            yield from _came_up(self._ports, ports)


def _came_up(
    known: dict[str, bool], ports: Iterable[tuple[str, str | None, bool | None]]
) -> Iterator[str]:
    """Yield the addresses of the ports that are up and were not; only adapters on PCI count."""
    found = {name: (address, is_up) for name, address, is_up in ports if address}
    states = {name: is_up for name, (_, is_up) in found.items() if is_up is not None}
    for name in turned_good(known, states):
        yield pci_address(found[name][0]) or name
