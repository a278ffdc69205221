"""Disks, filesystems, RAID arrays and NFS servers as components of rules."""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter

from exporter.collectors.disk.values import (
    Disk,
    Disks,
    Filesystem,
    Filesystems,
    MdArray,
    MdArrays,
    NvmeControllers,
    NvmeHealth,
    NvmeHealths,
    whole_disk,
)
from exporter.collectors.sensors.values import Sensors
from exporter.faults.entities.kind import FieldsOf, FirstOf, Kind, getters_of, names_of
from exporter.faults.entities.node import NodeField, NodeFields, field_of
from exporter.faults.events.query import MAX_WINDOW_SECS, Events
from exporter.faults.subject import KnownEntities
from exporter.faults.values import NO_FIELDS, Address, Entity, FieldType, Type, Value
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge, Naming
from exporter.record import replace

COMPOSITE = ("Composite", "temp1")
"""The label of the temperature sensor that the limits apply to."""

_HEALTH = {name: get for name, get in getters_of(NvmeHealth).items() if name != "device"}

NVME_NAMES: Mapping[str, FieldType] = {
    "nvme_state": FieldType(Type.TEXT),
    **{name: found for name, found in names_of(NvmeHealth).items() if name != "device"},
    "temperature_high_celsius": FieldType(Type.NUMBER),
    "temperature_critical_celsius": FieldType(Type.NUMBER),
}
"""All fields of controllers; a disk without an NVMe controller has none of them."""


def nvme_fields(snapshot: Snapshot) -> Mapping[str, Mapping[str, Value]]:
    """Return the fields of each controller by name; sensors win over the health log."""
    found: dict[str, dict[str, Value]] = {}
    controllers = snapshot.reading(NvmeControllers)
    for controller in controllers.controllers if controllers else ():
        found.setdefault(controller.device, {})["nvme_state"] = controller.state
    healths = snapshot.reading(NvmeHealths)
    for health in healths.controllers if healths else ():
        reported = {name: get(health) for name, get in _HEALTH.items()}
        found.setdefault(health.device, {}).update(reported)
    sensors = snapshot.reading(Sensors)
    for sensor in sensors.sensors if sensors else ():
        is_hottest = sensor.kind == "temperature" and sensor.sensor in COMPOSITE
        if is_hottest and sensor.hw_name == "nvme" and sensor.value is not None:
            found.setdefault(sensor.hw_id, {}).update(
                temperature_celsius=sensor.value,
                temperature_high_celsius=sensor.high_degraded,
                temperature_critical_celsius=sensor.high_critical,
            )
    return found


_DISK_GETTERS = getters_of(Disk)

MADE_OF = ("dm", "md")
"""How devices are attached that are made of disks."""

_FILESYSTEM_GETTERS = getters_of(Filesystem)

_MAPPER = "/dev/mapper/"


