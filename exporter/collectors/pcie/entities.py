"""PCIe devices, the ports above them, and InfiniBand ports as entities."""

from collections.abc import Iterable, Iterator

from exporter.collectors.pcie.values import Pcie, PcieDevice
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.entities.node import NodeField, NodeFields, field_of
from exporter.faults.subject import KnownEntities
from exporter.faults.values import Entity, Type, Value
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge

_PCIE_GETTERS = getters_of(PcieDevice)


def _devices(snapshot: Snapshot) -> Iterable[Entity]:
    pcie = snapshot.reading(Pcie)
    for device in pcie.devices if pcie else ():
        key = ("pcie", device.device)
        yield Entity(key, device.device, FieldsOf(device, _PCIE_GETTERS), (key,))


def _bus(snapshot: Snapshot) -> Iterable[Edge]:
    """Yield which device is below which port."""
    pcie = snapshot.reading(Pcie)
    for device in pcie.devices if pcie else ():
        if device.parent:
            yield Edge("below", ("pcie", device.device), ("pcie", device.parent))


PCIE = Kind(
    "pcie",
    "pcie",
    names_of(PcieDevice),
    _devices,
    Pcie,
    relate=_bus,
    is_on_a_bus=True,
    graph_word="pcie_port",
)


def _on_bus(kind: str) -> NodeField:
    """Count the devices of a kind: also those that are given to a virtual machine are there.

    Adapters that a hypervisor attaches are not counted: they come and go on request.
    """

    def count(pcie: Pcie) -> Value:
        devices = (device for device in pcie.devices if device.kind == kind)
        return sum(not device.comes_and_goes for device in devices)

    return field_of(Type.NUMBER, Pcie, count)


def _passed_through_gpus(pcie: Pcie) -> Value:
    return sum(device.kind == "gpu" and device.is_passed_through for device in pcie.devices)


FIELDS = NodeFields(
    computed={
        "network_pci_count": _on_bus("network"),
        "nvme_pci_count": _on_bus("nvme"),
        "gpu_passthrough_count": field_of(Type.NUMBER, Pcie, _passed_through_gpus),
        "gpu_unbound_count": field_of(
            Type.NUMBER, Pcie, lambda pcie: sum(gpu.is_unbound_gpu for gpu in pcie.devices)
        ),
    }
)

ON_THE_BUS = ("gpu", "nic", "ib_port", "disk")


def on_the_bus(known: KnownEntities) -> Iterator[Edge]:
    """Join a component to the PCIe device whose address it has."""
    for kind in ON_THE_BUS:
        for entity in known.by_kind.get(kind, ()):
            for _, name in entity.addresses:
                if ("pcie", name) in known.entities:
                    yield Edge("part_of", entity.key, ("pcie", name))
