"""The feeds, interpreters and repairs of all collectors, as the engine uses them."""

from collections.abc import Iterable

from exporter.collectors.everything import KINDS
from exporter.faults.engine import repaired
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot


class EventStream:
    """All feeds together."""

    def __init__(self, *, is_resumed: bool = False) -> None:
        self._feeds = [make(is_resumed) for row in KINDS.rows for make in row.feeds]

    def new_events(self, snapshot: Snapshot) -> tuple[Event, ...]:
        """The events that no snapshot before had."""
        return tuple(event for feed in self._feeds for event in feed.new_events(snapshot))

    def event_sources(self, snapshot: Snapshot) -> frozenset[str]:
        """The feeds that work now."""
        return frozenset(feed.name for feed in self._feeds if feed.works(snapshot))


def interpreted(event: Event) -> Event:
    """The event with what all collectors know of it, by interpreters that remember nothing."""
    for interpreter in KINDS.interpreters():
        event = interpreter.interpret(event)
    return event


class Repairs:
    """The repairs that all collectors find."""

    def __init__(self) -> None:
        self._rows = [row.repairs() for row in KINDS.rows if row.repairs]

    def between(self, snapshot: Snapshot, events: Iterable[Event] = ()) -> list[Event]:
        """The events of repairs since the snapshot before."""
        known = tuple(events)
        return [
            repaired(repair, snapshot)
            for row in self._rows
            for repair in row.between(snapshot, known)
        ]
