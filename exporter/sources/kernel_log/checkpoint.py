"""The small file that lets a restart neither lose nor repeat what the log said in this boot."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.model.kernel_log import XidCount
from exporter.sources.kernel_log.counters import Counters
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
        """Whether this record had been read."""
        if sequence is not None and self.sequence is not None:
            return sequence <= self.sequence
        return stamp <= self.stamp


@dataclass(frozen=True, slots=True)
class Saved:
    """What an earlier process of this boot left: where it stopped, and its counters."""

    position: Position
    counters: Counters


def dump_state(boot_id: str, position: Position, counters: Counters) -> str:
    """The text of the file."""
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
    """Take apart what the file holds; raises one of MISFITS."""
    sequence = state["sequence"]
    position = Position(None if sequence is None else int(sequence), float(state["stamp"]))
    return Saved(position, _counters(state))


def state_file(directory: Path, boot_id: str) -> StateFile:
    """Name the file of this boot in this directory."""
    return StateFile(directory / FILE_NAME, boot_id, VERSION, max_bytes=MAX_BYTES)


def _counters(state: Mapping[str, Any]) -> Counters:
    xids = [XidCount(str(gpu), int(code), int(n), float(at)) for gpu, code, n, at in state["xids"]]
    return Counters(
        records=int(state["records"]),
        lost=int(state["lost"]),
        suppressed=int(state["suppressed"]),
        number=int(state["number"]),
        rejected=_counter(state["rejected"]),
        kinds=_counter(state["kinds"]),
        types=_counter(state["types"]),
        xids={(xid.gpu, xid.code): xid for xid in xids},
        gpu_uuids={str(pci): str(uuid) for pci, uuid in state["gpu_uuids"].items()},
    )


def _counter(numbers: Mapping[str, Any]) -> Counter[str]:
    return Counter({str(name): int(number) for name, number in numbers.items()})