def _disks(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(Disks)
    reported = nvme_fields(snapshot)
    for disk in reading.disks if reading else ():
        names = (disk.device, disk.scsi_address, *disk.nvme_controllers)
        addresses: tuple[Address, ...] = tuple(("physical_disk", name) for name in names if name)
        controllers = [reported[name] for name in disk.nvme_controllers if name in reported]
        controllers.sort(key=lambda fields: fields.get("nvme_state") == "live")  # the worst first
        fields = FirstOf(FieldsOf(disk, _DISK_GETTERS), *controllers)
        yield Entity(("disk", disk.device), disk.device, fields, addresses)


def filesystems(snapshot: Snapshot) -> Iterable[Entity]:
    """Yield filesystems as components, by mount point and by the kernel's name of the device."""
    reading = snapshot.reading(Filesystems)
    kernel_names = _kernel_names(snapshot)
    for filesystem in reading.filesystems if reading else ():
        mountpoint, device = filesystem.mountpoint, _device(filesystem)
        addresses: tuple[Address, ...] = (
            ("logical_disk", mountpoint),
            ("logical_disk", kernel_names.get(device, device.removeprefix("/dev/"))),
        )
        fields = FieldsOf(filesystem, _FILESYSTEM_GETTERS)
        yield Entity(("filesystem", mountpoint), mountpoint, fields, addresses)


def _device(filesystem: Filesystem) -> str:
    """Return the device; with the type before it for FUSE, where users choose the text."""
    is_fuse = filesystem.fstype.partition(".")[0] == "fuse"  # fuseblk has a device
    return f"{filesystem.fstype}:{filesystem.device}" if is_fuse else filesystem.device


def _kernel_names(snapshot: Snapshot) -> Mapping[str, str]:
    """Return the names in the kernel log (dm-0) of device mapper devices, by path."""
    disks = snapshot.reading(Disks)
    mapped = (disk for disk in disks.disks if disk.transport == "dm") if disks else ()
    return {f"{_MAPPER}{disk.model}": disk.device for disk in mapped}


def _lies_on(snapshot: Snapshot) -> Iterable[Edge]:
    disks = snapshot.reading(Disks)
    known = {disk.device for disk in disks.disks} if disks else set()
    for made in disks.disks if disks else ():
        for slave in dict.fromkeys(map(whole_disk, made.slaves)):
            if slave in known:
                yield Edge("part_of", ("disk", made.device), ("disk", slave))
        if made.transport in ("iscsi", "fc") or made.device.startswith(("rbd", "nbd")):
            yield Edge("reached_over", ("disk", made.device), ("node", snapshot.node))
    reading = snapshot.reading(Filesystems)
    kernel_names = _kernel_names(snapshot)
    for filesystem in reading.filesystems if reading else ():
        device = _device(filesystem)
        disk = whole_disk(kernel_names.get(device, device))
        if disk in known:
            yield Edge("part_of", ("filesystem", filesystem.mountpoint), ("disk", disk))


def _sits_in(snapshot: Snapshot) -> Iterable[Edge]:
    """Yield the PCI devices of the controllers of each NVMe disk."""
    controllers, disks = snapshot.reading(NvmeControllers), snapshot.reading(Disks)
    places = {it.device: it.pci_bus_id for it in (controllers.controllers if controllers else ())}
    for disk in disks.disks if disks else ():
        for address in filter(None, map(places.get, disk.nvme_controllers)):
            yield Edge("part_of", ("disk", disk.device), ("pcie", address))


DISK = Kind(
    "disk",
    "physical_disk",
    {**names_of(Disk), **NVME_NAMES},
    _disks,
    Disks,
    related={"node": "node", "pcie": "pcie"},
    relate=_sits_in,
    identity="serial",
    naming=Naming("disks"),
)

FILESYSTEM = Kind(
    "filesystem",
    "logical_disk",
    names_of(Filesystem),
    filesystems,
    Filesystems,
    related={"node": "node", "disk": "disk"},
    relate=_lies_on,
    ends=True,
)


_ARRAY_GETTERS = getters_of(MdArray)


def _arrays(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(MdArrays)
    for array in reading.arrays if reading else ():
        fields = FieldsOf(array, _ARRAY_GETTERS)
        key = ("md_array", array.device)
        yield Entity(key, array.device, fields, (key,))


def _members(snapshot: Snapshot) -> Iterable[Edge]:
    """Yield the disks of the members of each array, of faulty ones too until they are removed."""
    reading, disks = snapshot.reading(MdArrays), snapshot.reading(Disks)
    arrays = {array.device for array in reading.arrays} if reading else set()
    below = {disk.device: disk.slaves for disk in disks.disks} if disks else {}
    for array in filter(arrays.__contains__, below):
        members: dict[str, None] = {}
        waiting = [*below[array]]
        while waiting:  # a member may be made by the device mapper: what it lies on is lost with it
            member = whole_disk(waiting.pop(0))
            if member not in members:
                members[member] = None
                waiting += below.get(member, ())
        for member in members:
            yield Edge("part_of", ("disk", member), ("md_array", array))


def _servers(snapshot: Snapshot) -> Iterable[Entity]:
    for server in dict.fromkeys(server for server, _ in _nfs(snapshot)):
        key = ("nfs_mount", server)
        yield Entity(key, server, NO_FIELDS, (key,))


def _mounts(snapshot: Snapshot) -> Iterable[Edge]:
    for server, mountpoint in _nfs(snapshot):
        yield Edge("part_of", ("filesystem", mountpoint), ("nfs_mount", server))


def _nfs(snapshot: Snapshot) -> Iterable[tuple[str, str]]:
    """Yield server and mount point of each NFS mount.

    The table of mounts has brackets around an IPv6 address, the kernel log has none.
    """
    reading = snapshot.reading(Filesystems)
    for filesystem in reading.filesystems if reading else ():
        server, colon, _ = filesystem.device.partition(":/")
        if colon and filesystem.fstype.startswith("nfs"):
            yield server.removeprefix("[").removesuffix("]"), filesystem.mountpoint


MD_ARRAY = Kind("md_array", "logical_disk", names_of(MdArray), _arrays, MdArrays, relate=_members)

NFS_MOUNT = Kind(
    "nfs_mount",
    "nfs_mount",
    {},
    _servers,
    Filesystems,
    related={"filesystem": "filesystem"},
    relate=_mounts,
)


def _count(disks: Disks) -> Value:
    return None if disks.truncated else len(disks.disks)


def _work(*names: str) -> NodeField:
    """Return the sum of these counters of all disks, without devices that are made of disks."""
    get = attrgetter(*names)

    def total(disks: Disks) -> int:
        whole = (it for it in disks.disks if not it.slaves and it.transport not in MADE_OF)
        return sum(count or 0 for disk in whole for count in get(disk))

    return field_of(Type.NUMBER, Disks, total)


FIELDS = NodeFields(
    computed={
        "disk_count": field_of(Type.NUMBER, Disks, _count),
        "disk_bytes": _work("read_bytes", "written_bytes"),
        "disk_requests": _work("reads_completed", "writes_completed"),
        "network_volume_count": field_of(
            Type.NUMBER, Disks, lambda disks: sum(d.is_network_volume for d in disks.disks)
        ),
    }
)

LOST_MEMBERS = Events("md_disk_failure", (), MAX_WINDOW_SECS)


def _wholes(part: Entity) -> Iterable[str]:
    """Return the disk below a filesystem, or the controllers of a namespace; by name if unseen."""
    names = [whole_disk(name) for _, name in part.addresses if name != part.key[1]]
    return names or Disk(part.key[1]).nvme_controllers


def joins(known: KnownEntities) -> Iterator[Edge]:
    """Join a filesystem to its disk, and a namespace to its controllers."""
    for part in (*known.by_kind.get("filesystem", ()), *known.by_kind.get("disk", ())):
        for name in _wholes(part):
            if ("disk", name) in known.entities:
                yield Edge("part_of", part.key, ("disk", name))


def lost_disks(known: KnownEntities) -> Iterator[Edge]:
    """Join a lost disk to its array."""
    for array in known.by_kind.get("md_array", ()):
        for event in known.events.matching(array.addresses, LOST_MEMBERS, known.now):
            lost = whole_disk(event.fields.get("member", ""))
            yield Edge("part_of", ("disk", lost), array.key)


class DiskNames:
    """Names the disk in events about its partition, and the mounted server in those of NFS."""

    def __init__(self) -> None:
        self._servers: frozenset[str] = frozenset()

    def see(self, snapshot: Snapshot) -> None:
        """Remember the servers of NFS mounts."""
        self._servers = frozenset(server for server, _ in _nfs(snapshot)) or self._servers

    def interpret(self, event: Event) -> Event:
        """Return an event with the name of the whole disk, or of the only server that is mounted.

        A mount may name its server by an address or by a short name, and the kernel by another.
        """
        if event.entity_type == "physical_disk":
            return replace(event, entity_id=whole_disk(event.entity_id))
        is_alias = event.entity_type == "nfs_mount" and event.entity_id not in self._servers
        if is_alias and len(self._servers) == 1:
            return replace(event, entity_id=next(iter(self._servers)))
        return event
