"""The demo is judged: each of its incidents from begin to end, in virtual time.

What was read is also written as a recording and read again: the same readings and faults.
"""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from exporter.collectors.demo.script import INCIDENTS, DemoIncident
from exporter.collectors.everything import EVERYTHING, rule_book
from exporter.collectors.exporter.incidents import incidents_of
from exporter.commands.rules import replayed
from exporter.faults.replay.snapshots import START_BOOTTIME, SnapshotReader
from exporter.faults.replay.write import lines_of, recorded
from exporter.model.snapshot import Snapshot
from tests.corpus.invariants import Watch
from tests.fakes.virtual_node import demo_node

INTERVAL_SECS = 15
BEFORE_SECS, AFTER_SECS = 30, 720
MOST_SILENT_SECS = 30.0
"""A value of the demo may be bad so long before a fault says so."""

FORMAT = EVERYTHING.recordings
each_incident = pytest.mark.parametrize("incident", INCIDENTS, ids=lambda it: it.name)
pytestmark = pytest.mark.slow


@cache
def _taken(incident: DemoIncident) -> list[Snapshot]:
    """What the demo's node publishes from before the incident until long after it."""
    secs = BEFORE_SECS + incident.ends - incident.starts + AFTER_SECS
    with demo_node(incident.starts - BEFORE_SECS, incident, interval_secs=INTERVAL_SECS) as node:
        return node.snapshots("demo", secs, rule_book())


@each_incident
def test_no_gauge_of_the_demo_is_bad_in_silence(incident: DemoIncident) -> None:
    """A bad value belongs to a fault; the incident has one root, and ends without any action."""
    taken = _taken(incident)
    watch = Watch(MOST_SILENT_SECS)
    told: list[set[str]] = []
    for snapshot in taken:
        assert snapshot.conclusions is not None
        watch.look(snapshot, snapshot.conclusions)
        found = incidents_of(snapshot.conclusions)
        told.append({each.rule for each in found if each.severity != "info"})
    assert [*watch.holes, *watch.got_well] == []
    assert max(map(len, told)) == 1
    assert told[-1] == set()


def _lines(snapshots: Sequence[Snapshot]) -> list[str]:
    """The recording of these moments: what happened before them, then each."""
    start = snapshots[0].taken_boottime
    documents = (recorded(FORMAT, snapshot, start) for snapshot in snapshots)
    return [json.dumps(line) for line in lines_of(documents)]


def _events(snapshot: Snapshot, reading: type) -> list[tuple[str, str]]:
    value: Any = snapshot.reading(reading)  # None of a source that the demo does not have
    return [(event.kind, event.entity_id) for event in value.events] if value else []


def _plain(snapshot: Snapshot) -> dict[str, object]:
    """The readings without events, by name, with times from the beginning of a recording."""
    start = snapshot.taken_boottime
    return recorded(FORMAT, snapshot, start)["line"]["readings"]  # type: ignore[no-any-return]


@each_incident
def test_readings_are_the_same_when_read_again(incident: DemoIncident) -> None:
    """Every field of every reading of the demo's node, events and reports of sources."""
    taken = _taken(incident)[:5]
    again = list(SnapshotReader(FORMAT).snapshots(_lines(taken)))
    assert again[-1].taken_boottime - START_BOOTTIME == pytest.approx(
        taken[-1].taken_boottime - taken[0].taken_boottime, abs=0.01
    )
    assert _plain(again[-1]) == _plain(taken[-1])
    assert {it.source for it in again[-1].reports} == {it.source for it in taken[-1].reports}
    for row in FORMAT.events:
        assert _events(again[-1], row.reading) == _events(taken[-1], row.reading)


@each_incident
def test_a_replay_names_the_same_root(incident: DemoIncident) -> None:
    """What the node's page says during an incident, `rules replay` says of its recording."""
    until = BEFORE_SECS + incident.ends - incident.starts
    taken = _taken(incident)[: until // INTERVAL_SECS]
    roots = set()
    for snapshot in taken:
        assert snapshot.conclusions is not None
        active = snapshot.conclusions.active
        roots |= {(it.rule, it.subject.hw_id) for it in active if it.is_root}
    told = set()
    for _, conclusions in replayed(_lines(taken), rule_book()):
        told |= {(it.rule, it.subject.hw_id) for it in conclusions.active if it.is_root}
    assert told == roots
    assert roots
