"""Frequencies, heat and machine checks of the processors.

https://docs.kernel.org/admin-guide/pm/cpufreq.html (scaling_cur_freq, in kHz)
https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-devices-system-cpu (thermal_throttle)
https://docs.kernel.org/filesystems/proc.html (interrupts; the row MCE counts the exceptions)
"""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path

from exporter.collectors.cpu.values import CpuHealth
from exporter.model.reading import Labeled, Reading
from exporter.reading.seldom import Seldom
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader, names_in, parse_counter

CPU = re.compile(r"cpu[0-9]+")
HERTZ_PER_KILOHERTZ = 1000
MAX_INTERRUPTS_BYTES = 8 * 1024 * 1024
"""512 processors and 2,000 interrupts write this much."""


class CpuHealthReader:
    """Reads the folders of all processors under a sys root, and `interrupts`."""

    def __init__(self, proc_root: Path, sys_root: Path) -> None:
        self._interrupts = proc_root / "interrupts"
        self._folder = sys_root / "devices/system/cpu"
        self._core_throttles: dict[Hashable, int] = {}
        self._package_throttles: dict[Hashable, int] = {}
        self._checks: dict[Hashable, int] = {}
        self._fastest: Seldom[int] = Seldom()
        self._ids: Seldom[str] = Seldom()

    def read(self) -> Reading[CpuHealth]:
        """Read all of them now; raise SourceAbsent where none is said, or SourceFailed."""
        fields = FieldReader()
        names = [name for name in names_in(self._folder, "processors") if CPU.fullmatch(name)]
        folders = [f"{self._folder}/{name}" for name in names]
        fastest = self._fastest.get("", lambda: self._highest(folders, fields))
        health = CpuHealth(
            frequencies=spread(self._kilohertz(folders, "scaling_cur_freq", fields)),
            frequency_max_hertz=None if fastest is None else fastest * HERTZ_PER_KILOHERTZ,
            thermal_throttles=self._throttles(folders, fields),
            machine_checks=self._machine_checks(fields),
        )
        if health == CpuHealth():
            raise SourceAbsent("neither frequencies, throttling nor machine checks are reported")
        return Reading(health, fields.missing)

    def _highest(self, folders: Iterable[str], fields: FieldReader) -> int | None:
        return max(self._kilohertz(folders, "cpuinfo_max_freq", fields), default=None)

    def _id(self, name: str, topology: str, fields: FieldReader) -> str | None:
        """Read where a processor sits; seldom, for it stays there."""
        path = f"{topology}/{name}"
        return self._ids.get(path, lambda: fields.label(name, path))

    def _kilohertz(self, folders: Iterable[str], name: str, fields: FieldReader) -> list[int]:
        result = (fields.count(name, f"{folder}/cpufreq/{name}") for folder in folders)
        return [number for number in result if number]

    def _throttles(self, folders: Iterable[str], fields: FieldReader) -> Labeled:
        """Sum over cores and over packages: every thread of one shows the count of all."""
        cores: dict[Hashable, int] = {}
        packages: dict[Hashable, int] = {}
        for folder in folders:
            throttle, topology = f"{folder}/thermal_throttle", f"{folder}/topology"
            of_core = fields.count("core_throttle_count", f"{throttle}/core_throttle_count")
            if of_core is None:
                continue  # other makes of processors count nothing; an offline one is gone
            package = self._id("physical_package_id", topology, fields)
            core = (package, self._id("core_id", topology, fields))
            cores[core] = max(of_core, cores.get(core, 0))
            count = fields.count("package_throttle_count", f"{throttle}/package_throttle_count")
            if count is not None:
                packages[package] = max(count, packages.get(package, 0))
        counted = (
            ("core", with_offline(self._core_throttles, cores)),
            ("package", with_offline(self._package_throttles, packages)),
        )
        return tuple((scope, float(count)) for scope, count in counted if count is not None)

    def _machine_checks(self, fields: FieldReader) -> int | None:
        text = fields.text("machine_checks", self._interrupts, MAX_INTERRUPTS_BYTES)
        return with_offline(self._checks, parse_interrupts(text or "", "MCE"))


def with_offline(kept: dict[Hashable, int], found: Mapping[Hashable, int]) -> int | None:
    """Sum counters with those of processors that are offline now; None where none is found.

    The kernel goes on to count where it left off when a processor is online again.
    """
    kept.update(found)
    return sum(kept.values()) if found else None


def spread(kilohertz: Sequence[int]) -> Labeled:
    """Return the lowest, mean and highest frequency in hertz; nothing where none is said."""
    if not kilohertz:
        return ()
    values = (min(kilohertz), sum(kilohertz) / len(kilohertz), max(kilohertz))
    names = ("min", "avg", "max")
    return tuple(
        (name, float(value * HERTZ_PER_KILOHERTZ))
        for name, value in zip(names, values, strict=True)
    )


def parse_interrupts(text: str, name: str) -> dict[Hashable, int]:
    """Parse one row of `interrupts` by online processor; empty where there is no such row."""
    counts: dict[Hashable, int] = {}
    start = text.find(f"{name}:")
    if start < 0:
        return counts
    processors = text.partition("\n")[0].split()
    words = text[start:].partition("\n")[0].split()[1:]
    for processor, word in zip(processors, words, strict=False):
        count = parse_counter(word)
        if count is None:
            break  # the words behind the numbers say what the row is
        counts[processor] = count
    return counts
