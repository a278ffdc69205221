"""Writes the readings of a moment as a line of a recording, for `rules replay`."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from exporter.faults.replay.snapshots import RecordingFormat, moments_of
from exporter.model.snapshot import Snapshot
from exporter.record import replace


def recorded(format_: RecordingFormat, snapshot: Snapshot, start: float) -> dict[str, Any]:
    """Return the line of this moment, and those of its events; times count from boot time `start`.

    A value that is not finite is left out, as an unknown one.
    """
    with_events = {row.reading for row in format_.events}
    readings: dict[str, Any] = {}
    for name, kind in format_.types.items():
        if kind in snapshot.readings:
            reading: Any = snapshot.readings[kind]
            plain = replace(reading, events=()) if kind in with_events else reading
            readings[name] = _written(plain, start)
    reports = {report.source: _written(report, start) for report in snapshot.reports}
    for report in reports.values():
        del report["source"]
    at = round(snapshot.taken_boottime - start, 3)
    line = {"at": at, "readings": readings, "reports": reports}
    return {"line": line, "events": _events(format_, snapshot, start)}


def lines_of(documents: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the lines of one recording from those of its moments, in their order.

    Events before the first moment are lines of their own; later ones stand in the line of the
    moment that saw them first, as the rules saw them.
    """
    seen: set[str] = set()
    for number, document in enumerate(documents):
        line = dict(document["line"])
        for event in document["events"]:
            if repr(event) in seen:
                continue
            seen.add(repr(event))
            if number == 0:
                yield event
                continue
            for key in event.keys() - {"at"}:
                line.setdefault(key, []).append(event[key])
        yield line


def _events(format_: RecordingFormat, snapshot: Snapshot, start: float) -> list[dict[str, Any]]:
    """Return a line for each event, in the order of time; several of one message are one."""
    lines: dict[str, dict[str, Any]] = {}
    for row in format_.events:
        reading: Any = snapshot.readings.get(row.reading)
        for event in reading.events if reading is not None else ():
            line = {"at": round(event.boottime - start, 3), row.key: row.item(event)}
            lines.setdefault(repr(line), line)
    return sorted(lines.values(), key=lambda line: float(line["at"]))


def _written(value: Any, start: float) -> Any:
    """Return the value in the words of a recording."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        moments = moments_of(type(value))
        fields = [each.name for each in dataclasses.fields(value) if each.init]
        return {
            name: _moment(getattr(value, name), start)
            if name in moments
            else _written(getattr(value, name), start)
            for name in fields
        }
    if isinstance(value, Mapping):
        return {str(key): _written(each, start) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_written(each, start) for each in value if not _is_odd(each)]
    if isinstance(value, Enum):
        return value.value
    return None if _is_odd(value) else value


def _moment(value: Any, start: float) -> Any:
    if isinstance(value, (int, float)) and math.isfinite(value):
        return round(float(value) - start, 3)
    return None if _is_odd(value) else _written(value, start)


def _is_odd(value: object) -> bool:
    """Whether a number, or one in a row, is not finite."""
    if isinstance(value, tuple):
        return any(isinstance(each, float) and not math.isfinite(each) for each in value)
    return isinstance(value, float) and not math.isfinite(value)
