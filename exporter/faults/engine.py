"""The rule engine: evaluates each snapshot and returns conclusions."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from exporter.faults.alert_state import AlertKey
from exporter.faults.catalogue import shipped_catalogue
from exporter.faults.entities.kinds import TRAITS, VOCABULARY, scene_of
from exporter.faults.evaluate import Evaluator
from exporter.faults.events.repairs import Repairs
from exporter.faults.events.stream import EventStream, GpuJobs, enrich
from exporter.faults.persistence import Kept, to_text
from exporter.faults.rules.loader import SHIPPED, RuleBook, load_rules
from exporter.model.snapshot import Snapshot
from exporter.model.unusual import Unusual
from exporter.model.verdict import Conclusions

Detect: TypeAlias = Callable[[Snapshot, Conclusions | None], Unusual]
"""What finds the unusual in a snapshot, with what was concluded from the one before."""


log = logging.getLogger("exporter.faults")


def rule_book(further: tuple[str, ...] = ()) -> RuleBook:
    """Return the shipped rules with those of further directories put over them."""
    return load_rules([SHIPPED, *map(Path, further)], VOCABULARY)


class RuleEngine:
    """Judges snapshots by a book of rules; `kept` is what the process before left behind."""

    def __init__(
        self,
        book: RuleBook,
        stopwatch: Callable[[], float],
        boot_id: str,
        kept: Kept | None = None,
        detect: Detect | None = None,
    ) -> None:
        self._detect = detect
        self._last: Conclusions | None = None
        self._evaluator = Evaluator(book, TRAITS, stopwatch)
        self._stream = EventStream(is_resumed=kept is not None)
        self._jobs = GpuJobs()
        self._repairs = Repairs()
        self._boot_id = boot_id
        self._last_mark: tuple[int, float, frozenset[AlertKey]] = (0, 0.0, frozenset())
        if kept is not None:
            self._evaluator.recall(kept.alerts, kept.ended)
            for event in kept.events:
                self._evaluator.observer.events.take(event)

    def conclude(self, snapshot: Snapshot) -> Conclusions:
        """Everything that follows from this snapshot and those before."""
        if self._detect is None:
            return self._evaluate(snapshot)
        try:
            unusual = self._detect(snapshot, self._last)
        except Exception:  # a detector breaks: it costs itself only
            log.exception("the detectors failed and are disabled")
            self._detect = None
            return self._evaluate(snapshot)
        readings = MappingProxyType({**snapshot.readings, Unusual: unusual})
        judged = self._evaluate(replace(snapshot, readings=readings))
        self._last = replace(judged, unusual=unusual)
        return self._last

    def _evaluate(self, snapshot: Snapshot) -> Conclusions:
        catalogue = shipped_catalogue()
        self._jobs.see(snapshot)
        received = self._stream.new_events(snapshot)
        events = [self._jobs.named(enrich(event, catalogue)) for event in received]
        events += self._repairs.between(snapshot, events)
        scene = scene_of(snapshot, events, self._stream.event_sources(snapshot))
        return self._evaluator.evaluate(scene)

    def pending_state(self) -> str | None:
        """Return what a restart should take over, as text; None when that has not changed."""
        if not self._boot_id:
            return None
        events = tuple(self._evaluator.observer.events.all())
        kept = self._evaluator.kept()
        latest = max((event.boottime for event in events), default=0.0)
        mark = (len(events), latest, frozenset(kept))
        if mark == self._last_mark:
            return None
        self._last_mark = mark
        return to_text(Kept(self._boot_id, kept, events, self._evaluator.ended))
