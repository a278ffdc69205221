"""GPUs, network cards, NVMe disks and the ports above them, from /sys/bus/pci.

https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci-devices-aer
"""

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from exporter.collectors.pcie.address import addresses_in, is_pci_address
from exporter.collectors.pcie.values import NVIDIA, Pcie, PcieDevice, PcieError
from exporter.model.reading import Missing, Reading
from exporter.reading.files import is_there
from exporter.reading.seldom import Seldom
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader, link_name, names_in, names_or_none
from exporter.record import replace

N = TypeVar("N", int, float)

SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) GT/s")
ERROR = re.compile(r"^(?!TOTAL_)(\w[\w\[\] -]{0,40}) (\d{1,19})$", re.MULTILINE | re.ASCII)
"""A name and a count (drivers/pci/pcie/aer.c): `RxErr`, in Linux 4.19 `Receiver Error`, or
`dev_fatal_errs_bit[27]` where the kernel has no name. The list ends with its total.
"""
SEVERITIES = {
    "correctable": "aer_dev_correctable",
    "nonfatal": "aer_dev_nonfatal",
    "fatal": "aer_dev_fatal",
}
KINDS = {
    "0x0300": "gpu",
    "0x0302": "gpu",
    "0x0380": "gpu",
    "0x1200": "gpu",
    "0x0200": "network",
    "0x0207": "network",
    "0x0108": "nvme",
}
DISPLAY = "0x03"
GRAPHICS_MAKERS = {NVIDIA, "0x1002", "0x8086"}
"""Other displays are screens of management controllers and of virtual machines, no GPUs."""

ETHERNET = "0x0200"
LENT = re.compile(r"/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/pci")
"""A bus below a device of VMBus, whose name is a GUID (drivers/pci/controller/pci-hyperv.c).

Azure takes the Ethernet function back while it maintains the host, for minutes where it moves the
virtual machine; hv_netvsc carries the traffic meanwhile.
"""
VIRTUAL_MACHINES = {"0x1b36", "0x15ad"}
"""Vendors of the ports of QEMU and VMware: no end of the link of a card that is passed through."""


