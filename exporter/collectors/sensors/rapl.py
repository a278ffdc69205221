"""Energy the processors used, from /sys/class/powercap (RAPL).

https://docs.kernel.org/power/powercap/powercap.html
Only root may read the meters: their fine steps have given away secrets (CVE-2020-8694).
"""

import re
from pathlib import Path

from exporter.collectors.sensors.values import EnergyMeter, EnergyMeters
from exporter.model.label import clean_text
from exporter.model.reading import Reading
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.reading.sysfs import FieldReader, names_in, parse_counter

ZONE = re.compile(r"intel-rapl:[0-9]+(?::[0-9]+)?")
MICROJOULES_PER_JOULE = 1_000_000
HW_TYPES = {"package": "cpu", "dram": "memory", "psys": "node"}
"""Other zones (core, uncore) are parts of their package and would be counted twice."""


class RaplReader:
    """Reads the zones under a sys root, and adds up what they count between two wraps."""

    def __init__(self, sys_root: Path) -> None:
        self._folder = sys_root / "class/powercap"
        self._counted: dict[str, tuple[int, int]] = {}  # last read, and added up

    def read(self) -> Reading[EnergyMeters]:
        """Read all meters now; raise SourceAbsent where there is none, or none that we may read."""
        fields = FieldReader()
        names = [name for name in names_in(self._folder, "energy meters") if ZONE.fullmatch(name)]
        meters = [meter for name in names if (meter := self._meter(name, fields)) is not None]
        if not meters:
            reason = fields.missing[0].reason if fields.missing else "it holds no energy meter"
            raise SourceAbsent(f"{self._folder}: {reason}")
        return Reading(EnergyMeters(tuple(meters)), fields.missing)

    def _meter(self, name: str, fields: FieldReader) -> EnergyMeter | None:
        """Read the meter of one zone; None for a part of another zone, or an unreadable one."""
        folder = self._folder / name
        zone = fields.label(name, folder / "name") or ""
        hw_type = HW_TYPES.get(zone.partition("-")[0])
        if hw_type is None:
            return None
        try:
            energy = parse_counter(read_text(folder / "energy_uj", 64))
        except SourceAbsent:
            return None  # gone since it was listed
        except SourceFailed as failed:
            fields.skip(name, f"{failed}; only root may")
            return None
        if energy is None:
            fields.skip(name, "energy_uj does not hold a counter")
            return None
        highest = fields.count(name, folder / "max_energy_range_uj") or 0
        total = self._added_up(name, energy, highest)
        hw_id = clean_text(self._hw_id(name, zone, fields))
        return EnergyMeter(hw_type, hw_id, total / MICROJOULES_PER_JOULE)

    def _added_up(self, name: str, raw: int, highest: int) -> int:
        """Return the first value of a meter plus all increases since.

        A meter wraps at its highest value; without a usable one, a decrease is a reset to zero.
        """
        before, total = self._counted.get(name, (0, 0))
        step = raw - before
        if step < 0:
            step = raw + highest - before if highest >= before else raw
        self._counted[name] = raw, total + step
        return total + step

    def _hw_id(self, name: str, zone: str, fields: FieldReader) -> str:
        """Name the zone, and for a part the package it belongs to."""
        parent, colon, _ = name.rpartition(":")
        if colon and ":" in parent:
            package = fields.label(name, self._folder / parent / "name") or parent
            return f"{package}/{zone}"
        return zone
