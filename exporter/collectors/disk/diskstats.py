"""Block devices, from /proc/diskstats and /sys/block.

https://docs.kernel.org/admin-guide/iostats.html
https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block
https://docs.kernel.org/admin-guide/nvme-multipath.html
"""

import os
import re
from pathlib import Path

from exporter.collectors.disk.nvme import CONTROLLER
from exporter.collectors.disk.values import Disk, Disks
from exporter.config import Devices
from exporter.model.label import clean_text
from exporter.model.reading import Reading
from exporter.reading.device_filter import at_most, shown
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.reading.sysfs import FieldReader, link_name, names_in, names_or_none, parse_counter
from exporter.record import replace

# include/linux/blk_types.h, SECTOR_SHIFT: the unit of diskstats, whatever the device's sector is.
SECTOR_BYTES = 512
MILLISECONDS_PER_SECOND = 1000
# Three names and eleven numbers; 4.18 added four for discards, 5.5 two for flushes.
FEWEST_FIELDS = 14
DISCARDS = 11
MOST_IN_FLIGHT = 2**31
"""Kernels have shown -1 as 2³² − 1 here: block/genhd.c adds counters of CPUs without a lock."""

VPD_HEADER_BYTES = 4
"""SPC-4, 7.8.18: type, page code and length precede the serial number."""

SUBSYSTEM = "nvme-subsys"
"""With native NVMe multipath a disk is the child of a subsystem, not of a controller."""

_SCSI_ADDRESS = re.compile(r"\d{1,5}(?::\d{1,20}){3}")

Numbers = tuple[int | None, ...]

BY_NAME = {"nvme": "nvme", "dm-": "dm", "md": "md", "mmcblk": "mmc", "rbd": "rbd", "nbd": "nbd"}
"""How a disk is attached, by the beginning of its name."""

BY_PATH = {
    "/usb": "usb",
    "/virtio": "virtio",
    "/ata": "sata",
    "/end_device-": "sas",
    "/rport-": "fc",
    "/session": "iscsi",
    "/vbd-": "xen",
    "/pmem": "pmem",
}
"""How all others are attached, by a part of their path in the device tree; the first one counts."""

MADE = ("dm-", "md", "bcache", "drbd")
"""Prefixes of devices that the kernel makes from others, and lists these as slaves."""


