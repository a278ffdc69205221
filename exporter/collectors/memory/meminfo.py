"""Main memory, from /proc/meminfo (https://docs.kernel.org/filesystems/proc.html#meminfo).

The cache of ZFS (ARC) is no cache of Linux: man 4 zfs, zfs_arc_max.
"""

from collections.abc import Mapping
from pathlib import Path

from exporter.collectors.memory.values import Memory
from exporter.exposition.rows import read_from
from exporter.model.reading import Missing, Reading
from exporter.reading.files import read_text
from exporter.reading.source import SourceFailed
from exporter.reading.sysfs import FieldReader, parse_counter
from exporter.record import replace

MAX_ARC_BYTES = 64 * 1024


class MemoryReader:
    """Reads `meminfo` under a proc root."""

    def __init__(self, proc_root: Path) -> None:
        self._path = proc_root / "meminfo"
        self._arc = proc_root / "spl/kstat/zfs/arcstats"

    def read(self) -> Reading[Memory]:
        """Read memory now; raise SourceAbsent or SourceFailed."""
        text = read_text(self._path)
        is_estimated = "MemAvailable:" not in text
        reason = "not said by meminfo: estimated from MemFree and the caches"
        missing = (Missing("available_bytes", reason),) if is_estimated else ()
        fields = FieldReader()
        arc = parse_arc(fields.text("arc_bytes", self._arc, MAX_ARC_BYTES) or "")
        return Reading(replace(parse_meminfo(text), arc_bytes=arc), (*missing, *fields.missing))


def parse_meminfo(text: str) -> Memory:
    """Parse memory in bytes; raises SourceFailed when neither total nor free is said.

    Kernels before 3.14, and some containers, leave MemAvailable out: it is then estimated.
    """
    fields = {}
    for line in text.split("\n"):
        name, _, rest = line.partition(":")
        number = parse_counter((rest.split() or [""])[0])
        if number is not None:
            fields[name] = number
    total, available = _bytes(fields, "MemTotal"), _bytes(fields, "MemAvailable")
    if available is None and "MemFree" in fields:
        available = _estimated_available(fields)
    if total is None or available is None:
        raise SourceFailed("meminfo does not say MemTotal and how much of it is available")
    return Memory(
        total_bytes=total,
        available_bytes=min(available, total),
        **{name: _bytes(fields, source) for name, source in read_from(Memory).items()},
        swap_total_bytes=_bytes(fields, "SwapTotal"),
        swap_free_bytes=_bytes(fields, "SwapFree"),
        hugetlb_bytes=_bytes(fields, "Hugetlb"),
    )


def parse_arc(text: str) -> int | None:
    """Parse the size of the cache of ZFS in its rows `name type data`; None without it."""
    rows = (line.split() for line in text.split("\n"))
    return next((parse_counter(row[-1]) for row in rows if row[:1] == ["size"]), None)


def _estimated_available(fields: Mapping[str, int]) -> int:
    """Add up what is free and what the kernel can drop, in bytes; shared memory it cannot."""
    droppable = sum(fields.get(name, 0) for name in ("Buffers", "Cached", "SReclaimable"))
    return (fields["MemFree"] + max(0, droppable - fields.get("Shmem", 0))) * 1024


def _bytes(fields: Mapping[str, int], name: str) -> int | None:
    """Convert the field to bytes: the kernel says kB and means KiB, or counts huge pages."""
    if name.startswith("HugePages_"):
        size = _bytes(fields, "Hugepagesize")
        return fields[name] * size if name in fields and size is not None else None
    return fields[name] * 1024 if name in fields else None
