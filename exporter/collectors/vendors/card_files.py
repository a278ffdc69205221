"""The files of one card in sysfs: single values, its sensors, and whether it is gone.

https://docs.kernel.org/hwmon/sysfs-interface.html
"""

import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from exporter.model.label import clean_text
from exporter.model.reading import Labeled, Missing
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.record import dataclass

GONE = {errno.ENODEV, errno.ENXIO}
MAX_VALUE_BYTES = 4096
NUMBER = re.compile(r"-?[0-9]{1,20}")
GENERATIONS = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
ALL_ONES = b"\xff\xff\xff\xff"
MAX_LANES = 32
MILLI, MICRO = 1e3, 1e6
MAX_CHANNELS = 16


class CardFiles:
    """Reads files below a folder; a file that is not there is None, one that fails is noted."""

    def __init__(self, folder: Path | str, label: str) -> None:
        self.folder = str(folder)
        self._label = label
        self.missing: list[Missing] = []
        self.is_gone = False

    def text(self, name: str, limit: int = MAX_VALUE_BYTES) -> str | None:
        """Read a file."""
        try:
            return read_text(f"{self.folder}/{name}", limit)
        except SourceAbsent:
            return None  # hardware or a kernel without it
        except SourceFailed as failed:
            cause = failed.__cause__
            self.is_gone |= isinstance(cause, OSError) and cause.errno in GONE
            self.missing.append(Missing(f"{self._label}.{name}", clean_text(str(failed))))
            return None

    def label(self, name: str) -> str | None:
        """Read a file as a label; None where it is empty, or says that it does not know."""
        text = clean_text(self.text(name) or "")
        return text if text and text.lower() not in ("n/a", "unknown", "none") else None

    def integer(self, name: str) -> int | None:
        """Read a whole number."""
        text = (self.text(name, 64) or "").strip()
        return int(text) if NUMBER.fullmatch(text) else None

    def number(self, name: str, per_unit: float = 1.0) -> float | None:
        """Read a number of parts, as millionths; `per_unit` of them are one."""
        found = self.integer(name)
        return None if found is None else found / per_unit

    def bytes(self, name: str, limit: int) -> bytes | None:
        """Read a file that is no text; None where it cannot be read."""
        try:
            with open(f"{self.folder}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - no Path for each
                return file.read(limit)
        except OSError as error:
            if error.errno != errno.ENOENT:
                self.missing.append(Missing(f"{self._label}.{name}", error.strerror or "failed"))
            return None

    def names(self, folder: str = "") -> list[str]:
        """List a folder, sorted; empty where there is none."""
        try:
            return sorted(os.listdir(f"{self.folder}/{folder}"))  # noqa: PTH208 - names are wanted
        except OSError:
            return []  # hardware or a kernel without it

    def first_folder(self, parent: str, prefix: str) -> str | None:
        """Find the one folder below another whose number differs from boot to boot."""
        names = [name for name in self.names(parent) if name.startswith(prefix)]
        return f"{parent}/{names[0]}" if names else None

    @property
    def is_virtual(self) -> bool:
        """Whether it is a virtual function: a share of a card, whose vendor reads as all ones."""
        return os.path.lexists(f"{self.folder}/physfn")

    @property
    def is_suspended(self) -> bool:
        """Whether the device sleeps: reading more of it would wake it."""
        return (self.text("power/runtime_status") or "").strip() == "suspended"

    @property
    def is_lost(self) -> bool:
        """Whether the device no longer answers on the bus: its registers read as all ones."""
        return self.is_gone or self.bytes("config", 4) == ALL_ONES

    def numa_node(self) -> int | None:
        """Read the NUMA node of the card; None on a node that has one only."""
        node = self.integer("numa_node")
        return None if node is None or node < 0 else node

    def link(self) -> dict[str, Any]:
        """Read the PCIe link: generation and lanes, now and at most."""
        return {
            "pcie_link_generation": self._generation("current_link_speed"),
            "pcie_link_generation_max": self._generation("max_link_speed"),
            "pcie_link_width": self._lanes("current_link_width"),
            "pcie_link_width_max": self._lanes("max_link_width"),
        }

    def _generation(self, name: str) -> int | None:
        return GENERATIONS.get((self.text(name, 64) or "").partition(" ")[0])

    def _lanes(self, name: str) -> int | None:
        """Read lanes; 0 and 255 stand for no link and for a device that does not answer."""
        lanes = self.integer(name)
        return lanes if lanes is not None and 0 < lanes <= MAX_LANES else None


def labeled(rows: Iterable[tuple[str, float | None]]) -> Labeled | None:
    """Keep the rows that are known; None where there is none."""
    return tuple((label, value) for label, value in rows if value is not None) or None


@dataclass(frozen=True, slots=True)
class Channel:
    """One sensor: the start of its file names."""

    files: CardFiles
    start: str

    def value(self, ending: str, per_unit: float) -> float | None:
        """Read one value; a value of `per_unit` in the file is one unit."""
        return self.files.number(f"{self.start}_{ending}", per_unit)

    def margin(self) -> float | None:
        """Read how many degrees Celsius a temperature is below its limit; None without a limit."""
        now, limit = self.value("input", MILLI), self.value("crit", MILLI)
        return limit - now if limit and now is not None else None


def heat_of(chip: Channel | None, memory: Channel | None) -> dict[str, Any]:
    """Read the temperatures of a chip and its memory, and their limits, in degrees Celsius."""

    def value(channel: Channel | None, ending: str) -> float | None:
        return channel.value(ending, MILLI) if channel else None

    return {
        "temperature_celsius": value(chip, "input"),
        "memory_temperature_celsius": value(memory, "input"),
        "temperature_threshold_celsius": labeled(
            (
                ("shutdown", value(chip, "emergency")),
                ("slowdown", value(chip, "crit")),
                ("memory_max", value(memory, "crit")),
            )
        ),
    }


class HwmonSensors:
    """The sensors of one card; empty where its driver shows none."""

    def __init__(self, files: CardFiles, name: str) -> None:
        """`name` is that of the card's own chip: some drivers add one for each part of it."""
        self._files = files
        chips = [chip for chip in files.names("hwmon") if chip.startswith("hwmon")]
        named = (f"hwmon/{chip}" for chip in chips if files.label(f"hwmon/{chip}/name") == name)
        self._folder = next(named, "hwmon/none")
        self._names = set(files.names(self._folder))

    def labeled(self, kind: str) -> dict[str, Channel]:
        """Find the channels of a kind (temp, power, energy, freq) by label, else by their name."""
        found: dict[str, Channel] = {}
        for number in range(1, MAX_CHANNELS):
            start = f"{kind}{number}"
            if not any(name.startswith(f"{start}_") for name in self._names):
                continue
            label = start
            if f"{start}_label" in self._names:
                label = self._files.label(f"{self._folder}/{start}_label") or start
            found.setdefault(label, Channel(self._files, f"{self._folder}/{start}"))
        return found

    def channel(self, name: str) -> Channel:
        """Return the channel with this name, as `power1`."""
        return Channel(self._files, f"{self._folder}/{name}")

    def has(self, name: str) -> bool:
        """Tell whether a file is there."""
        return name in self._names

    def first_of(self, names: tuple[str, ...], per_unit: float) -> float | None:
        """Read the first of these files that is there."""
        found = (
            self._files.number(f"{self._folder}/{name}", per_unit)
            for name in names
            if self.has(name)
        )
        return next((value for value in found if value is not None), None)

    def integer(self, name: str) -> int | None:
        """Read a file that holds a whole number."""
        return self._files.integer(f"{self._folder}/{name}") if self.has(name) else None