class PcieReader:
    """Reads the devices under a sys root; what cannot change is read when a device comes.

    What a link can do at most is read seldom.
    """

    def __init__(self, sys_root: Path) -> None:
        self._folder = sys_root / "bus/pci/devices"
        self._slots = sys_root / "bus/pci/slots"
        self._seen: list[str] = []
        self._known: dict[str, PcieDevice] = {}
        self._speeds_max: Seldom[float] = Seldom()
        self._widths_max: Seldom[int] = Seldom()
        self._skipped: tuple[Missing, ...] = ()

    def read(self) -> Reading[Pcie]:
        """Read all devices that matter now; raise SourceAbsent where there is none."""
        fields = FieldReader()
        names = names_in(self._folder, "PCI devices")
        if names != self._seen:
            finding = FieldReader()
            self._known = self._find(names, finding)
            self._skipped = finding.missing
            self._seen = names
            self._speeds_max.clear()
            self._widths_max.clear()
        devices = {name: self._device(known, fields) for name, known in self._known.items()}
        if not devices:
            raise SourceAbsent(f"{self._folder}: neither GPU, network card nor NVMe disk")
        joined = (with_reach(device, devices) for device in devices.values())
        return Reading(Pcie(tuple(joined)), (*self._skipped, *fields.missing))

    def _find(self, names: list[str], fields: FieldReader) -> dict[str, PcieDevice]:
        """Find the devices that matter and every port above them, by address."""
        slots = self._slot_names(fields)
        result: dict[str, PcieDevice] = {}
        for name in filter(is_pci_address, names):
            code = fields.label(f"{name} class", self._file(name, "class")) or ""
            kind = self._kind(name, code, fields)
            if kind is None:
                continue
            real_path = os.path.realpath(f"{self._folder}/{name}")
            path = tuple(addresses_in(real_path))
            for depth, address in enumerate(path[:-1], start=1):
                if address not in result:
                    result[address] = self._found("port", path[:depth], slots, fields)
            device = self._found(kind, path or (name,), slots, fields)
            is_lent = code.startswith(ETHERNET) and LENT.search(real_path) is not None
            result[name] = replace(device, is_lent=is_lent)
        return dict(sorted(result.items()))

    def _kind(self, name: str, code: str, fields: FieldReader) -> str | None:
        """Return the kind of the device; None for unimportant ones and virtual functions."""
        kind = KINDS.get(code[:6])
        if kind is None or is_there(self._file(name, "physfn")):
            return None
        if code.startswith(DISPLAY):
            vendor = self._vendor(name, fields)
            return kind if vendor is None or vendor in GRAPHICS_MAKERS else None
        return kind

    def _found(
        self, kind: str, path: tuple[str, ...], slots: Mapping[str, str], fields: FieldReader
    ) -> PcieDevice:
        """Read what does not change while a device is there; its path starts at the processor."""
        address = path[-1]
        numa = fields.number(f"{address} numa_node", self._file(address, "numa_node"))
        return PcieDevice(
            device=address,
            kind=kind,
            parent=path[-2] if len(path) > 1 else None,
            slot=slots.get(address.rpartition(".")[0]),
            numa_node=None if numa is None or numa < 0 else numa,  # NUMA_NO_NODE is -1
            vendor=None if kind == "nvme" else self._vendor(address, fields),
        )

    def _vendor(self, name: str, fields: FieldReader) -> str | None:
        return fields.label(f"{name} vendor", self._file(name, "vendor"))

    def _slot_names(self, fields: FieldReader) -> dict[str, str]:
        """Read the names of slots by the address, without function, of the device in the slot."""
        result = {}
        for slot in names_or_none(self._slots):
            address = fields.label(f"slot {slot}", self._slots / slot / "address")
            if address is not None:
                result[address] = slot
        return result

    def _device(self, known: PcieDevice, fields: FieldReader) -> PcieDevice:
        """Add what changes: the driver, the errors and the link."""
        name = known.device
        counted = self._errors(name, fields)
        power = fields.label(f"{name} power", self._file(name, "power/runtime_status"))
        is_asleep = power == "suspended"
        return replace(
            known,
            driver=link_name(self._file(name, "driver")),
            suspended=is_asleep,
            errors=tuple(
                PcieError(severity, error, count)
                for severity, errors in counted.items()
                for error, count in errors.items()
                if count
            ),
            errors_by_severity=tuple(
                (severity, sum(errors.values())) for severity, errors in counted.items()
            ),
            # Registers are not read while it sleeps: that would wake it, or read all ones.
            **({} if is_asleep else self._link(name, fields)),
        )

    def _link(self, name: str, fields: FieldReader) -> dict[str, Any]:
        """Read speed and width of the link, and the most that the device can do."""
        return {
            "speed_bytes_per_second": self._speed(name, "current_link_speed", fields),
            "speed_max_bytes_per_second": self._speeds_max.get(
                name, lambda: self._speed(name, "max_link_speed", fields)
            ),
            "width": self._width(name, "current_link_width", fields),
            "width_max": self._widths_max.get(
                name, lambda: self._width(name, "max_link_width", fields)
            ),
        }

    def _file(self, name: str, file: str) -> str:
        return f"{self._folder}/{name}/{file}"

    def _speed(self, name: str, file: str, fields: FieldReader) -> float | None:
        return parse_speed(fields.text(f"{name} {file}", self._file(name, file)) or "")

    def _width(self, name: str, file: str, fields: FieldReader) -> int | None:
        """Read lanes; 0 and 255 stand for no link and for a device that does not answer."""
        # PCIE_LNK_WIDTH_UNKNOWN is 255 (include/linux/pci.h); all ones in the six bits of the link
        # status register, from a device that is gone, read as 63.
        width = fields.count(f"{name} {file}", self._file(name, file))
        return width if width is not None and 0 < width <= 32 else None  # noqa: PLR2004 - x32 is the widest

    def _errors(self, name: str, fields: FieldReader) -> dict[str, Mapping[str, int]]:
        result = {}
        for severity, file in SEVERITIES.items():
            text = fields.text(f"{name} {file}", self._file(name, file)) or ""
            if errors := parse_aer(text):
                result[severity] = errors
        return result


@lru_cache(maxsize=64)
def parse_aer(text: str) -> Mapping[str, int]:
    """Parse the errors of one severity by the kernel's names, without the total.

    Most devices say the same: that there was none.
    """
    return {match[1]: int(match[2]) for match in ERROR.finditer(text)}


@lru_cache(maxsize=64)
def parse_speed(text: str) -> float | None:
    """Parse bytes per second of one lane in one direction; None for `Unknown`."""
    match = SPEED.match(text)
    if match is None:
        return None
    gigatransfers = float(match[1])
    if gigatransfers < 8:  # noqa: PLR2004 - generations 1 and 2 send ten bits for each byte
        return round(gigatransfers * 1e9 / 10)
    if gigatransfers < 64:  # noqa: PLR2004 - generations 3 to 5 send 130 bits for 128
        return round(gigatransfers * 1e9 / 8 * 128 / 130)
    return round(
        gigatransfers * 1e9 / 8 * 242 / 256
    )  # from generation 6 on, 242 of 256 bytes are data


def with_reach(device: PcieDevice, devices: Mapping[str, PcieDevice]) -> PcieDevice:
    """Add the best that the link can do: what both of its ends can."""
    above = devices.get(device.parent or "")
    if above is None or above.vendor in VIRTUAL_MACHINES:
        return device
    return replace(
        device,
        speed_reachable_bytes_per_second=_lower(
            device.speed_max_bytes_per_second, above.speed_max_bytes_per_second
        ),
        width_reachable=_lower(device.width_max, above.width_max),
    )


def _lower(own: N | None, above: N | None) -> N | None:
    return own if own is None or above is None else min(own, above)
