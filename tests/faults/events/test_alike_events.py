"""Counting events that are equal in some fields, or differ in others."""

import pytest

from exporter.faults.events.query import Events
from exporter.faults.events.store import EventStore, number_of
from exporter.faults.expr.parser import parse_expression
from exporter.faults.expr.syntax import Compare, ExpressionError
from tests.faults.scenes import event

ABOUT = ("gpu", "u0")
TOLD = (
    {"code": "13", "gpc": "4", "tpc": "6", "pid": "7"},
    {"code": "13", "gpc": "4", "tpc": "6", "pid": "7"},
    {"code": "13", "gpc": "4", "tpc": "6", "pid": "8"},
    {"code": "13", "gpc": "4", "tpc": "1", "pid": "9"},
    {"code": "13", "gpc": "2", "tpc": "1", "pid": "9"},
    {"code": "13", "gpc": "2", "tpc": "1", "pid": "9"},
    {"code": "13", "pid": "10"},  # a line without a place
    {"code": "31", "gpc": "4", "tpc": "6", "pid": "11"},
)


def counted(source: str) -> int:
    """What an expression that counts events finds among those above."""
    memory = EventStore()
    for second, fields in enumerate(TOLD):
        memory.take(event("xid", float(second), ABOUT, **fields))
    tree = parse_expression(f"{source} > 0")
    assert isinstance(tree, Compare)
    assert isinstance(tree.left, Events)
    return number_of(memory.matching([ABOUT], tree.left, 60.0), tree.left)


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("events(xid, within=1h)", 8),
        ("events(xid, code=13, within=1h)", 7),
        ("events(xid, code=13, alike=[gpc, tpc], within=1h)", 3),
        ("events(xid, code=13, alike=gpc, within=1h)", 4),
        ("events(xid, alike=[gpc, tpc], within=1h)", 4),
        ("events(xid, code=13, differ=pid, within=1h)", 4),
        ("events(xid, code=13, differ=[gpc, tpc], within=1h)", 3),
        ("events(xid, code=13, alike=[gpc, tpc], differ=pid, within=1h)", 2),
        ("events(xid, code=13, alike=colour, within=1h)", 0),
        ("events(xid, code=13, differ=colour, within=1h)", 0),
        ("events(xid, code=13, alike=gpc, differ=pid, within=58s)", 2),
    ],
)
def test_events_are_counted_by_what_they_share(source: str, number: int) -> None:
    """The largest group that is alike, different values, both; what lacks a field is left out."""
    assert counted(source) == number


@pytest.mark.parametrize(
    "source",
    [
        "events(xid, alike=gpc, alike=tpc, within=1h) > 0",
        "events(xid, alike=, within=1h) > 0",
        "events(xid, differ=[], within=1h) > 0",
    ],
)
def test_what_makes_no_sense_is_refused(source: str) -> None:
    """Given twice or without a field it is a mistake with a position."""
    with pytest.raises(ExpressionError) as error:
        parse_expression(source)
    assert error.value.position > 1
