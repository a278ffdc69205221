"""Finds what of disks and filesystems was repaired: mounted again, unmounted, attached again."""

from collections.abc import Iterable, Iterator
from dataclasses import field

from exporter.collectors.disk.entities import filesystems
from exporter.collectors.disk.values import (
    Disks,
    Filesystem,
    Filesystems,
    NvmeControllers,
    whole_disk,
)
from exporter.faults.events.changes import remember, turned_good
from exporter.faults.subject import Repair
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass

CLEAN, WARNED, ERRORS = "clean", "warned", "errors"
"""What the kernel said last: mounted, mounting with errors, mounted with errors."""


@dataclass(slots=True)
class StorageRepairs:
    """Finds the repairs of disks and filesystems.

    Remembers which SCSI disk or NVMe controller was last at each address and which of them are
    gone, which filesystems were writable, which devices were mounted, and what the kernel said of
    the last mount of each device.
    """

    _last: dict[str, str] = field(default_factory=dict)
    _gone: frozenset[str] = frozenset()
    _writable: dict[str, bool] = field(default_factory=dict)
    _last_mount: dict[str, str] = field(default_factory=dict)
    _devices: dict[str, None] = field(default_factory=dict)

    def between(self, snapshot: Snapshot, events: Iterable[Event]) -> Iterable[Repair]:
        """Yield the disks that were attached, and the devices and mount points that are well.

        A filesystem that the kernel mounted with errors is not repaired.
        """
        for disk in self._attached(snapshot):
            yield "disk_attached", "physical_disk", disk
        for device in self._mounted(events):
            yield "mounted", "logical_disk", device
        for place in self._mounts(snapshot):
            yield "mounted", "logical_disk", place
        for device in self._unmounted(snapshot):
            yield "unmounted", "logical_disk", device

    def _attached(self, snapshot: Snapshot) -> Iterator[str]:
        """Yield each disk that was gone and works again, or at whose address another works now.

        The disk was replaced, or is back: with another name where an array or a filesystem holds
        the old one.
        """
        found = [*_disks(snapshot)]
        present = {name for _, name, _ in found}
        idle = set()
        for address, name, works in found:
            before = self._last.get(address, name)
            if before not in present or name in self._gone:
                if not works:
                    idle.add(name)
                    continue
                yield before
            remember(self._last, address, name)
        if snapshot.reading(Disks) and snapshot.reading(NvmeControllers):  # or all would be gone
            self._gone = frozenset({*self._last.values()} - present | idle & self._gone)

    def _mounted(self, events: Iterable[Event]) -> Iterable[str]:
        """Return the devices that were mounted without errors and have none since then.

        Between two readings a filesystem may be unmounted, repaired and mounted.
        """
        clean: dict[str, None] = {}
        for event in events:
            device = event.entity_id
            if event.kind == "fs_mounted":
                outcome = ERRORS if self._last_mount.get(device) == WARNED else CLEAN
                remember(self._last_mount, device, outcome)
                if outcome == CLEAN:
                    clean[device] = None
            elif event.entity_type == "logical_disk":
                clean.pop(device, None)
                if event.fields.get("state") == "mounted":
                    remember(self._last_mount, device, WARNED)
        return clean

    def _mounts(self, snapshot: Snapshot) -> Iterator[str]:
        """Yield filesystems that were missing or read-only and are writable now."""
        reading = snapshot.reading(Filesystems)
        if reading is None:
            return
        mounts = {each.mountpoint: _is_writable(each) for each in reading.filesystems}
        if turned := turned_good(self._writable, mounts):
            names = {entity.name: entity.addresses[1][1] for entity in filesystems(snapshot)}
            yield from (it for it in turned if self._last_mount.get(names[it], CLEAN) == CLEAN)

    def _unmounted(self, snapshot: Snapshot) -> Iterator[str]:
        """Yield each device that was mounted, is not any more, and whose disk is still there.

        A filesystem is also unmounted when its disk is lost, which repairs nothing.
        """
        reading, disks = snapshot.reading(Filesystems), snapshot.reading(Disks)
        if reading is None or disks is None or reading.truncated:
            return
        before = self._devices
        self._devices = {it.addresses[1][1]: None for it in filesystems(snapshot)}
        present = {disk.device for disk in disks.disks}
        for device in before:
            if device not in self._devices and whole_disk(device) in present:
                yield device


def _is_writable(filesystem: Filesystem) -> bool:
    """Whether a filesystem is writable; a suspended ZFS pool stays mounted but does not answer."""
    is_suspended = filesystem.fstype == "zfs" and filesystem.unreachable
    return not filesystem.readonly and not is_suspended


def _disks(snapshot: Snapshot) -> Iterator[tuple[str, str, bool]]:
    """Yield address and name of each SCSI disk and NVMe controller, and whether it works."""
    disks, controllers = snapshot.reading(Disks), snapshot.reading(NvmeControllers)
    for disk in disks.disks if disks else ():
        if disk.scsi_address:
            yield disk.scsi_address, disk.device, disk.scsi_state in (None, "running")
    for controller in controllers.controllers if controllers else ():
        if controller.pci_bus_id:
            yield controller.pci_bus_id, controller.device, controller.state == "live"
