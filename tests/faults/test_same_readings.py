"""What is remembered of the last evaluation changes no conclusion: it is only faster."""

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import pytest

from exporter.collectors.everything import EVERYTHING, KINDS, rule_book
from exporter.faults import persistence
from exporter.faults.engine import RuleEngine
from exporter.faults.fault_history import FaultHistory
from exporter.faults.replay.snapshots import SnapshotReader
from exporter.faults.rules.loader import RuleBook
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from tests.corpus.cases import BATCHES, Case

CASES = tuple(case for batch in BATCHES.values() for case in batch)
EVERY = 600
"""Of the recordings each so-and-so-many-th is judged here."""

LATER = (2.0, 45.0, 400.0, 2000.0)
"""Time goes on so far while nothing changes."""

pytestmark = pytest.mark.slow


class Pair:
    """Two engines: one remembers, the other is given everything as new."""

    def __init__(self, book: RuleBook) -> None:
        self.book = book
        self.remembering, self.plain = (
            RuleEngine(book, KINDS, lambda: 0.0, boot_id="b", history=FaultHistory())
            for _ in range(2)
        )

    def judge(self, snapshot: Snapshot) -> Conclusions:
        """Let both judge a snapshot; they must say the same."""
        self.plain.take(self.book, KINDS)
        plain, said = self.plain.conclude(_copied(snapshot)), self.remembering.conclude(snapshot)
        for name in (each for each in Conclusions.__slots__ if each != "rule_seconds"):
            assert getattr(said, name) == getattr(plain, name), name
        assert list(said.unknown) == list(plain.unknown)
        return said

    def restart(self) -> None:
        """Let both go on as new processes with the saved state."""
        texts = [engine.pending_state() for engine in (self.remembering, self.plain)]
        assert texts[0] == texts[1]
        kept = persistence.decode(json.loads(texts[0])) if texts[0] else None
        self.remembering, self.plain = (
            RuleEngine(self.book, KINDS, lambda: 0.0, boot_id="b", kept=kept, history=one.history)
            for one in (self.remembering, self.plain)
        )

    def clear(self, choose: random.Random, said: Conclusions, now: float) -> None:
        """Clear one of the active faults."""
        if said.active:
            fault = choose.choice(said.active)
            key = choose.choice((None, fault.subject.key))
            for engine in (self.remembering, self.plain):
                engine.clear(fault.rule, key, now)

    def configure(self, book: RuleBook) -> None:
        """Give both other rules."""
        self.book = book
        self.remembering.take(book, KINDS)


def _copied(snapshot: Snapshot) -> Snapshot:
    """Return an equal snapshot of which every reading is another object."""
    readings = {kind: copy.copy(value) for kind, value in snapshot.readings.items()}
    return replace(
        snapshot,
        readings=MappingProxyType(readings),
        reports=tuple(map(copy.copy, snapshot.reports)),
    )


def _later(snapshot: Snapshot, secs: float) -> Snapshot:
    return replace(
        snapshot,
        taken_at=snapshot.taken_at + secs,
        taken_boottime=snapshot.taken_boottime + secs,
    )


def _snapshots(case: Case) -> Iterator[Snapshot]:
    return SnapshotReader(EVERYTHING.recordings).snapshots(case.recording())


@pytest.mark.parametrize("case", CASES[::EVERY], ids=lambda case: case.name)
def test_every_recording_is_judged_as_without_memory(case: Case) -> None:
    """Readings that stay the same, looks between two collections, and time that goes on alone."""
    pair = Pair(rule_book())
    for snapshot in _snapshots(case):
        last = snapshot
        pair.judge(snapshot)
        pair.judge(replace(snapshot, renewed_secs=1.0))
    for secs in LATER:
        last = _later(last, secs)
        pair.judge(last)


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_readings_is_judged_as_without_memory(seed: int) -> None:
    """Readings change one by one, come back and go; with restarts and other rules meanwhile."""
    choose = random.Random(seed)  # noqa: S311 - no secret
    pool = [each for case in choose.sample(CASES, 4) for each in _snapshots(case)]
    now = pool[0]
    pair = Pair(rule_book())
    books = [rule_book(), replace(pair.book, rules=pair.book.rules[::2])]
    slow = tuple(replace(it, for_secs=it.for_secs + 90, severity="info") for it in pair.book.rules)
    books.append(replace(pair.book, rules=slow))
    for _ in range(40):
        other = choose.choice(pool)
        readings = dict(now.readings)
        for kind in choose.sample(sorted(other.readings, key=str), choose.randrange(4)):
            readings[kind] = other.readings[kind]
        if choose.random() < 0.1:
            readings.pop(choose.choice([*readings]))
        now = _later(now, choose.choice((1.0, 5.0, 15.0, 70.0, 400.0, 4000.0)))
        now = replace(now, readings=MappingProxyType(readings), reports=other.reports)
        said = pair.judge(now)
        while choose.random() < 0.5:
            now = _later(now, choose.choice((1.0, 29.0, 300.0)))
            said = pair.judge(now)
        if choose.random() < 0.1:
            pair.clear(choose, said, now.taken_boottime)
        if choose.random() < 0.05:
            pair.restart()
        if choose.random() < 0.1:
            pair.configure(choose.choice(books))
