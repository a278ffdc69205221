"""Two sets of maps that take turns: how programs write and print them, and what one set holds.

Each count is made in one of two sets of maps. Every second the sets change places, or the one at
rest is printed and cleared: `@full` is cleared behind it, and only then is it written to again, so
that no call is lost between the two. Keys hold the thread: no two write to one entry at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from exporter.record import dataclass

END = "end"
"""What a program prints behind the last of its maps; the only sign of life of an idle one."""

TICK_SECS = 1

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


def in_both(text: str) -> str:
    """Write it for the set of maps that is in use."""
    return f"if (@set == 0) {{ {text.replace('SET', '0')} }} else {{ {text.replace('SET', '1')} }}"


def turns(names: Sequence[str], as_they_are: Sequence[str] = ()) -> str:
    """Write what happens every second to the two sets of these maps.

    Maps that are not in sets are printed last, as they are at that moment.
    """
    return (
        f"interval:s:{TICK_SECS} {{ if (@set == 0) {{ {_turn(names, as_they_are, 0)} }}"
        f" else {{ {_turn(names, as_they_are, 1)} }} }}"
    )


def _turn(names: Sequence[str], as_they_are: Sequence[str], busy: int) -> str:
    """Write one tick: the set at rest is emptied, or has been and is next."""
    rest = 1 - busy
    maps = [f"{name}{rest}" for name in names]
    printed = " ".join(f"print({name});" for name in (*maps, *as_they_are))
    cleared = " ".join(f"clear({name});" for name in (*maps, f"@full{rest}"))
    return (
        f'if (@full{rest}[0]) {{ {printed} printf("{END}\\n"); {cleared} }}'
        f" else {{ @full{busy}[0] = 1; @set = {rest}; }}"
    )
