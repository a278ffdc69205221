"""Events of a snapshot: each is taken once, whoever tells of it and whatever restarts."""

from exporter.collectors.external_probes.values import ExternalProbes
from exporter.collectors.gpu.values import GpuBackend, Gpus
from exporter.collectors.kernel_log.values import KernelLog
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from tests.faults.events.feeding import EventStream
from tests.faults.scenes import xid


def numbered(*numbers: int) -> tuple[Event, ...]:
    """Xids with these numbers."""
    found = []
    for number in numbers:
        event = xid(79, float(number))
        found.append(
            Event(
                event.at,
                event.boottime,
                event.type,
                event.kind,
                event.entity_type,
                event.entity_id,
                event.source,
                number=number,
            )
        )
    return tuple(found)


def snapshot(*readings: object) -> Snapshot:
    """A snapshot with these readings."""
    return Snapshot("n", 1, 0.0, 0.0, 0.0, readings={type(each): each for each in readings})


def log(*numbers: int, first_new: int = 1) -> KernelLog:
    """The kernel log with events of these numbers."""
    return KernelLog("kmsg", "ok", 0, 0, 0, events=numbered(*numbers), first_new_number=first_new)


def taken(feed: EventStream, *readings: object) -> list[int]:
    """The numbers of the events that are new."""
    return [event.number for event in feed.new_events(snapshot(*readings))]


def test_an_event_of_the_log_is_taken_once() -> None:
    """The log shows its latest events again and again."""
    feed = EventStream()
    assert taken(feed, log(1, 2)) == [1, 2]
    assert taken(feed, log(1, 2, 3)) == [3]
    assert taken(feed) == []
    assert taken(feed, log(2, 3)) == []


def test_the_log_before_the_start_is_taken_where_nothing_was_kept() -> None:
    """What happened before the exporter started is real; what a kept memory has is not new."""
    assert taken(EventStream(), log(1, 2, 3, first_new=3)) == [1, 2, 3]
    assert taken(EventStream(is_resumed=True), log(1, 2, 3, first_new=3)) == [3]


def test_events_of_the_library_and_of_probes_are_taken_once() -> None:
    """Each source has its own numbers."""
    feed = EventStream()
    gpus = Gpus(GpuBackend("nvml", "ok"), events=numbered(1, 2))
    assert sorted(taken(feed, gpus, log(1))) == [1, 1, 2]
    assert taken(feed, gpus, log(1)) == []
    first, second = numbered(0, 0), numbered(0, 0, 0)
    assert len(feed.new_events(snapshot(ExternalProbes((), first, event_count=2)))) == 2
    assert len(feed.new_events(snapshot(ExternalProbes((), second, event_count=3)))) == 1
    assert len(feed.new_events(snapshot(ExternalProbes((), second, event_count=3)))) == 0
    assert len(feed.new_events(snapshot(ExternalProbes((), second, event_count=300)))) == 3


def test_who_is_heard() -> None:
    """A log that is read, and a library that answers."""
    feed = EventStream()
    assert feed.event_sources(snapshot()) == frozenset()
    assert feed.event_sources(snapshot(log(), Gpus(GpuBackend("nvml", "ok")))) == {
        "kernel_log",
        "nvml",
    }
    assert feed.event_sources(snapshot(Gpus(GpuBackend("nvidia-smi", "stuck")))) == frozenset()
