"""The state file of the kernel log, so that a restart neither loses nor repeats events."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporter.collectors.kernel_log.counters import Counters
from exporter.collectors.kernel_log.values import XidCount
from exporter.record import dataclass
from exporter.state import StateFile, count_of, dump, time_of

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
    sequence = None if state["sequence"] is None else count_of(state["sequence"])
    rows = (
        XidCount(_text(gpu), count_of(code), count_of(count), time_of(last_at))
        for gpu, code, count, last_at in state["xids"]
    )
    counters = Counters(
        records=count_of(state["records"]),
        lost=count_of(state["lost"]),
        suppressed=count_of(state["suppressed"]),
        number=count_of(state["number"]),
        rejected=_counts(state["rejected"]),
        kinds=_counts(state["kinds"]),
        types=_counts(state["types"]),
        xids={(row.gpu, row.code): row for row in rows},
        gpu_uuids={_text(pci): _text(uuid) for pci, uuid in state["gpu_uuids"].items()},
    )
    if (stamp := time_of(state["stamp"])) < 0:
        raise ValueError(f"{stamp} is before the boot")
    return Saved(Position(sequence, stamp), counters)


def state_file(directory: Path, boot_id: str) -> StateFile:
    """Name the file of this boot in this directory."""
    return StateFile(directory / FILE_NAME, boot_id, VERSION, max_bytes=MAX_BYTES)


def _counts(numbers: Mapping[str, Any]) -> Counter[str]:
    return Counter({_text(name): count_of(number) for name, number in numbers.items()})


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:40]!r} is no text")
    return value
