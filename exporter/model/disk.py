"""Block devices and their I/O."""

import re
from dataclasses import dataclass

_PARTITION = re.compile(
    r"(?P<disk>(?:nvme\d+n\d+|mmcblk\d+|md\d+)(?=p\d)|(?:[shv]d|xvd)[a-z]+)p?\d*"
)


_PATH = re.compile(r"(nvme\d+)c\d+(n\d+(?:p\d+)?)")


def whole_disk(device: str) -> str:
    """Return the whole disk that a device is or is a partition of: nvme1n1 of /dev/nvme1n1p2.

    nvme1c0n1 is one of the paths to nvme1n1.
    """
    name = _PATH.sub(r"\1\2", device.removeprefix("/dev/"))
    match = _PARTITION.fullmatch(name)
    return match["disk"] if match else name


NETWORK_VOLUMES = ("Amazon Elastic Block Store", "nvme_card-pd", "MSFT NVMe Accelerator")
"""How the models of volumes begin that a cloud attaches as NVMe disks, and detaches on request."""


@dataclass(frozen=True, slots=True)
class Disk:
    """One whole block device; counters run since it was attached."""

    device: str
    reads_completed: int | None = None
    read_bytes: int | None = None
    read_time_seconds: float | None = None
    writes_completed: int | None = None
    written_bytes: int | None = None
    write_time_seconds: float | None = None
    io_in_flight: int | None = None
    io_time_seconds: float | None = None  # at least one request was on its way
    queue_time_seconds: float | None = None  # summed over all requests
    size_bytes: int | None = None
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    rotational: bool | None = None
    removable: bool | None = None  # its medium can be taken out
    transport: str | None = None  # nvme, sata, sas, usb, virtio, md, dm, …
    scsi_address: str | None = None  # host:channel:target:lun, as the kernel log may name it
    scsi_state: str | None = None  # running, offline, …
    slaves: tuple[str, ...] = ()  # the devices that a logical volume or an array lies on

    @property
    def is_network_volume(self) -> bool:
        """Whether it is a volume in the network of a cloud, not a disk of this machine."""
        return self.model is not None and self.model.startswith(NETWORK_VOLUMES)


@dataclass(frozen=True, slots=True)
class Disks:
    """The block devices, ordered by name."""

    disks: tuple[Disk, ...]
    truncated: int = 0  # beyond the number that is shown at most
