"""The latest events, bounded."""

from types import MappingProxyType

from exporter.model.event import Event, EventType
from exporter.sources.kernel_log.counters import EventRing


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


def test_many_things_are_bounded_too() -> None:
    """However many things there are, no more than the limit is kept."""
    ring = EventRing(max_events=50, max_of_one=10)
    for number in range(1, 1000):
        ring.add(event(number, hw_id=f"gpu{number}"))
    assert len(ring.events()) == 50


def test_processes_are_one_group() -> None:
    """Each crash has another pid; they share the room of one thing."""
    ring = EventRing(max_events=100, max_of_one=10)
    for number in range(1, 50):
        ring.add(event(number, kind="segfault", hw_id=str(number)))
    assert len(ring.events()) == 10
