"""Recorded snapshots: one JSON object per line, with the readings of one moment.

For example `{"at": 15, "readings": {"Gpus": {"states": {"a": {"gpu": {"up": 0}}}}}}`.

`at` is in seconds from the beginning. `readings` holds values of the model by the names of their
types and fields, as a change of the readings before: an object is merged, null removes, anything
else replaces. `reports` are those of sources, merged alike. Events stand beside the readings, under
the key of their collector (`RecordedEvents`).

For example `"kernel": "NVRM: Xid …"`, or a list; lines of one message are in one text. Events of
NVML are `"xid": {"gpu": "GPU-…", "code": 79}`, or a list.
"""

import dataclasses
import json
import math
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from exporter.decode import Rules, decode_strict, fits_of
from exporter.faults.replay.renamed import OldNames, Tree
from exporter.faults.replay.steps import Steps, listed, merge
from exporter.faults.values import did_you_mean
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot, SourceReport
from exporter.record import dataclass, replace
from exporter.state import MISFITS

START_BOOTTIME = 10_000.0
START_WALL = 1_700_000_000.0
KEPT_EVENTS = 2_000
MOMENTS = ("expires", "dynamic_expires")
NOW = math.inf
"""Stands for the time of the line where a recording has no other."""

NODE = "node"


EventParser: TypeAlias = Callable[[Iterable[Any], float], Iterable[Event]]
"""Returns the events of the items at this boot time in seconds; raises ValueError."""


@dataclass(frozen=True, slots=True)
class RecordedEvents:
    """The recorded events of a reading: their key, the parser of items, and an event as an item.

    `dated` returns the reading with the present boot time where the recording has none; its
    arguments are the reading, the time that stands for none, and the present.
    """

    key: str
    reading: type
    parser: Callable[[], EventParser]
    item: Callable[[Event], object]
    dated: Callable[[Any, float, float], object] | None = None


class BadRecording(Exception):
    """An invalid line of a recording; the message names the line and the mistake."""


@dataclass(frozen=True, slots=True)
class RecordingFormat:
    """The format of recordings.

    `types` are the readings by name, `events` the keys of events, `nodes` the file with the base
    nodes of short recordings; `old_names` are present names by old names, for each path.
    """

    types: Mapping[str, type]
    events: tuple[RecordedEvents, ...]
    nodes: Path
    old_names: OldNames = field(default_factory=lambda: MappingProxyType({}))

    @property
    def steps(self) -> Steps:
        """Return the reader of one short recording, which turns lines into moments."""
        return Steps(frozenset(row.key for row in self.events), self.nodes, self.old_names)


@dataclass()
class SnapshotReader:
    """Reads one recording."""

    format: RecordingFormat
    _readings: Tree = field(default_factory=dict)
    _values: dict[str, object] = field(default_factory=dict)  # of the readings decoded so far
    _reports: Tree = field(default_factory=dict)
    _sources: tuple[SourceReport, ...] = ()
    _events: dict[type, list[Event]] = field(default_factory=dict)
    _sequence: int = 0

    def __post_init__(self) -> None:
        self._parsers = {row.key: (row.reading, row.parser()) for row in self.format.events}

    def snapshots(self, lines: Iterable[str]) -> Iterator[Snapshot]:
        """Yield a snapshot for each moment; skip comments; raise BadRecording."""
        steps = self.format.steps
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                for row in steps.moments(json.loads(line)):
                    yield self._snapshot(row, START_BOOTTIME + float(row["at"]))
            except MISFITS as error:
                raise BadRecording(f"line {number}: {error}") from error

    def _snapshot(self, row: Tree, now: float) -> Snapshot:
        changed = row["readings"]
        merge(self._readings, changed)
        for name in changed:
            self._values.pop(name, None)
        if changed_reports := row.get("reports"):
            merge(self._reports, changed_reports)
            self._sources = tuple(self._source_reports())
        for key, (reading, parser) in self._parsers.items():
            if items := listed(row.get(key)):
                self._events.setdefault(reading, []).extend(parser(items, now))
        self._sequence += 1
        return Snapshot(
            node=NODE,
            sequence=self._sequence,
            taken_at=START_WALL + now - START_BOOTTIME,
            taken_boottime=now,
            duration_secs=0.0,
            readings=MappingProxyType(dict(self._values_at(now))),
            reports=self._sources,
        )

    def _values_at(self, now: float) -> Iterator[tuple[type, object]]:
        for name, found in self._readings.items():
            if name not in self._values:
                self._values[name] = self._decoded(name, found)
            value = self._values[name]
            for row in self.format.events:
                if type(value) is row.reading:
                    value = self._with_events(row, value, now)
            yield self.format.types[name], value

    def _with_events(self, row: RecordedEvents, value: Any, now: float) -> object:
        if row.dated is not None:
            value = row.dated(value, NOW, now)
        events = tuple(self._events.get(row.reading, ())[-KEPT_EVENTS:])
        return replace(value, events=events)

    def _decoded(self, name: str, found: object) -> object:
        if name not in self.format.types:
            raise ValueError(f"no reading {name}; {did_you_mean(name, self.format.types)}")
        return decode_strict(self.format.types[name], found, READINGS, name)

    def _source_reports(self) -> Iterator[SourceReport]:
        rules = Rules(clean=str, unknown=_unknown)
        for name, found in self._reports.items():
            row = {"source": name, "duration_secs": 0, **found}
            yield decode_strict(SourceReport, row, rules, name)


def _unknown(name: str, known: Collection[str]) -> str:
    return f"no field {name}; {did_you_mean(name, known)}"


def _complete(kind: type, values: Tree) -> None:
    """Count times from the beginning; a reading without a time was made now.

    A field without a value is not reported.
    """
    for name in moments_of(kind):
        if isinstance(values.get(name), float):
            values[name] += START_BOOTTIME
        elif name == "read_boottime":
            values.setdefault(name, NOW)
    for name in _unreported_of(kind):
        values.setdefault(name, None)


@lru_cache(maxsize=128)
def moments_of(kind: type) -> tuple[str, ...]:
    """Find the fields of a dataclass that hold a boot time."""
    return tuple(n for n in fits_of(kind) if n.endswith("_boottime") or n in MOMENTS)


@lru_cache(maxsize=128)
def _unreported_of(kind: type) -> tuple[str, ...]:
    """Find the fields of a dataclass without a default that may be None: null removes them."""
    hints = typing.get_type_hints(kind)
    return tuple(
        each.name
        for each in dataclasses.fields(kind)
        if each.default is each.default_factory is dataclasses.MISSING
        and type(None) in typing.get_args(hints[each.name])
    )


READINGS = Rules(clean=str, unknown=_unknown, unfolds=True, complete=_complete)
