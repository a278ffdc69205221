"""NVMe controllers from /sys/class/nvme, and their health by an admin command.

https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-nvme

Health is log page 2: NVM Express base specification, section «SMART / Health Information»; the
command goes through NVME_IOCTL_ADMIN_CMD (include/uapi/linux/nvme_ioctl.h) and needs CAP_SYS_ADMIN.
"""

import ctypes
import errno
import fcntl
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path

from exporter.collectors.disk.values import (
    NvmeController,
    NvmeControllers,
    NvmeHealth,
    NvmeHealths,
)
from exporter.collectors.pcie.address import pci_address_of
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.reading.sysfs import FieldReader, names_in

CONTROLLER = re.compile(r"nvme[0-9]+")
ADMIN_COMMAND = 0xC0484E41
GET_LOG_PAGE = 0x02
HEALTH_PAGE = 0x02
ALL_NAMESPACES = 0xFFFFFFFF
LOG_BYTES = 512
TIMEOUT_MILLISECONDS = 2000
COMMAND = struct.Struct("=BBHIIIQQIIIIIIIIII")
"""Opcode, flags, nsid, cdw2…3, metadata, address, their lengths, cdw10…15, timeout, result."""
KELVIN_AT_ZERO = 273

HealthLog = Callable[[Path], bytes]
"""The 512 bytes of the health log of the device at a path; raises OSError."""


def controllers_in(folder: Path) -> list[str]:
    """List the controllers; raise SourceAbsent if there are none."""
    names = [name for name in names_in(folder, "NVMe disks") if CONTROLLER.fullmatch(name)]
    if not names:
        raise SourceAbsent(f"{folder} holds no NVMe controller")
    return names


class NvmeReader:
    """Reads the controllers under a sys root; no command is sent to a disk."""

    def __init__(self, sys_root: Path) -> None:
        self._folder = sys_root / "class/nvme"

    def read(self) -> Reading[NvmeControllers]:
        """Read all controllers now; raise SourceAbsent or SourceFailed."""
        fields = FieldReader()
        controllers = tuple(
            NvmeController(
                device=name,
                state=fields.label(f"{name} state", self._folder / name / "state"),
                pci_bus_id=pci_address_of(self._folder / name / "device"),
            )
            for name in controllers_in(self._folder)
        )
        return Reading(NvmeControllers(controllers), fields.missing)


def read_health_log(device: Path) -> bytes:
    """Read the health log of a controller by an admin command; raise OSError."""
    data = ctypes.create_string_buffer(LOG_BYTES)
    words = (LOG_BYTES // 4 - 1) << 16
    command = COMMAND.pack(
        GET_LOG_PAGE, 0, 0, ALL_NAMESPACES, 0, 0, 0, ctypes.addressof(data), 0, LOG_BYTES,
        words | HEALTH_PAGE, 0, 0, 0, 0, 0, TIMEOUT_MILLISECONDS, 0,
    )  # fmt: skip
    descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = fcntl.ioctl(descriptor, ADMIN_COMMAND, bytearray(command))
    finally:
        os.close(descriptor)
    if status:
        raise OSError(errno.EIO, f"the disk answered with status {status:#x}")
    return data.raw


class NvmeHealthReader:
    """Reads the health log of every controller under a sys root, by its device file."""

    def __init__(
        self, sys_root: Path, host_root: Path, health_log: HealthLog = read_health_log
    ) -> None:
        self._folder = sys_root / "class/nvme"
        self._devices = host_root / "dev"
        self._health_log = health_log

    def read(self) -> Reading[NvmeHealths]:
        """Read all health logs; raise SourceAbsent without disks, SourceFailed without answers."""
        fields = FieldReader()
        result = []
        for name in controllers_in(self._folder):
            try:
                result.append(parse_health_log(name, self._health_log(self._devices / name)))
            except OSError as error:
                fields.skip(name, error.strerror or str(error))
            except SourceFailed as failed:
                fields.skip(name, str(failed))
        if not result:
            raise SourceFailed(f"no disk says its health: {fields.missing[0].reason}")
        return Reading(NvmeHealths(tuple(result)), fields.missing)


def parse_health_log(device: str, log: bytes) -> NvmeHealth:
    """Parse the health log of one controller; raise SourceFailed for a short or empty one."""
    if len(log) < LOG_BYTES or not any(log):
        raise SourceFailed("the health log is short or empty")
    kelvin = int.from_bytes(log[1:3], "little")
    return NvmeHealth(
        device=device,
        critical_warning=log[0],
        temperature_celsius=float(kelvin - KELVIN_AT_ZERO) if kelvin else None,
        available_spare_ratio=_share(log[3]),
        available_spare_threshold_ratio=_share(log[4]),
        percentage_used_ratio=log[5] / 100,
        unsafe_shutdowns=int.from_bytes(log[144:160], "little"),
        media_errors=int.from_bytes(log[160:176], "little"),
    )


def _share(percent: int) -> float | None:
    return percent / 100 if percent <= 100 else None  # noqa: PLR2004 - percent
