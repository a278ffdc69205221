"""Pressure stall information, from /proc/pressure (https://docs.kernel.org/accounting/psi.html)."""

from pathlib import Path

from exporter.model.pressure import Pressure, Pressures
from exporter.model.reading import Reading
from exporter.sources.files import read_text
from exporter.sources.host.sysfs import FieldReader, parse_counter, parse_decimal
from exporter.sources.interface import SourceAbsent, SourceFailed

RESOURCES = ("cpu", "memory", "io", "irq")
KINDS = ("some", "full")
MICROSECONDS_PER_SECOND = 1_000_000


class PressureReader:
    """Reads the files of `pressure` under a proc root."""

    def __init__(self, proc_root: Path) -> None:
        self._folder = proc_root / "pressure"

    def read(self) -> Reading[Pressures]:
        """Read all pressures; raise SourceAbsent where the kernel does not measure them."""
        fields = FieldReader()
        pressures: list[Pressure] = []
        for resource in RESOURCES:
            try:
                text = read_text(self._folder / resource)
            except SourceAbsent:
                continue  # irq is there since Linux 6.1
            except SourceFailed as failed:
                fields.skip(resource, str(failed))  # the files answer "not supported" with psi=0
                continue
            parsed = parse_pressure(resource, text)
            if not parsed:
                fields.skip(resource, "holds no total")
            pressures += parsed
        if not pressures:
            raise SourceAbsent(f"{self._folder}: the kernel does not measure pressure")
        return Reading(Pressures(tuple(pressures)), fields.missing)


def parse_pressure(resource: str, text: str) -> tuple[Pressure, ...]:
    """Parse the lines that are understood; one without a total is left out.

    All tasks waiting for a processor makes no sense for the whole node: the kernel writes zeros.
    """
    result = []
    for line in text.split("\n"):
        kind, *words = line.split() or [""]
        values = dict(word.split("=", 1) for word in words if "=" in word)
        total = parse_counter(values.get("total", ""))
        if kind in KINDS and total is not None and (resource, kind) != ("cpu", "full"):
            averages = {name: _share(values.get(name, "")) for name in ("avg10", "avg60", "avg300")}
            result.append(Pressure(resource, kind, total / MICROSECONDS_PER_SECOND, **averages))
    return tuple(result)


def _share(word: str) -> float | None:
    share = parse_decimal(word)
    return None if share is None or share > 100 else share  # noqa: PLR2004 - percent
