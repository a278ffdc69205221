"""Disks and filesystems as entities; a filesystem is part of the disk it lies on."""

import re
from collections.abc import Iterable

from exporter.faults.entities import Address, Edge, Entity, FieldsOf
from exporter.faults.kind import Kind, getters_of
from exporter.faults.vocabulary import names_of
from exporter.model.disk import Disk, Disks
from exporter.model.filesystem import Filesystem, Filesystems
from exporter.model.snapshot import Snapshot

_DISK_GETTERS = getters_of(Disk)
_FILESYSTEM_GETTERS = getters_of(Filesystem)
_PARTITION = re.compile(
    r"(?P<disk>(?:nvme\d+n\d+|mmcblk\d+|md\d+)(?=p\d)|(?:[shv]d|xvd)[a-z]+)p?\d*"
)
_NVME = re.compile(r"(nvme\d+)n\d+")


def disk_of(device: str) -> str:
    """The whole disk that a device is or is a partition of: nvme1n1 of /dev/nvme1n1p2."""
    name = device.removeprefix("/dev/")
    match = _PARTITION.fullmatch(name)
    return match["disk"] if match else name


def _disks(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(Disks)
    for disk in reading.disks if reading else ():
        addresses: list[Address] = [("physical_disk", disk.device)]
        controller = _NVME.fullmatch(disk.device)
        if controller:
            addresses.append(("physical_disk", controller[1]))
        fields = FieldsOf(disk, _DISK_GETTERS)
        yield Entity(("disk", disk.device), disk.device, fields, tuple(addresses))


def _filesystems(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(Filesystems)
    for filesystem in reading.filesystems if reading else ():
        mountpoint = filesystem.mountpoint
        addresses: tuple[Address, ...] = (
            ("logical_disk", mountpoint),
            ("logical_disk", filesystem.device.removeprefix("/dev/")),
        )
        fields = FieldsOf(filesystem, _FILESYSTEM_GETTERS)
        yield Entity(("filesystem", mountpoint), mountpoint, fields, addresses)


def _lies_on(snapshot: Snapshot) -> Iterable[Edge]:
    disks = snapshot.reading(Disks)
    known = {disk.device for disk in disks.disks} if disks else set()
    reading = snapshot.reading(Filesystems)
    for filesystem in reading.filesystems if reading else ():
        disk = disk_of(filesystem.device)
        if disk in known:
            yield Edge("part_of", ("filesystem", filesystem.mountpoint), ("disk", disk))


DISK = Kind("disk", "physical_disk", names_of(Disk), _disks, Disks)
FILESYSTEM = Kind(
    "filesystem",
    "logical_disk",
    names_of(Filesystem),
    _filesystems,
    Filesystems,
    kin={"node": "node", "disk": "disk"},
    relate=_lies_on,
    ends=True,
)
