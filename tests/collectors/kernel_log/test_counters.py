"""The latest events, bounded."""

from dataclasses import replace
from types import MappingProxyType

from exporter.collectors.kernel_log.counters import (
    MAX_EVENTS,
    MAX_GPUS,
    MAX_OF_ONE,
    MAX_XIDS,
    Counters,
    EventRing,
)
from exporter.model.event import Event, EventType


def event(number: int, *, kind: str = "xid", hw_id: str = "gpu0", code: str = "45") -> Event:
    """An event with this number."""
    return Event(
        at=0.0,
        boottime=0.0,
        type=EventType.ERROR_HW,
        kind=kind,
        entity_type="process" if kind == "segfault" else "gpu",
        entity_id=hw_id,
        source="kernel_log",
        fields=MappingProxyType({"code": code}),
        number=number,
    )


def test_events_are_given_in_the_order_of_their_numbers() -> None:
    """Whatever group they are in."""
    ring = EventRing()
    for number, code in ((1, "45"), (2, "79"), (3, "45")):
        ring.add(event(number, code=code))
    assert [kept.number for kept in ring.events()] == [1, 2, 3]


def test_a_flood_of_one_thing_does_not_push_out_another() -> None:
    """Thousands of Xid 45 leave the one Xid 79 where it is."""
    ring = EventRing(max_events=100, max_of_one=10)
    ring.add(event(1, code="79"))
    for number in range(2, 5000):
        ring.add(event(number))
    kept = ring.events()
    assert len(kept) == 11
    assert kept[0].fields["code"] == "79"
    assert kept[-1].number == 4999


def test_processes_are_one_group() -> None:
    """Each crash has another pid; they share the room of one thing."""
    ring = EventRing(max_events=100, max_of_one=10)
    for number in range(1, 50):
        ring.add(event(number, kind="segfault", hw_id=str(number)))
    assert len(ring.events()) == 10


def test_as_many_are_kept_as_the_limits_say() -> None:
    """One thing has its limit and all together have theirs, to the last event."""
    ring = EventRing(max_events=5, max_of_one=3)
    for number in (1, 2, 3):
        ring.add(event(number))
    assert [kept.number for kept in ring.events()] == [1, 2, 3]
    ring.add(event(4))
    assert [kept.number for kept in ring.events()] == [2, 3, 4]
    for number, name in ((5, "gpu1"), (6, "gpu2")):
        ring.add(event(number, hw_id=name))
    assert [kept.number for kept in ring.events()] == [2, 3, 4, 5, 6]
    ring.add(event(7, hw_id="gpu3"))
    assert [kept.number for kept in ring.events()] == [3, 4, 5, 6, 7], "the largest group pays"


def test_a_ring_of_single_events_forgets_the_oldest() -> None:
    """Then its thing is forgotten too, and comes again like any other."""
    ring = EventRing(max_events=2, max_of_one=3)
    for number in range(1, 6):
        ring.add(event(number, hw_id=f"gpu{number}"))
    assert [kept.number for kept in ring.events()] == [4, 5]
    assert len(ring._groups) == 2


def test_the_limits_of_a_node() -> None:
    """A thousand events, 64 of one thing: what a page and a rule have to bear."""
    flood, crowd = EventRing(), EventRing()
    for number in range(1, 1500):
        flood.add(event(number))
        crowd.add(event(number, hw_id=f"gpu{number}"))
    assert (len(flood.events()), len(crowd.events())) == (MAX_OF_ONE, MAX_EVENTS) == (64, 1024)


def test_names_of_gpus_are_bounded() -> None:
    """A log that invents UUIDs costs room for so many; the first ones stay."""
    counters = Counters()
    for number in range(100):
        named = event(number, kind="gpu_uuid", hw_id=f"gpu{number}")
        counters.keep(replace(named, fields=MappingProxyType({"uuid": f"GPU-{number}"})))
    assert len(counters.gpu_uuids) == MAX_GPUS == 64
    assert counters.gpu_uuids["gpu63"] == "GPU-63"


def test_an_xid_is_counted_with_its_latest_moment() -> None:
    """Records of two processors may come in either order.

    Pairs beyond the limit are left out; those within it go on to be counted.
    """
    counters = Counters()
    for at in (5.0, 9.0, 7.0):
        xid = replace(event(1), at=at, fields=MappingProxyType({"pci": "a", "code": "79"}))
        counters.count(xid)
    (counted,) = counters.as_value("kmsg", "ok").xids
    assert (counted.count, counted.last_at) == (3, 9.0)
    for code in range(1000):
        counters.count(replace(xid, fields=MappingProxyType({"pci": "b", "code": str(code)})))
    counters.count(replace(xid, fields=MappingProxyType({"pci": "a", "code": "79"})))
    assert len(counters.xids) == MAX_XIDS == 512
    assert counters.xids["a", 79].count == 4
