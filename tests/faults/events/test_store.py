"""Which events are found again, in which order, and how many are kept."""

from dataclasses import replace

import pytest

from exporter.faults.events.query import MAX_WINDOW_SECS, Events
from exporter.faults.events.store import EventStore, addresses_of, number_of
from exporter.faults.expr.parser import parse_expression
from exporter.faults.expr.syntax import Operation
from exporter.faults.values import Address
from exporter.model.event import Event, EventType
from tests.faults.scenes import event, xid

GPU = ("gpu", "u0")
XIDS = Events("xid", (), MAX_WINDOW_SECS, 0)


def store(*events: Event) -> EventStore:
    """A store that took these events."""
    made = EventStore()
    for each in events:
        made.take(each)
    return made


def moments(found: list[Event]) -> list[float]:
    """When these were."""
    return [each.boottime for each in found]


def test_events_are_found_oldest_first_whatever_they_are_about() -> None:
    """By time, then by number; those up to a moment can be left out."""
    other = ("gpu", "u1")
    late, early = (replace(xid(13, 7.0, other), number=number) for number in (2, 1))
    kept = store(xid(13, 9.0), xid(13, 5.0, other), late, early, xid(13, 3.0))
    found = kept.matching([GPU, other], XIDS, 10.0)
    assert moments(found) == [3.0, 5.0, 7.0, 7.0, 9.0]
    assert [each.number for each in found][2:4] == [1, 2]
    assert moments(kept.matching([GPU, other], XIDS, 10.0, after=7.0)) == [9.0]


def test_of_equal_events_the_latest_are_kept() -> None:
    """Sixty-four of one code and component; they push out no other code."""
    kept = store(xid(48, 0.0), *(xid(13, float(n)) for n in range(65)))
    assert moments(kept.matching([GPU], XIDS, 100.0)) == [float(n) for n in range(65)]


def test_where_there_is_no_room_the_quiet_one_goes() -> None:
    """Of 5,000 components each keeps its events; one more pushes out the one quiet for longest."""
    kept = store(*(xid(13, 1.0, ("gpu", str(n))) for n in range(5000)))
    assert len(kept.addresses()) == 5000
    kept.take(xid(13, 2.0, ("gpu", "0")))
    kept.take(xid(13, 3.0, ("gpu", "new")))
    assert len(kept.addresses()) == 5000
    assert ("gpu", "1") not in kept.addresses()
    assert ("gpu", "1") not in kept.addresses_with("xid")
    assert {("gpu", "0"), ("gpu", "new")} <= kept.addresses()


def test_what_no_window_reaches_is_forgotten() -> None:
    """A day after its last event a code is forgotten, and no other of the component with it."""
    kept = store(xid(13, 0.0), xid(48, 100.0))
    kept.forget_old(MAX_WINDOW_SECS)
    assert len(kept.matching([GPU], XIDS, MAX_WINDOW_SECS)) == 2
    kept.forget_old(MAX_WINDOW_SECS + 1)
    assert [each.fields["code"] for each in kept.all()] == ["48"]
    assert moments(kept.matching([GPU], XIDS, 200.0)) == [100.0]
    assert kept.last_of([GPU], ["xid"]) == 100.0
    kept.forget_old(MAX_WINDOW_SECS + 101)
    assert ([*kept.addresses()], [*kept.addresses_with("xid")]) == ([], [])
    assert kept.last_of([GPU], ["xid", "gpu_reset"]) == float("-inf")


def test_an_event_gives_way_to_one_that_says_more() -> None:
    """It stands in its place alone, also where it was the only one."""
    bare, told = xid(13, 1.0), xid(13, 2.0)
    fuller = event("xid", 1.0, code="13", pid="7")
    alone = store(bare)
    alone.exchange(bare, fuller)
    assert [*alone.all()] == [fuller]
    both = store(bare, told)
    both.exchange(bare, fuller)
    assert both.matching([GPU], XIDS, 10.0) == [fuller, told]


def test_different_values_are_told_by_events_that_have_them() -> None:
    """What lacks the field is no evidence."""
    named = [event("xid", at, code="13", pid=pid) for at, pid in ((1.0, "7"), (2.0, "8"))]
    kept = store(*named, xid(13, 3.0))
    wanted = XIDS._replace(differ=("pid",))
    assert kept.matching([GPU], wanted, 10.0) == named


@pytest.mark.parametrize(
    ("told", "about"),
    [
        (event("xid", 1.0, code="13", pid="7"), (GPU, ("process", "7"))),
        (event("xid", 1.0, code="13", pid="<unknown>"), (GPU,)),
        (event("xid", 1.0, ("process", "7"), pid="7"), (("process", "7"),)),
        (replace(event("probe", 1.0), pid=7), (GPU, ("process", "7"))),
        (event("probe", 1.0), (GPU,)),
        (event("hung_task", 1.0, pid="7"), (GPU,)),
    ],
)
def test_an_error_of_a_gpu_is_also_about_the_process_it_names(
    told: Event, about: tuple[Address, ...]
) -> None:
    """An Xid names it in its line, a probe in its report; other kinds are about one thing."""
    assert addresses_of(told, {"xid", "probe"}) == about


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ((), [1.0, 3.0, 4.0]),
        ((("code", ("13",)),), [1.0, 3.0, 4.0]),
        ((("ended", ("no",)),), [4.0]),
        ((("ended", ("yes",)),), [3.0]),
        ((("word", ("no",)),), [4.0]),
        ((("word", ("no",)), ("ended", ("yes",))), []),
    ],
)
def test_an_end_counts_where_it_is_asked_for(
    filters: tuple[tuple[str, tuple[str, ...]], ...], expected: list[float]
) -> None:
    """`ended=no` is what came after the last end; other filters say nothing about ends."""
    end = event("xid", 3.0, code="13", ended="yes")
    kept = store(xid(13, 1.0), xid(13, 3.0), end, event("xid", 4.0, code="13", word="no"))
    assert moments(kept.matching([GPU], XIDS._replace(filters=filters), 10.0)) == expected


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
    told = (replace(event("xid", float(at)), fields=fields) for at, fields in enumerate(TOLD))
    kept = store(*told)
    tree = parse_expression(f"{source} > 0")
    assert isinstance(tree, Operation)
    wanted = tree.parts[0]
    assert isinstance(wanted, Events)
    return number_of(kept.matching([GPU], wanted, 60.0), wanted)


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


def test_events_of_one_kind_are_found_by_their_own_type() -> None:
    """A probe reports errors of hardware and of networks about one component."""
    kinds = (EventType.ERROR_HW, EventType.ERROR_NET)
    told = [replace(event("probe", float(at)), type=kind) for at, kind in enumerate(kinds)]
    kept = store(*told)
    words = ("error.hw", "error.net", "probe")
    found = [kept.matching([GPU], XIDS._replace(what=word), 10.0) for word in words]
    assert found == [told[:1], told[1:], told]
    for at in range(2, 70):
        kept.take(replace(told[1], boottime=float(at)))
    kept.forget([GPU])
    assert [*kept.addresses()] == []
