"""What one emptied set of maps holds: given on when all of it has been printed."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from exporter.record import dataclass

END = "end"
"""What a program prints behind the last of its maps; the only sign of life of an idle one."""

Entries = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """The entries of each map by its name without the number of its set."""

    maps: Mapping[str, Entries] = field(default_factory=dict)

    def entries(self, name: str) -> list[tuple[tuple[int, ...], Any]]:
        """Return keys and values of a map; raise ValueError for keys that are no numbers."""
        found = self.maps.get(name, {}).items()
        return [(tuple(int(part) for part in key.split(",")), value) for key, value in found]


class BatchReader:
    """Takes the records of one bpftrace; each has one of its own."""

    def __init__(self, on_batch: Callable[[Batch], None]) -> None:
        self._on_batch = on_batch
        self._maps: dict[str, Entries] = {}

    def take(self, record: Mapping[str, Any]) -> None:
        """Take one record: maps by name, or the text that ends them."""
        if record.get("text") == f"{END}\n":
            maps, self._maps = self._maps, {}
            self._on_batch(Batch(maps))
            return
        for name, entries in record.items():
            if not isinstance(entries, dict):
                continue  # a plain number, printed when bpftrace ends
            self._maps[name.rstrip("01")] = entries