class DiskReader:
    """Reads `diskstats`, and sysfs for whole disks; partitions are left out."""

    def __init__(self, proc_root: Path, sys_root: Path, devices: Devices) -> None:
        self._stats = proc_root / "diskstats"
        self._block = sys_root / "block"
        self._is_shown = shown(devices.disk_exclude, devices.disk_include)
        self._limit = devices.max_per_kind

    def read(self) -> Reading[Disks]:
        """Read all disks now; raise SourceAbsent or SourceFailed."""
        fields = FieldReader()
        rows = parse_diskstats(read_text(self._stats))
        whole_disks = set(names_in(self._block, "disks"))
        names = [name for name in rows.keys() & whole_disks if self._is_real(name)]
        truncated = fields.truncated(self._limit, len(names), "disks")
        if not names:
            raise SourceAbsent(f"{self._stats} lists no disk that is shown")
        chosen = at_most(self._limit, names, lambda name: (self._block / name / "device").exists())
        disks = (self._disk(name, rows[name], fields) for name in chosen)
        return Reading(Disks(tuple(disks), truncated), fields.missing)

    def _is_real(self, name: str) -> bool:
        """Tell whether a device is shown; a device of the device mapper also needs a name."""
        if not self._is_shown(name):
            return False
        return not name.startswith("dm-") or self._mapped_name(name) is not None

    def _mapped_name(self, name: str) -> str | None:
        return FieldReader().label("name", self._block / name / "dm/name")

    def _disk(self, name: str, numbers: Numbers, fields: FieldReader) -> Disk:
        folder = self._block / name
        disk = counted(clean_text(name), numbers)
        for field in ("reads_completed", "writes_completed", "io_in_flight", "io_time_seconds"):
            if getattr(disk, field) is None:
                fields.skip(f"{name} {field}", "not a counter")
        sectors = fields.count(f"{name} size", folder / "size")
        removable = fields.count(f"{name} removable", folder / "removable")
        rotational = fields.count(f"{name} rotational", folder / "queue/rotational")
        device = link_name(folder / "device") or ""
        scsi_address = scsi_address_of(device)
        return replace(
            disk,
            size_bytes=None if sectors is None else sectors * SECTOR_BYTES,
            model=fields.label(f"{name} model", folder / "device/model") or self._mapped_name(name),
            serial=_scsi_serial(name, folder, fields)
            if scsi_address
            else fields.label(f"{name} serial", folder / "device/serial")
            or fields.label(f"{name} serial", folder / "serial"),
            firmware=fields.label(f"{name} firmware", folder / "device/firmware_rev")
            or fields.label(f"{name} firmware", folder / "device/rev"),
            rotational=None if rotational is None else bool(rotational),
            removable=None if removable is None else bool(removable),
            transport=transport_of(name, os.path.realpath(folder)),
            scsi_address=scsi_address,
            scsi_state=fields.label(f"{name} state", folder / "device/state")
            if scsi_address
            else None,
            slaves=tuple(names_or_none(folder / "slaves")) if name.startswith(MADE) else (),
            nvme_paths=tuple(filter(CONTROLLER.fullmatch, names_or_none(folder / "device")))
            if device.startswith(SUBSYSTEM)
            else (),
        )


def parse_diskstats(text: str) -> dict[str, Numbers]:
    """Parse the numbers of each device; raise SourceFailed without any such line."""
    rows = {}
    for line in text.split("\n"):
        words = line.split()
        if len(words) >= FEWEST_FIELDS:
            rows[words[2]] = tuple(parse_counter(word) for word in words[3:])
    if text.strip() and not rows:
        raise SourceFailed("diskstats holds no line about a disk")
    return rows


def counted(device: str, numbers: Numbers) -> Disk:
    """Return the disk with its counters in bytes and seconds."""
    in_flight = numbers[8]
    return Disk(
        device=device,
        reads_completed=numbers[0],
        read_bytes=_bytes(numbers[2]),
        read_time_seconds=_seconds(numbers[3]),
        writes_completed=numbers[4],
        written_bytes=_bytes(numbers[6]),
        write_time_seconds=_seconds(numbers[7]),
        discards_completed=numbers[DISCARDS] if len(numbers) > DISCARDS else None,
        io_in_flight=None if in_flight is None or in_flight >= MOST_IN_FLIGHT else in_flight,
        io_time_seconds=_seconds(numbers[9]),
        queue_time_seconds=_seconds(numbers[10]),
    )


def transport_of(name: str, path: str) -> str | None:
    """Return how the disk is attached, by its name and its path in the device tree."""
    for start, transport in BY_NAME.items():
        if name.startswith(start):
            return transport
    for part, transport in BY_PATH.items():
        if part in path:
            return transport
    return None


def scsi_address_of(device: str) -> str | None:
    """Return the SCSI address that is the name of the device in sysfs: 0:0:5:0."""
    return device if _SCSI_ADDRESS.fullmatch(device) else None


def _scsi_serial(name: str, folder: Path, fields: FieldReader) -> str | None:
    """Return the serial number of a SCSI or SATA disk, as the kernel read it when it was found."""
    page = fields.text(f"{name} serial", folder / "device/vpd_pg80")
    return None if page is None else clean_text(page[VPD_HEADER_BYTES:]) or None


def _bytes(sectors: int | None) -> int | None:
    return None if sectors is None else sectors * SECTOR_BYTES


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / MILLISECONDS_PER_SECOND
