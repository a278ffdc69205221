"""The hardware inventory of `/node`; unknown is null, an empty list is []."""

from typing import Any

from exporter.collectors.disk.values import Disks, Filesystems, MdArrays
from exporter.collectors.memory.values import MemoryErrors, NumaNodes
from exporter.collectors.network.affinity import nearest_nics
from exporter.collectors.network.values import Infiniband, Network
from exporter.collectors.pcie.values import Pcie, PcieDevice
from exporter.model.snapshot import Snapshot
from exporter.reports.fields import fields_of

INTERFACE = ("device", "up", "speed_bytes_per_second", "mtu", "driver", "pci_bus_id", "numa_node")
PORT = ("device", "port", "state", "link_layer", "rate_bytes_per_second", "pci_bus_id")
DISK = ("device", "size_bytes", "model", "serial", "firmware", "rotational", "transport")
FILESYSTEM = (
    *("mountpoint", "device", "fstype", "size_bytes"),
    *("available_bytes", "readonly", "unreachable"),
)
ARRAY = ("device", "level", "state", "active_disks", "failed_disks", "missing_disks")


def hardware(snapshot: Snapshot) -> dict[str, Any]:
    """Return the hardware fields of `/node`, which follow the older fields, in order."""
    numa, network = snapshot.reading(NumaNodes), snapshot.reading(Network)
    infiniband, disks = snapshot.reading(Infiniband), snapshot.reading(Disks)
    raid, memory = snapshot.reading(MdArrays), snapshot.reading(MemoryErrors)
    pcie = snapshot.reading(Pcie)
    return {
        "numa_nodes": [
            {"numa_node": int(node.numa_node), "memory_total_bytes": node.total_bytes}
            for node in (numa.nodes if numa else ())
        ],
        "memory_modules": [
            fields_of(dimm, "controller", "dimm", "size_bytes")
            for controller in (memory.controllers if memory else ())
            for dimm in controller.dimms
        ],
        "network_namespace": network.namespace if network else None,
        "network_interfaces": [
            fields_of(nic, *INTERFACE) for nic in (network.interfaces if network else ())
        ],
        "infiniband_ports": [
            fields_of(port, *PORT) for port in (infiniband.ports if infiniband else ())
        ],
        "gpu_nic_affinity": [
            {"gpu_uuid": near.gpu.uuid, **fields_of(near, "device", "rdma_device", "path")}
            for near in nearest_nics(snapshot)
        ],
        "disks": [fields_of(disk, *DISK) for disk in (disks.disks if disks else ())],
        "filesystems": filesystems(snapshot),
        "raid": [fields_of(array, *ARRAY) for array in (raid.arrays if raid else ())],
        "pcie_devices": [_pcie(device) for device in (pcie.devices if pcie else ())],
    }


def filesystems(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the mounted filesystems."""
    reading = snapshot.reading(Filesystems)
    return [fields_of(each, *FILESYSTEM) for each in (reading.filesystems if reading else ())]


def _pcie(device: PcieDevice) -> dict[str, Any]:
    return {
        "device": device.device,
        "class": device.kind,
        **fields_of(device, "parent", "slot", "numa_node", "width", "width_max"),
        "reduced": device.is_reduced,
    }
