"""The history of faults: when each began, ended and changed, for 14 days; and their log."""

import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from exporter.faults.entities.node import NODE
from exporter.faults.last_made import LastMade
from exporter.faults.values import Entity, Fields, FieldType, Names, Type, Value
from exporter.model.snapshot import Snapshot
from exporter.model.transition import BEGAN, ENDED, KEPT_SECS, SEVERITY, Transition
from exporter.model.verdict import SEVERITIES, Conclusions, Fault, Key
from exporter.record import dataclass, replace
from exporter.state import MISFITS, StateFile, time_of

NAME = "fault_history.jsonl"
MAX_ROWS = 2_000
MAX_OF_ONE_FAULT = 60
"""The most transitions of one fault of one component: flapping must not push out other faults."""

MAX_SUMMARY_CHARS = 160
MAX_BYTES = 2 * 1024 * 1024
"""A row has about 300 bytes in the file; if names make rows longer, the newest rows are kept."""

RETURN_SECS = 300.0
"""The time in which a fault of the last process must return after a restart, else it has ended.

Its rule may have to hold for some time first, which is added.
"""

NO_WAITS: Mapping[str, float] = MappingProxyType({})
NO_COUNTS: tuple[int, str] = (0, "")
FIELDS: Names = {
    "repeated_faults": FieldType(Type.NUMBER),
    "repeated_fault": FieldType(Type.TEXT),
}
"""Fields with the history of a component, for rules.

`repeated_fault` is the rule of the critical root fault that began most often in 14 days,
`repeated_faults` how often it began.
"""

Build: TypeAlias = Callable[[Snapshot], Iterable[Entity]]
"""Finds the components of one kind."""

log = logging.getLogger("exporter.faults")


@dataclass(slots=True)
class _WithHistory:
    """The fields of a component with those of its history."""

    fields: Fields
    known: dict[str, Value]

    def get(self, name: str, /) -> Value:
        """Return the value of a field, or None when it was not reported; ask for each once."""
        if name not in self.known:
            self.known[name] = self.fields.get(name)
        return self.known[name]


@dataclass(frozen=True, slots=True)
class RepeatCounts:
    """By component how often the critical root fault began that began most often, and its rule."""

    counts: Mapping[Key, tuple[int, str]] = field(default_factory=lambda: MappingProxyType({}))


def with_history(build: Build) -> Build:
    """Return a function that also gives the components the fields of their history."""

    def built(snapshot: Snapshot) -> Iterator[Entity]:
        counts = (snapshot.reading(RepeatCounts) or RepeatCounts()).counts
        for entity in build(snapshot):
            number, rule = counts.get(_cut(entity.key), NO_COUNTS)
            known: dict[str, Value] = {"repeated_faults": float(number), "repeated_fault": rule}
            yield replace(entity, fields=_WithHistory(entity.fields, known))

    return built


