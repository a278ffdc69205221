"""Which network adapters are nearest to each GPU, by the PCIe devices between them.

The words are those of `nvidia-smi topo -m`. Two devices below one PCIe switch are PIX, below
several switches PXB; both under one host bridge PHB; else on one NUMA node NODE, on two SYS.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

from exporter.collectors.gpu.labels import states
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.network.values import Infiniband, Network
from exporter.collectors.pcie.address import pci_address
from exporter.collectors.pcie.values import Pcie
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass

Place: TypeAlias = tuple[str, str | None, int | None]
"""A PCI device: its address, that of the port above it, and its NUMA node."""

PATHS = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""From near to far."""
MAX_PORTS_OF_A_SWITCH = 2
"""From a device to the upstream port of its switch: the downstream port, and that port."""
MAX_NEAREST = 4
"""Of adapters that are equally near to a GPU no more are named."""


@dataclass(frozen=True, slots=True)
class NearNic:
    """A network adapter that is nearest to a GPU; `device` is its interface, None without one."""

    gpu: Gpu
    device: str | None
    rdma_device: str | None  # None for an adapter without RDMA
    address: str
    path: str


def nearest_nics(snapshot: Snapshot) -> tuple[NearNic, ...]:
    """Return the nearest adapters of every GPU; none for a GPU whose place is not known.

    Where an adapter of the node has RDMA, adapters without it are not compared.
    """
    pcie = snapshot.reading(Pcie)
    adapters = _adapters(snapshot)
    if pcie is None or not adapters:
        return ()
    gpus = [state.gpu for state in states(snapshot)]
    tree = tuple((each.device, each.parent, each.numa_node) for each in pcie.devices)
    nearest = _nearest(
        tuple(pci_address(gpu.pci_bus_id) or "" for gpu in gpus), tuple(adapters), tree
    )
    return tuple(
        NearNic(gpu, *adapters[nic], nic, path)
        for gpu, found in zip(gpus, nearest, strict=True)
        for nic, path in found
    )


def gpus_near(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the GPUs that each adapter is nearest to, in words, by its PCI address."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    for near in nearest_nics(snapshot):
        numbers[near.address].append(str(near.gpu.index))
    return {
        address: f"{'GPU' if len(found) == 1 else 'GPUs'} {', '.join(found)}"
        for address, found in numbers.items()
    }


def _adapters(snapshot: Snapshot) -> dict[str, tuple[str | None, str | None]]:
    """Return the interface and the RDMA device at each PCI address; with RDMA if any has that."""
    network, infiniband = snapshot.reading(Network), snapshot.reading(Infiniband)
    interfaces: dict[str, str] = {}
    for nic in network.interfaces if network else ():
        interfaces.setdefault(pci_address(nic.pci_bus_id) or "", nic.device)
    rdma: dict[str, str] = {}
    for port in infiniband.ports if infiniband else ():
        rdma.setdefault(pci_address(port.pci_bus_id) or "", port.device)
    return {
        address: (interfaces.get(address), rdma.get(address))
        for address in rdma or interfaces
        if address
    }


@lru_cache(maxsize=4)
def _nearest(
    gpus: tuple[str, ...], nics: tuple[str, ...], tree: tuple[Place, ...]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return the nearest adapters of each GPU, with the path to them; all by PCI address.

    Hardly ever anything of it changes, and several ask for it at each collection.
    """
    devices = {place[0]: place for place in tree}
    found = []
    for gpu in gpus:
        near = [
            (*distance, nic)
            for nic in nics
            if gpu in devices and nic in devices
            if (distance := _distance(gpu, nic, devices))
        ]
        best = min(near)[:2] if near else None
        same = [nic for rank, ports, nic in sorted(near) if (rank, ports) == best]
        found.append(tuple((nic, PATHS[best[0]]) for nic in same[:MAX_NEAREST] if best))
    return tuple(found)


def _distance(gpu: str, nic: str, devices: Mapping[str, Place]) -> tuple[int, int] | None:
    """Return the place among `PATHS`, and how many ports are between; None where not known."""
    up, down = _way_up(gpu, devices), _way_up(nic, devices)
    shared = next((port for port in up if port in down), None)
    if shared is not None:
        steps = up.index(shared), down.index(shared)
        return int(max(steps) > MAX_PORTS_OF_A_SWITCH), sum(steps)
    if _bus(up[-1]) == _bus(down[-1]):
        return 2, 0
    nodes = devices[gpu][2], devices[nic][2]
    return None if None in nodes else (3 + int(nodes[0] != nodes[1]), 0)


def _way_up(address: str, devices: Mapping[str, Place]) -> list[str]:
    """Return the device and the ports above it, the nearest to the processor last."""
    way = [address]
    while (place := devices.get(way[-1])) and place[1] and place[1] not in way:
        way.append(place[1])
    return way


def _bus(address: str) -> str:
    return address.rpartition(":")[0]
