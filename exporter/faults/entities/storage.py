"""Disks and filesystems as entities; a filesystem belongs to its disk."""

import re
from collections.abc import Iterable, Mapping

from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.entities.nvme_fields import NVME_NAMES, nvme_fields
from exporter.faults.values import Address, Entity, Value
from exporter.model.disk import Disk, Disks, whole_disk
from exporter.model.filesystem import Filesystem, Filesystems
from exporter.model.nvme import NvmeControllers
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge

_DISK_GETTERS = getters_of(Disk)
_FILESYSTEM_GETTERS = getters_of(Filesystem)
_NVME = re.compile(r"(nvme\d+)n\d+")
_MAPPER = "/dev/mapper/"


class _DiskFields:
    """The fields of a disk with those of its controller."""

    __slots__ = ("_of_controller", "_values")

    def __init__(self, disk: Disk, of_controller: Mapping[str, Value]) -> None:
        self._values = FieldsOf(disk, _DISK_GETTERS)
        self._of_controller = of_controller

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when it was not said."""
        if name in NVME_NAMES:
            return self._of_controller.get(name)
        return self._values.get(name)


def _disks(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(Disks)
    reported = nvme_fields(snapshot)
    for disk in reading.disks if reading else ():
        addresses: list[Address] = [("physical_disk", disk.device)]
        if disk.scsi_address:
            addresses.append(("physical_disk", disk.scsi_address))
        controller = _NVME.fullmatch(disk.device)
        if controller:
            addresses.append(("physical_disk", controller[1]))
        fields = _DiskFields(disk, reported.get(controller[1], {}) if controller else {})
        yield Entity(("disk", disk.device), disk.device, fields, tuple(addresses))


def _filesystems(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(Filesystems)
    kernel_names = _kernel_names(snapshot)
    for filesystem in reading.filesystems if reading else ():
        mountpoint, device = filesystem.mountpoint, filesystem.device
        addresses: tuple[Address, ...] = (
            ("logical_disk", mountpoint),
            ("logical_disk", kernel_names.get(device, device.removeprefix("/dev/"))),
        )
        fields = FieldsOf(filesystem, _FILESYSTEM_GETTERS)
        yield Entity(("filesystem", mountpoint), mountpoint, fields, addresses)


def _kernel_names(snapshot: Snapshot) -> Mapping[str, str]:
    """Return what the kernel log calls the devices of the device mapper: dm-0, by their paths."""
    disks = snapshot.reading(Disks)
    mapped = (disk for disk in disks.disks if disk.transport == "dm") if disks else ()
    return {f"{_MAPPER}{disk.model}": disk.device for disk in mapped}


def _lies_on(snapshot: Snapshot) -> Iterable[Edge]:
    disks = snapshot.reading(Disks)
    known = {disk.device for disk in disks.disks} if disks else set()
    for made in disks.disks if disks else ():
        for slave in {whole_disk(name) for name in made.slaves} & known:
            yield Edge("part_of", ("disk", made.device), ("disk", slave))
    reading = snapshot.reading(Filesystems)
    kernel_names = _kernel_names(snapshot)
    for filesystem in reading.filesystems if reading else ():
        disk = whole_disk(kernel_names.get(filesystem.device, filesystem.device))
        if disk in known:
            yield Edge("part_of", ("filesystem", filesystem.mountpoint), ("disk", disk))


def _sits_in(snapshot: Snapshot) -> Iterable[Edge]:
    """Which PCI device each NVMe disk is."""
    controllers, disks = snapshot.reading(NvmeControllers), snapshot.reading(Disks)
    for controller in controllers.controllers if controllers else ():
        for disk in disks.disks if disks and controller.pci_bus_id else ():
            match = _NVME.fullmatch(disk.device)
            if match and match[1] == controller.device:
                yield Edge("part_of", ("disk", disk.device), ("pcie", str(controller.pci_bus_id)))


DISK = Kind(
    "disk",
    "physical_disk",
    {**names_of(Disk), **NVME_NAMES},
    _disks,
    Disks,
    related={"node": "node", "pcie": "pcie"},
    relate=_sits_in,
)
FILESYSTEM = Kind(
    "filesystem",
    "logical_disk",
    names_of(Filesystem),
    _filesystems,
    Filesystems,
    related={"node": "node", "disk": "disk"},
    relate=_lies_on,
    ends=True,
)
