"""The small file that lets a restart neither lose nor repeat what the log said in this boot."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.model.kernel_log import XidCount
from exporter.sources.kernel_log.counters import Tally

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
    tally: Tally


def dump_state(boot_id: str, position: Position, tally: Tally) -> str:
    """The text of the file."""
    xids = [[xid.gpu, xid.code, xid.count, xid.last_at] for xid in tally.xids.values()]
    return json.dumps(
        {
            "version": VERSION,
            "boot_id": boot_id,
            "sequence": position.sequence,
            "stamp": position.stamp,
            "records": tally.records,
            "lost": tally.lost,
            "suppressed": tally.suppressed,
            "number": tally.number,
            "rejected": tally.rejected,
            "kinds": tally.kinds,
            "types": tally.types,
            "xids": xids,
            "gpu_uuids": tally.gpu_uuids,
        },
        separators=(",", ":"),
    )


def load_state(text: str, boot_id: str) -> Saved | None:
    """What the text says, or None when it is of another boot, another version or malformed."""
    try:
        state = json.loads(text)
        if state["version"] != VERSION or state["boot_id"] != boot_id:
            return None
        sequence = state["sequence"]
        position = Position(None if sequence is None else int(sequence), float(state["stamp"]))
        return Saved(position, _tally(state))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def read_state(directory: Path, boot_id: str) -> Saved | None:
    """What the file in this directory says; None when it is not there or not of this boot."""
    try:
        with (directory / FILE_NAME).open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return load_state(text, boot_id)


def write_state(directory: Path, text: str) -> None:
    """Replace the file whole; raises OSError."""
    target = directory / FILE_NAME
    scratch = directory / f".{FILE_NAME}.{os.getpid()}"
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(target)


def _tally(state: Mapping[str, Any]) -> Tally:
    xids = [XidCount(str(gpu), int(code), int(n), float(at)) for gpu, code, n, at in state["xids"]]
    return Tally(
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