class FaultHistory:
    """The transitions of faults; `rows` are those at most 14 days from now, the oldest first.

    More are stored: only their number makes room, never a clock that is wrong for a moment.
    """

    def __init__(self, rows: Iterable[Transition] = ()) -> None:
        self.rows = self._stored = tuple(rows)[-MAX_ROWS:]
        self._open: dict[tuple[str, str, str], Transition] = {}
        for row in self._stored:
            if row.change == ENDED:
                self._open.pop(row.place, None)
            else:
                self._open[row.place] = row
        self._doubted = set(self._open)
        self._seen: tuple[Fault, ...] = ()  # of the last conclusions, without their times
        self._began_at: float | None = None
        self._is_dirty = False
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._repeated: set[tuple[str, str, str]] = set()
        self._repeats = RepeatCounts()
        self._with_times: LastMade[tuple[Fault, ...]] = LastMade()
        self._same_between = (math.inf, -math.inf)  # times at which `rows` are the same
        self._count()

    def take(
        self,
        conclusions: Conclusions,
        wall: float,
        now: float,
        for_secs: Mapping[str, float] = NO_WAITS,
    ) -> Conclusions:
        """Add the transitions; return the conclusions with the history, and `times` of each fault.

        `wall` is in seconds since the epoch, `now` since boot; `for_secs` is by rule how long it
        must hold before its fault begins.
        """
        if self._began_at is None:
            self._began_at = now
        self._choose(wall)
        if conclusions.faults is self._seen and not self._doubted:
            return self._with_rows(conclusions)
        self._seen = conclusions.faults
        active = {_place_of(it): it for it in conclusions.faults if it.is_active}
        new = [
            self._changed(place, it, wall)
            for place, it in active.items()
            if (row := self._open.get(place)) is None or row.severity != it.severity
        ]
        up_secs = now - self._began_at
        for place in [place for place in self._open if place not in active]:
            return_secs = RETURN_SECS + for_secs.get(place[0], 0.0)
            if up_secs >= return_secs or place not in self._doubted:
                before = self._open.pop(place)
                new.append(before._replace(at=wall, change=ENDED))
        self._doubted &= self._open.keys() - active.keys()
        if new:
            self._keep([*self._stored, *new])
            self._choose(wall)
        return self._with_rows(conclusions)

    def _with_rows(self, conclusions: Conclusions) -> Conclusions:
        """Return the conclusions with the history, and each active fault with its `times`."""
        known = conclusions.faults
        faults = self._with_times.made(
            (known, self.rows), lambda: tuple([self._counted(it) for it in known])
        )
        return replace(conclusions, faults=faults, history=self.rows)

    def _changed(self, place: tuple[str, str, str], fault: Fault, wall: float) -> Transition:
        change = SEVERITY if place in self._open else BEGAN
        made = Transition(
            *(wall, change, fault.rule, fault.severity),
            *(fault.subject.kind, fault.subject.hw_type, fault.subject.hw_id[:MAX_SUMMARY_CHARS]),
            *(fault.subject.hw_name[:MAX_SUMMARY_CHARS], fault.is_root),
            fault.summary[:MAX_SUMMARY_CHARS],
        )
        self._open[place] = made
        return made

    def _keep(self, rows: list[Transition]) -> None:
        """Limit the rows: the newest of each fault, then the newest of all."""
        left: Counter[tuple[str, str, str]] = Counter()
        kept = []
        for row in reversed(rows):
            left[row.place] += 1
            if left[row.place] <= MAX_OF_ONE_FAULT:
                kept.append(row)
        self._stored = tuple(reversed(kept[:MAX_ROWS]))
        self._same_between = (math.inf, -math.inf)
        self._is_dirty = True

    def _choose(self, wall: float) -> None:
        """Choose the rows at most 14 days from this time since the epoch."""
        since, until = self._same_between
        if since < wall < until:
            return
        rows = tuple([row for row in self._stored if abs(wall - row.at) <= KEPT_SECS])
        ends = [row.at + secs for row in self._stored for secs in (-KEPT_SECS, KEPT_SECS)]
        self._same_between = (
            max((at for at in ends if at <= wall), default=-math.inf),
            min((at for at in ends if at >= wall), default=math.inf),
        )
        if rows != self.rows:
            self.rows = rows
            self._count()

    def _count(self) -> None:
        began = [row for row in self.rows if row.change == BEGAN]
        self._counts = Counter(row.place for row in began)
        self._repeated = {place for place, times in self._counts.items() if times > 1}
        critical = Counter(row.place for row in began if row.severity == "critical" and row.is_root)
        counts: dict[Key, tuple[int, str]] = {}
        for (rule, kind, hw_id), count in critical.items():
            best = counts.get((kind, hw_id), NO_COUNTS)
            counts[kind, hw_id] = max(best, (count, rule))
        if counts != self._repeats.counts:
            self._repeats = RepeatCounts(counts)

    def _counted(self, fault: Fault) -> Fault:
        if not fault.is_active or (place := _place_of(fault)) not in self._repeated:
            return fault
        return replace(fault, times=self._counts[place])

    def repeats(self, wall: float) -> RepeatCounts:
        """Return which faults began how often by this time since the epoch."""
        self._choose(wall)
        return self._repeats

    def pending_text(self) -> str | None:
        """Return the text of the file to write; None if nothing has changed."""
        if not self._is_dirty:
            return None
        self._is_dirty = False
        lines: list[str] = []
        left = MAX_BYTES
        for row in reversed(self._stored):
            line = f"{json.dumps(row, separators=(',', ':'))}\n"
            left -= len(line)
            if left < 0:
                break
            lines.append(line)
        return "".join(reversed(lines))


def log_transition(fault: Fault, state: str) -> None:
    """Log one line with fields for programs; a warning for an active fault above info."""
    level = logging.WARNING if state == "active" and fault.severity != "info" else logging.INFO
    log.log(
        level,
        "fault %s is %s on %s %s: %s",
        *(fault.rule, state, fault.subject.hw_type, fault.subject.hw_name, fault.summary),
        extra={
            "fields": {
                "fault": fault.rule,
                "state": state,
                "severity": fault.severity,
                "hw_type": fault.subject.hw_type,
                "hw_id": fault.subject.hw_id,
                "since": round(fault.since, 3),
                "cause": fault.root.rule,
                "cause_hw_id": fault.root.subject.hw_id,
            }
        },
    )


def _place_of(fault: Fault) -> tuple[str, str, str]:
    """Return the rule, the kind and the id of a fault as rows have them."""
    about = fault.subject
    return fault.rule, about.kind, about.hw_id[:MAX_SUMMARY_CHARS]


def _cut(key: Key) -> Key:
    """Return the kind and the id of a component as rows have them."""
    kind, hw_id = key
    return kind, hw_id[:MAX_SUMMARY_CHARS]


def state_file(folder: Path) -> StateFile:
    """Return the file of the history in the state directory."""
    return StateFile(folder / NAME, "", 1, max_bytes=MAX_BYTES, outlasts_boots=True)


def load(file: StateFile, node: str = "") -> FaultHistory:
    """Read the history that an earlier process saved; a damaged line is skipped.

    A fault of the node is one of `node`, whatever the node was called then; an empty `node` changes
    no name.
    """
    rows, bad = [], 0
    name = node[:MAX_SUMMARY_CHARS]
    for line in file.lines():
        try:
            row = _row(json.loads(line))
            is_renamed = row.kind == NODE and name
            rows.append(row._replace(hw_id=name, hw_name=name) if is_renamed else row)
        except MISFITS:
            bad += 1
    if bad:
        log.warning("%s: %d lines cannot be parsed and are left out", NAME, bad)
    return FaultHistory(rows)


def _row(fields: object) -> Transition:
    """Decode one line; raise one of MISFITS."""
    if not isinstance(fields, list) or len(fields) != len(Transition._fields):
        raise ValueError("it is no row")
    row = Transition(*fields)
    time_of(row.at)
    if not isinstance(row.is_root, bool):
        raise TypeError("its root is not what it must be")
    for text in (*row[1:8], row.summary):
        if not isinstance(text, str) or len(text) > MAX_SUMMARY_CHARS:
            raise ValueError("a text is not what it must be")
    if row.change not in (BEGAN, ENDED, SEVERITY) or row.severity not in SEVERITIES:
        raise ValueError("it is no change of a fault")
    return row
