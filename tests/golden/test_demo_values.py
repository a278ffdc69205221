"""The pages of the demo are judged: each of its incidents from begin to end, in virtual time."""

from functools import cache

import pytest

from exporter.collectors.demo.script import INCIDENTS, DemoIncident
from exporter.collectors.everything import rule_book
from exporter.faults.rules.loader import RuleBook
from exporter.model.incident import incidents_of
from tests.corpus.invariants import Watch
from tests.fakes.virtual_node import demo_node

BEFORE_SECS, AFTER_SECS = 30, 720
MOST_SILENT_SECS = 30.0
"""A value of the demo may be bad so long before a fault says so."""


@cache
def _book() -> RuleBook:
    return rule_book()


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda it: it.name)
def test_no_gauge_of_the_demo_is_bad_in_silence(incident: DemoIncident) -> None:
    """A bad value belongs to a fault; the incident has one root, and ends without any action."""
    secs = BEFORE_SECS + incident.ends - incident.starts + AFTER_SECS
    with demo_node(incident.starts - BEFORE_SECS, incident, interval_secs=15) as node:
        taken = node.snapshots("demo", secs, _book())
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
