"""Vendor, product and board, from /sys/class/dmi/id (DMI, SMBIOS).

https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-firmware-dmi-tables
Serial numbers are not read: only root may.
"""

from pathlib import Path

from exporter.collectors.node.values import Hardware
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader

PLACEHOLDERS = frozenset(
    {"default string", "none", "not applicable", "not specified", "system product name"}
)


class DmiReader:
    """Reads five files under a sys root."""

    def __init__(self, sys_root: Path) -> None:
        self._folder = sys_root / "class/dmi/id"

    def read(self) -> Reading[Hardware]:
        """Read the names of the board; raise SourceAbsent if there are none."""
        fields = FieldReader()
        hardware = Hardware(
            vendor=self._name("sys_vendor", fields),
            product=self._name("product_name", fields),
            board=self._name("board_name", fields),
            bios_version=self._name("bios_version", fields),
            bios_date=self._name("bios_date", fields),
        )
        if hardware == Hardware():
            raise SourceAbsent(f"{self._folder} names no hardware")
        return Reading(hardware, fields.missing)

    def _name(self, file: str, fields: FieldReader) -> str | None:
        """Read a name; None for the placeholders that vendors leave in."""
        name = fields.label(file, self._folder / file)
        is_name = name and name.lower() not in PLACEHOLDERS and "o.e.m." not in name.lower()
        return name if is_name else None
