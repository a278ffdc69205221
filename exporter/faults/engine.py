"""The rule engine: evaluates each snapshot and returns conclusions."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from exporter.faults.alert_state import Alert, AlertKey
from exporter.faults.evaluate import Evaluator
from exporter.faults.events.query import LOOKS
from exporter.faults.fault_history import FIELDS, Build, FaultHistory, RepeatCounts, with_history
from exporter.faults.persistence import SavedFaults, to_text
from exporter.faults.rules.loader import RuleBook
from exporter.faults.rules.rule import Rule
from exporter.faults.rules.site import event_for_site
from exporter.faults.subject import Repair, Subjects
from exporter.faults.watched import Kept, Watched
from exporter.model.event import Event, EventType
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Key
from exporter.record import replace

Detect: TypeAlias = Callable[[Snapshot, Conclusions | None], object]
"""Finds unusual devices in a snapshot, given the conclusions of the last snapshot."""

log = logging.getLogger("exporter.faults")


class RuleEngine:
    """Evaluates snapshots by a rule book; `kept` is the state saved by the last process."""

    def __init__(
        self,
        book: RuleBook,
        subjects: Subjects,
        stopwatch: Callable[[], float],
        boot_id: str,
        *,
        kept: SavedFaults | None = None,
        detect: Detect | None = None,
        history: FaultHistory | None = None,
        longest_pause_secs: float = math.inf,
    ) -> None:
        self._detect = detect
        self._subjects = subjects
        self._last: Conclusions | None = None
        self._evaluator = Evaluator(book, subjects, stopwatch, longest_pause_secs)
        self._kept = Kept()
        self._feeds = [make(kept is not None) for row in subjects.rows for make in row.feeds]
        self._interpreters = subjects.interpreters()
        self._compared: Watched | None = None  # what repairs have read
        self._repairs = [row.repairs() for row in subjects.rows if row.repairs]
        self._boot_id = boot_id
        self._of_events = book.of_events
        self._builds = builds_for(book.rules, subjects)
        self._for_secs = {rule.id: rule.for_secs for rule in book.rules}
        self.history = history or FaultHistory()
        self._last_mark: tuple[int, float, frozenset[AlertKey], int] = (0, 0.0, frozenset(), 0)
        self._clears = 0
        if kept is not None:
            alerts = self._judged_anew(kept.events, kept.alerts)
            self._evaluator.recall(alerts, kept.ended, kept.cleared)

    def _judged_anew(
        self, events: Iterable[Event], alerts: Mapping[AlertKey, Alert]
    ) -> Mapping[AlertKey, Alert]:
        """Store known events with the site's severities; return the faults to go on with."""
        off = set()
        for event in events:
            wanted = event_for_site(event, self._of_events)
            if wanted is None:
                off.add(event.boottime)
            else:
                self._evaluator.observer.events.take(wanted)
        found = {key: it for key, it in alerts.items() if it.last_evidence not in off}
        for alert in found.values():
            alert.described = (0.0, 0)  # the same events may have another severity
        return found

    def take(self, book: RuleBook, subjects: Subjects) -> None:
        """Replace the rules and subjects; used from the next snapshot on."""
        self._subjects, self._kept = subjects, Kept()
        self._builds = builds_for(book.rules, subjects)
        self._for_secs = {rule.id: rule.for_secs for rule in book.rules}
        self._evaluator.take(book, subjects)
        if book.of_events != self._of_events:
            self._of_events = book.of_events
            events, store = self._evaluator.observer.events, self._evaluator.store
            store.alerts = dict(self._judged_anew(events.clear(), store.alerts))

    def conclude(self, snapshot: Snapshot) -> Conclusions:
        """Return the conclusions from this snapshot and those before."""
        if self._detect is None:
            return self._evaluate(snapshot)
        try:
            unusual = self._detect(snapshot, self._last)
        except Exception:  # a detector fails: only detectors are switched off
            log.exception("the detectors failed and are disabled")
            self._detect = None
            return self._evaluate(snapshot)
        readings = MappingProxyType({**snapshot.readings, type(unusual): unusual})
        judged = self._evaluate(replace(snapshot, readings=readings))
        self._last = replace(judged, detected=unusual)
        return self._last

    def _evaluate(self, snapshot: Snapshot) -> Conclusions:
        events = list(self._new_events(snapshot))
        if events or self._compared is None or not self._compared.moves_to(snapshot):
            compared = self._compared = Watched(snapshot)
            for each in self._repairs:
                events += [repaired(repair, snapshot) for repair in each.between(compared, events)]
        working = frozenset(feed.name for feed in self._feeds if feed.works(snapshot))
        repeats = self.history.repeats(snapshot.taken_at + snapshot.renewed_secs)
        readings = MappingProxyType({**snapshot.readings, RepeatCounts: repeats})
        snapshot = replace(snapshot, readings=readings)
        scene = self._subjects.scene_of(snapshot, events, working, self._kept, self._builds)
        conclusions = self._evaluator.evaluate(scene)
        return self.history.take(conclusions, scene.wall, scene.now, self._for_secs)

    def _new_events(self, snapshot: Snapshot) -> Iterator[Event]:
        """Yield the events that no earlier snapshot had, with the facts that collectors add."""
        for interpreter in self._interpreters:
            interpreter.see(snapshot)
        for feed in self._feeds:
            for event in feed.new_events(snapshot):
                known = event
                for interpreter in self._interpreters:
                    known = interpreter.interpret(known)
                wanted = event_for_site(known, self._of_events)
                if wanted is not None:
                    yield wanted

    def clear(self, rule: str, key: Key | None, now: float) -> None:
        """End faults of a rule on one component, or all for None, until new evidence comes."""
        self._clears += 1
        self._evaluator.clear(rule, key, now)

    def pending_state(self) -> str | None:
        """Return the state to save for a restart, as text; None if it has not changed."""
        if not self._boot_id:
            return None
        events = tuple(self._evaluator.observer.events.all())
        kept = self._evaluator.kept()
        latest = max((event.boottime for event in events), default=0.0)
        mark = (len(events), latest, frozenset(kept), self._clears)
        if mark == self._last_mark:
            return None
        self._last_mark = mark
        store, booted_at = self._evaluator.store, self._evaluator.observer.booted_at
        saved = SavedFaults(self._boot_id, kept, events, store.ended, store.cleared, booted_at)
        return to_text(saved)


def builds_for(rules: Iterable[Rule], subjects: Subjects) -> list[Build]:
    """Return what finds the components of each kind; with the history where a rule reads that."""
    related = subjects.traits.related
    reading = {
        related.get(rule.entity, {}).get(name.related, rule.entity)
        for rule in rules
        for name in rule.names
        if name.field in FIELDS
    }
    return [
        with_history(kind.build) if kind.name in reading else kind.build for kind in subjects.kinds
    ]


def repaired(repair: Repair, snapshot: Snapshot) -> Event:
    """Return the event for a repair."""
    kind, entity_type, entity_id = repair
    return Event(
        at=snapshot.taken_at + snapshot.renewed_secs,
        boottime=snapshot.taken_boottime + snapshot.renewed_secs,
        type=EventType.ACTION_EXEC,
        kind=kind,
        entity_type=entity_type,
        entity_id=entity_id,
        source=LOOKS,
    )
