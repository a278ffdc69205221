"""Saves faults that rest on events, with these events, over a restart within the same boot."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from exporter.faults.alert_state import Alert, AlertKey, AlertState
from exporter.faults.entities.node import NODE
from exporter.model.event import Event, EventType
from exporter.model.verdict import SEVERITIES, Cause, Evidence, Key, Subject, dated
from exporter.record import dataclass, replace
from exporter.state import StateFile, dump, time_of

NAME = "faults.json"
VERSION = 1
MAX_EVENTS = 1000
MAX_FAULTS = 500
MAX_RAW_CHARS = 200


@dataclass(frozen=True, slots=True)
class SavedFaults:
    """Saved faults and events, and when faults of this boot ended or were cleared.

    `booted_at` is the time of boot since the epoch, which dates evidence that is still so.
    """

    boot_id: str
    alerts: Mapping[AlertKey, Alert]
    events: tuple[Event, ...] = ()
    ended: Mapping[AlertKey, float] = field(default_factory=lambda: MappingProxyType({}))
    cleared: Mapping[AlertKey, float] = field(default_factory=lambda: MappingProxyType({}))
    booted_at: float = 0.0


def to_text(kept: SavedFaults) -> str:
    """Encode the faults and the latest events as the text of the file."""
    events = sorted(kept.events, key=lambda event: event.boottime)[-MAX_EVENTS:]
    content = {
        "faults": [
            _fault_row(key, alert, dated(alert.evidence, kept.booted_at + alert.seen))
            for key, alert in [*kept.alerts.items()][:MAX_FAULTS]
        ],
        "ended": _moment_rows(kept.ended),
        "cleared": _moment_rows(kept.cleared),
        "events": [_event_row(event) for event in events],
    }
    return dump(content, kept.boot_id, VERSION)


def decode(document: Mapping[str, Any], node: str = "") -> SavedFaults:
    """Decode the document of the file; raise one of MISFITS.

    A fault of the node is one of `node`, whatever the node was called then; an empty `node` changes
    no name.
    """
    return SavedFaults(
        str(document["boot_id"]),
        dict(_fault(row, node) for row in document["faults"]),
        tuple(map(_event, document["events"])),
        _moments(document.get("ended", ()), node),
        _moments(document.get("cleared", ()), node),
    )


def _moment_rows(moments: Mapping[AlertKey, float]) -> list[list[Any]]:
    return [[key.rule, key.key, at] for key, at in list(moments.items())[-MAX_FAULTS:]]


def _moments(rows: Iterable[Any], node: str) -> dict[AlertKey, float]:
    return {AlertKey(str(rule), _key(key, node)): time_of(at) for rule, key, at in rows}


def state_file(folder: Path, boot_id: str) -> StateFile:
    """Return the file of this boot in this directory."""
    return StateFile(folder / NAME, boot_id, VERSION)


def _key(row: Iterable[Any], node: str) -> Key:
    kind, entity_id = map(str, row)
    return kind, node if kind == NODE and node else entity_id


def _fault_row(key: AlertKey, alert: Alert, evidence: Iterable[Evidence]) -> dict[str, Any]:
    return {
        "rule": key.rule,
        "key": key.key,
        "onset": alert.active_since,
        "seen": alert.seen,
        "shown": alert.shown_since,
        "escalated": alert.is_escalated,
        "severity": alert.severity,
        "confidence": alert.confidence,
        "summary": alert.summary,
        "advice": alert.advice,
        "last_evidence": alert.last_evidence,
        "evidence": [
            [piece.name, piece.value, piece.threshold, piece.at, piece.raw[:MAX_RAW_CHARS]]
            for piece in evidence
        ],
        "causes": [
            [it.rule, list(astuple(it.subject)), it.via, it.summary, it.since, it.ended]
            for it in alert.causes
        ],
    }


def _fault(row: Mapping[str, Any], node: str) -> tuple[AlertKey, Alert]:
    evidence = tuple(map(_evidence, row["evidence"]))
    alert = Alert(
        active_since=time_of(row["onset"]),
        seen=time_of(row["seen"]),
        state=AlertState.ACTIVE,
        entered=time_of(row["seen"]),
        shown_since=_time_or_none(row.get("shown")),
        is_escalated=bool(row["escalated"]),
        severity=_severity(row.get("severity", "")),
        confidence=float(row["confidence"]),
        summary=str(row["summary"]),
        advice=str(row.get("advice", "")),
        last_evidence=time_of(row["last_evidence"]),
        has_events=any(piece.raw for piece in evidence),
        evidence=evidence,
        causes=tuple(_cause(cause, node) for cause in row.get("causes", ())),
    )
    return AlertKey(str(row["rule"]), _key(row["key"], node)), alert


def _severity(text: object) -> str:
    """Return the severity, which may be empty; raise ValueError for other texts."""
    if text not in ("", *SEVERITIES):
        raise ValueError(f"{text!r} is no severity")
    return str(text)


def _time_or_none(found: Any) -> float | None:
    return None if found is None else time_of(found)


def _cause(row: Iterable[Any], node: str) -> Cause:
    rule, (kind, hw_type, hw_id, hw_name), via, summary, *times = row
    subject = Subject(str(kind), str(hw_type), str(hw_id), str(hw_name))
    if kind == NODE and node:
        subject = replace(subject, hw_id=node, hw_name=node)
    since, ended = map(_time_or_none, (*times, None)[:2])
    return Cause(str(rule), subject, str(via), str(summary), since, ended)


def _evidence(row: Iterable[Any]) -> Evidence:
    name, value, threshold, at, raw = row
    if not isinstance(value, (float, int, bool, str, type(None))):
        raise TypeError("a value of evidence is no number and no text")
    return Evidence(str(name), value, str(threshold), time_of(at), str(raw))


def _event_row(event: Event) -> list[Any]:
    about = [event.entity_type, event.entity_id, event.source, event.pid]
    times = [event.at, event.boottime, event.type.value, event.kind]
    return [*times, *about, dict(event.fields), event.raw[:MAX_RAW_CHARS]]


def _event(row: Iterable[Any]) -> Event:
    at, boottime, event_type, kind, entity_type, entity_id, source, pid, fields, raw = row
    return Event(
        at=time_of(at),
        boottime=time_of(boottime),
        type=EventType(event_type),
        kind=str(kind),
        entity_type=str(entity_type),
        entity_id=str(entity_id),
        source=str(source),
        fields={str(name): str(value) for name, value in fields.items()},
        pid=None if pid is None else int(pid),
        raw=str(raw),
    )
