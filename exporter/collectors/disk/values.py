"""Values of disks, NVMe controllers, RAID arrays and filesystems."""

import re
from typing import ClassVar

from exporter.record import dataclass

_PARTITION = re.compile(
    r"(?P<disk>(?:nvme\d+n\d+|mmcblk\d+|md\d+)(?=p\d)|(?:[shv]d|xvd)[a-z]+)p?\d*"
)

_PATH = re.compile(r"(nvme\d+)c\d+(n\d+(?:p\d+)?)")


def whole_disk(device: str) -> str:
    """Return the whole disk of a device or partition: nvme1n1 for /dev/nvme1n1p2.

    nvme1c0n1 is one of the paths to nvme1n1.
    """
    name = _PATH.sub(r"\1\2", device.removeprefix("/dev/"))
    match = _PARTITION.fullmatch(name)
    return match["disk"] if match else name


_NAMESPACE = re.compile(r"(nvme\d+)n\d+")

NETWORK_VOLUMES = (
    "Amazon Elastic Block Store",
    "nvme_card-pd",
    "MSFT NVMe Accelerator",
    "Alibaba Cloud Elastic Block Storage",
)
"""Models of cloud volumes that are attached as NVMe disks, and detached on request."""


@dataclass(frozen=True, slots=True)
class Disk:
    """One whole block device; counters run since the disk was attached."""

    device: str
    reads_completed: int | None = None
    read_bytes: int | None = None
    read_time_seconds: float | None = None
    writes_completed: int | None = None
    written_bytes: int | None = None
    write_time_seconds: float | None = None
    discards_completed: int | None = None  # since Linux 4.18
    io_in_flight: int | None = None
    io_time_seconds: float | None = None  # at least one request was in flight
    queue_time_seconds: float | None = None  # summed over all requests
    size_bytes: int | None = None
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    rotational: bool | None = None
    removable: bool | None = None  # the medium is removable
    transport: str | None = None  # nvme, sata, sas, usb, virtio, md, dm, …
    scsi_address: str | None = None  # host:channel:target:lun, as the kernel log may name it
    scsi_state: str | None = None  # running, offline, …
    slaves: tuple[str, ...] = ()  # the devices below a logical volume or an array
    nvme_paths: tuple[str, ...] = ()  # the controllers that lead to it by native NVMe multipath

    @property
    def nvme_controllers(self) -> tuple[str, ...]:
        """The NVMe controllers that the disk is a namespace of.

        With native multipath the number in its name is that of the subsystem, not of a controller.
        """
        named = _NAMESPACE.fullmatch(self.device)
        return self.nvme_paths or ((named[1],) if named else ())

    @property
    def is_network_volume(self) -> bool:
        """Whether the disk is a network volume of a cloud, not a disk of this machine."""
        return self.model is not None and self.model.startswith(NETWORK_VOLUMES)


@dataclass(frozen=True, slots=True)
class Disks:
    """The block devices, ordered by name."""

    disks: tuple[Disk, ...]
    truncated: int = 0  # disks beyond the maximum
    device_kind: ClassVar[str] = "disk"


@dataclass(frozen=True, slots=True)
class NvmeController:
    """One controller; `state` is that of the kernel: live, resetting, dead and others."""

    device: str
    state: str | None = None
    pci_bus_id: str | None = None


@dataclass(frozen=True, slots=True)
class NvmeControllers:
    """The controllers, ordered by name."""

    controllers: tuple[NvmeController, ...]


WARNINGS = {
    1: "spare blocks are nearly used up",
    2: "the temperature is beyond a limit",
    4: "reliability is degraded",
    8: "the media is read-only",
    16: "the backup of volatile memory failed",
    32: "the persistent memory region is read-only or unreliable",
}
"""Bits of the field Critical Warning in the SMART / Health log."""


@dataclass(frozen=True, slots=True)
class NvmeHealth:
    """The health log of one controller; counters run since its manufacture."""

    device: str
    critical_warning: int  # bits: spare, temperature, reliability, read-only, backup, …
    temperature_celsius: float | None
    available_spare_ratio: float | None
    available_spare_threshold_ratio: float | None
    percentage_used_ratio: float  # above 1: beyond the rated endurance
    unsafe_shutdowns: int
    media_errors: int

    @property
    def critical_warnings(self) -> str:
        """The critical warnings in the words of the NVMe specification; `none` without any."""
        bits = (1 << place for place in range(8))
        held = [bit for bit in bits if self.critical_warning & bit]
        return ", ".join(WARNINGS.get(bit, f"reserved bit {bit}") for bit in held) or "none"


@dataclass(frozen=True, slots=True)
class NvmeHealths:
    """The health logs, ordered by controller."""

    controllers: tuple[NvmeHealth, ...]


@dataclass(frozen=True, slots=True)
class MdArray:
    """One array of the md driver."""

    device: str
    state: str  # active, inactive, broken
    level: str | None = None  # raid1, raid5, …
    active_disks: int = 0
    failed_disks: int = 0
    spare_disks: int = 0
    missing_disks: int | None = None  # how many it lacks, failed ones too; None without redundancy
    resync_ratio: float | None = None  # progress of a rebuild, 0 to 1
    is_rebuilt: bool = False  # the progress is that of a member that comes back or is new


@dataclass(frozen=True, slots=True)
class MdArrays:
    """The arrays, ordered by name."""

    arrays: tuple[MdArray, ...]


_OF_SYSTEM = re.compile(
    r"/|/(?:usr|etc|run|tmp)(?:/.*)?|/var(?!/lib/kubelet/(?:pods|plugins)/)(?:/.*)?", re.DOTALL
)

_OF_SERVER = re.compile(r"//|[^/]*:/")


@dataclass(frozen=True, slots=True)
class Filesystem:
    """One mounted filesystem; sizes are None while statvfs does not answer."""

    device: str
    mountpoint: str
    fstype: str
    readonly: bool
    unreachable: bool = False
    size_bytes: int | None = None
    free_bytes: int | None = None
    available_bytes: int | None = None  # to users other than root
    files: int | None = None  # absent where the filesystem has no fixed number
    files_free: int | None = None

    @property
    def is_system(self) -> bool:
        """Whether the node itself needs the filesystem: the root, /var, /run, /tmp and below.

        Data disks, volumes of pods and network filesystems are not needed: if they are full, only
        their users stop.
        """
        if _OF_SYSTEM.fullmatch(self.mountpoint) is None:
            return False
        return self.mountpoint == "/" or _OF_SERVER.match(self.device) is None


@dataclass(frozen=True, slots=True)
class Filesystems:
    """The filesystems, ordered by mount point."""

    filesystems: tuple[Filesystem, ...]
    truncated: int = 0  # filesystems beyond the maximum
    device_kind: ClassVar[str] = "filesystem"
