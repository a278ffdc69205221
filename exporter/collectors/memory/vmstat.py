"""Swapping, major faults and killed processes, from /proc/vmstat.

https://docs.kernel.org/admin-guide/mm/index.html
"""

import os
from pathlib import Path

from exporter.collectors.memory.values import Paging
from exporter.exposition.rows import read_from
from exporter.model.reading import Reading
from exporter.reading.files import read_text
from exporter.reading.source import SourceFailed
from exporter.reading.sysfs import FieldReader, parse_counter

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SOURCES = read_from(Paging)


class PagingReader:
    """Reads `vmstat` under a proc root."""

    def __init__(self, proc_root: Path) -> None:
        self._path = proc_root / "vmstat"

    def read(self) -> Reading[Paging]:
        """Read the counters now; raise SourceAbsent or SourceFailed."""
        fields = FieldReader()
        numbers = parse_vmstat(read_text(self._path))
        for name in SOURCES.values():  # oom_kill is there since Linux 4.13
            if numbers.get(name) is None:
                fields.skip(name, "not said by vmstat")
        values = {
            field: _pages(numbers.get(name)) if field.endswith("_bytes") else numbers.get(name)
            for field, name in SOURCES.items()
        }
        return Reading(Paging(**values), fields.missing)


def parse_vmstat(text: str) -> dict[str, int]:
    """Parse the counters of `vmstat` that we show; raise SourceFailed when it has none."""
    result = {}
    for line in text.split("\n"):
        name, _, word = line.partition(" ")
        if name in SOURCES.values() and (number := parse_counter(word)) is not None:
            result[name] = number
    if not result:
        raise SourceFailed("vmstat holds no counter that is known")
    return result


def _pages(number: int | None) -> int | None:
    return None if number is None else number * PAGE_BYTES
