"""What survives a restart within the same boot: faults whose evidence were events, and these."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.faults.alert_state import Binding, Slot
from exporter.model.event import Event, EventType
from exporter.model.verdict import Evidence
from exporter.state import StateFile, dump

NAME = "faults.json"
VERSION = 1
MAX_EVENTS = 1000
MAX_FAULTS = 500
MAX_RAW_CHARS = 200


@dataclass(frozen=True, slots=True)
class Kept:
    """Faults and events to take over, of the boot with this id."""

    boot_id: str
    bindings: Mapping[Slot, Binding]
    events: tuple[Event, ...] = ()


def to_text(kept: Kept) -> str:
    """Write the latest events and the faults as the text of the file."""
    events = sorted(kept.events, key=lambda event: event.boottime)[-MAX_EVENTS:]
    faults = list(kept.bindings.items())[:MAX_FAULTS]
    content = {
        "faults": [_fault_row(slot, binding) for slot, binding in faults],
        "events": [_event_row(event) for event in events],
    }
    return dump(content, kept.boot_id, VERSION)


def decode(document: Mapping[str, Any]) -> Kept:
    """Take apart what the file holds; raises one of MISFITS."""
    faults = dict(map(_fault, document["faults"]))
    return Kept(str(document["boot_id"]), faults, tuple(map(_event, document["events"])))


def state_file(folder: Path, boot_id: str) -> StateFile:
    """Name the file of this boot in this directory."""
    return StateFile(folder / NAME, boot_id, VERSION)


def _fault_row(slot: Slot, binding: Binding) -> dict[str, Any]:
    return {
        "rule": slot.rule,
        "key": slot.key,
        "partner": slot.partner,
        "onset": binding.onset,
        "seen": binding.seen,
        "escalated": binding.is_escalated,
        "confidence": binding.confidence,
        "summary": binding.summary,
        "last_evidence": binding.last_evidence,
        "evidence": [
            [piece.name, piece.value, piece.threshold, piece.at, piece.raw[:MAX_RAW_CHARS]]
            for piece in binding.evidence
        ],
    }


def _fault(row: Mapping[str, Any]) -> tuple[Slot, Binding]:
    kind, entity_id = map(str, row["key"])
    partner = row["partner"] and (str(row["partner"][0]), str(row["partner"][1]))
    binding = Binding(
        onset=float(row["onset"]),
        seen=float(row["seen"]),
        is_active=True,
        is_escalated=bool(row["escalated"]),
        confidence=float(row["confidence"]),
        summary=str(row["summary"]),
        last_evidence=float(row["last_evidence"]),
        evidence=tuple(_evidence(piece) for piece in row["evidence"]),
    )
    return Slot(str(row["rule"]), (kind, entity_id), partner or None), binding


def _evidence(row: Iterable[Any]) -> Evidence:
    name, value, threshold, at, raw = row
    if not isinstance(value, (float, int, bool, str, type(None))):
        raise TypeError("a value of evidence is no number and no text")
    return Evidence(str(name), value, str(threshold), float(at), str(raw))


def _event_row(event: Event) -> list[Any]:
    about = [event.entity_type, event.entity_id, event.source, event.pid]
    times = [event.at, event.boottime, event.type.value, event.kind]
    return [*times, *about, dict(event.fields), event.raw[:MAX_RAW_CHARS]]


def _event(row: Iterable[Any]) -> Event:
    at, boottime, event_type, kind, entity_type, entity_id, source, pid, fields, raw = row
    return Event(
        at=float(at),
        boottime=float(boottime),
        type=EventType(event_type),
        kind=str(kind),
        entity_type=str(entity_type),
        entity_id=str(entity_id),
        source=str(source),
        fields={str(name): str(value) for name, value in fields.items()},
        pid=None if pid is None else int(pid),
        raw=str(raw),
    )
