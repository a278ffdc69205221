"""What `/node` says of the hardware around the GPUs; unknown is null, nothing of a kind is []."""

from typing import Any

from exporter.model.disk import Disk, Disks
from exporter.model.filesystem import Filesystem, Filesystems
from exporter.model.infiniband import Infiniband, InfinibandPort
from exporter.model.memory_errors import MemoryErrors
from exporter.model.network import Interface, Network
from exporter.model.node import NumaNodes
from exporter.model.pcie import Pcie, PcieDevice
from exporter.model.raid import MdArray, MdArrays
from exporter.model.snapshot import Snapshot


def hardware(snapshot: Snapshot) -> dict[str, Any]:
    """Return the fields behind the older ones, in their order."""
    numa, network = snapshot.reading(NumaNodes), snapshot.reading(Network)
    infiniband, disks = snapshot.reading(Infiniband), snapshot.reading(Disks)
    filesystems, raid = snapshot.reading(Filesystems), snapshot.reading(MdArrays)
    memory, pcie = snapshot.reading(MemoryErrors), snapshot.reading(Pcie)
    return {
        "numa_nodes": [
            {"numa_node": int(node.numa_node), "memory_total_bytes": node.total_bytes}
            for node in (numa.nodes if numa else ())
        ],
        "memory_modules": [
            {"controller": dimm.controller, "dimm": dimm.dimm, "size_bytes": dimm.size_bytes}
            for controller in (memory.controllers if memory else ())
            for dimm in controller.dimms
        ],
        "network_namespace": network.namespace if network else None,
        "network_interfaces": [_interface(nic) for nic in (network.interfaces if network else ())],
        "infiniband_ports": [_port(port) for port in (infiniband.ports if infiniband else ())],
        "disks": [_disk(disk) for disk in (disks.disks if disks else ())],
        "filesystems": [_filesystem(fs) for fs in (filesystems.filesystems if filesystems else ())],
        "raid": [_array(array) for array in (raid.arrays if raid else ())],
        "pcie_devices": [_pcie(device) for device in (pcie.devices if pcie else ())],
    }


def _interface(nic: Interface) -> dict[str, Any]:
    return {
        "device": nic.device,
        "up": nic.up,
        "speed_bytes_per_second": nic.speed_bytes_per_second,
        "mtu": nic.mtu,
        "driver": nic.driver,
        "pci_bus_id": nic.pci_bus_id,
        "numa_node": nic.numa_node,
    }


def _port(port: InfinibandPort) -> dict[str, Any]:
    return {
        "device": port.device,
        "port": port.port,
        "state": port.state,
        "link_layer": port.link_layer,
        "rate_bytes_per_second": port.rate_bytes_per_second,
        "pci_bus_id": port.pci_bus_id,
    }


def _disk(disk: Disk) -> dict[str, Any]:
    return {
        "device": disk.device,
        "size_bytes": disk.size_bytes,
        "model": disk.model,
        "serial": disk.serial,
        "firmware": disk.firmware,
        "rotational": disk.rotational,
        "transport": disk.transport,
    }


def _filesystem(filesystem: Filesystem) -> dict[str, Any]:
    return {
        "mountpoint": filesystem.mountpoint,
        "device": filesystem.device,
        "fstype": filesystem.fstype,
        "size_bytes": filesystem.size_bytes,
        "available_bytes": filesystem.available_bytes,
        "readonly": filesystem.readonly,
        "unreachable": filesystem.unreachable,
    }


def _array(array: MdArray) -> dict[str, Any]:
    return {
        "device": array.device,
        "level": array.level,
        "state": array.state,
        "active_disks": array.active_disks,
        "failed_disks": array.failed_disks,
        "missing_disks": array.missing_disks,
    }


def _pcie(device: PcieDevice) -> dict[str, Any]:
    return {
        "device": device.device,
        "class": device.kind,
        "parent": device.parent,
        "slot": device.slot,
        "numa_node": device.numa_node,
        "width": device.width,
        "width_max": device.width_max,
        "reduced": device.is_reduced,
    }
