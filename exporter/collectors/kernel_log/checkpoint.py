"""The state file of the kernel log, so that a restart neither loses nor repeats events."""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporter.collectors.kernel_log.counters import Counters
from exporter.collectors.kernel_log.values import XidCount
from exporter.record import dataclass
from exporter.state import StateFile, dump

FILE_NAME = "kernel_log.json"
VERSION = 1
MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Position:
    """The last record that was read: by its sequence where it had one, else by its stamp."""

    sequence: int | None
    stamp: float

    def covers(self, sequence: int | None, stamp: float) -> bool:
        """Tell whether this record had been read."""
        if sequence is not None and self.sequence is not None:
            return sequence <= self.sequence
        return stamp <= self.stamp


@dataclass(frozen=True, slots=True)
class Saved:
    """What an earlier process of this boot left: where it stopped, and its counters."""

    position: Position
    counters: Counters


def dump_state(boot_id: str, position: Position, counters: Counters) -> str:
    """Write the text of the file."""
    xids = [[xid.gpu, xid.code, xid.count, xid.last_at] for xid in counters.xids.values()]
    return dump(
        {
            "sequence": position.sequence,
            "stamp": position.stamp,
            "records": counters.records,
            "lost": counters.lost,
            "suppressed": counters.suppressed,
            "number": counters.number,
            "rejected": counters.rejected,
            "kinds": counters.kinds,
            "types": counters.types,
            "xids": xids,
            "gpu_uuids": counters.gpu_uuids,
        },
        boot_id,
        VERSION,
    )


def decode(state: Mapping[str, Any]) -> Saved:
    """Take apart what the file holds; raises one of MISFITS where a type or a sign is wrong."""
    sequence = None if state["sequence"] is None else _count(state["sequence"])
    rows = (
        XidCount(_text(gpu), _count(code), _count(count), _seconds(last_at))
        for gpu, code, count, last_at in state["xids"]
    )
    counters = Counters(
        records=_count(state["records"]),
        lost=_count(state["lost"]),
        suppressed=_count(state["suppressed"]),
        number=_count(state["number"]),
        rejected=_counts(state["rejected"]),
        kinds=_counts(state["kinds"]),
        types=_counts(state["types"]),
        xids={(row.gpu, row.code): row for row in rows},
        gpu_uuids={_text(pci): _text(uuid) for pci, uuid in state["gpu_uuids"].items()},
    )
    return Saved(Position(sequence, _seconds(state["stamp"])), counters)


def state_file(directory: Path, boot_id: str) -> StateFile:
    """Name the file of this boot in this directory."""
    return StateFile(directory / FILE_NAME, boot_id, VERSION, max_bytes=MAX_BYTES)


def _counts(numbers: Mapping[str, Any]) -> Counter[str]:
    return Counter({_text(name): _count(number) for name, number in numbers.items()})


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{str(value)[:40]!r} is no count")
    return value


def _seconds(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= float(str(value)) < math.inf:
        raise ValueError(f"{str(value)[:40]!r} is no time in seconds")
    return float(str(value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is no text")
    return value
