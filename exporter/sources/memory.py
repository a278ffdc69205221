"""Main memory, from /proc/meminfo (https://docs.kernel.org/filesystems/proc.html#meminfo)."""

from pathlib import Path

from exporter.model.node import Memory
from exporter.model.reading import Reading
from exporter.sources.files import read_text
from exporter.sources.interface import SourceFailed


class MemoryReader:
    """Reads `meminfo` under a proc root."""

    def __init__(self, proc_root: Path) -> None:
        self._path = proc_root / "meminfo"

    def look(self) -> Reading[Memory]:
        """Memory now; raises SourceAbsent or SourceFailed."""
        return Reading(parse_meminfo(read_text(self._path)))


def parse_meminfo(text: str) -> Memory:
    """Memory in bytes; raises SourceFailed when total or available is not said."""
    fields = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isascii() and words[0].isdigit():
            # The kernel says kB and means KiB.
            fields[name] = int(words[0]) * 1024
    total, available = fields.get("MemTotal"), fields.get("MemAvailable")
    if total is None or available is None:
        raise SourceFailed("meminfo does not say MemTotal and MemAvailable")
    return Memory(total_bytes=total, available_bytes=min(available, total))
