"""The latest events: bounded, and so that a flood of one thing does not push out the rest."""

from collections import deque
from collections.abc import Hashable

from exporter.model.event import Event

MAX_EVENTS = 1024
MAX_OF_ONE = 64
"""Events kept of one kind about one thing."""


class EventRing:
    """Keeps the latest events of each kind and thing, `MAX_EVENTS` in all."""

    def __init__(self, max_events: int = MAX_EVENTS, max_of_one: int = MAX_OF_ONE) -> None:
        self._max_events = max_events
        self._max_of_one = max_of_one
        self._groups: dict[Hashable, deque[Event]] = {}
        self._size = 0
        self._sorted: tuple[Event, ...] | None = ()

    def add(self, event: Event) -> None:
        """Keep this event, dropping the oldest of the largest group where it gets too many."""
        self._sorted = None
        group = self._groups.setdefault(_group_of(event), deque())
        group.append(event)
        self._size += 1
        if len(group) > self._max_of_one:
            self._drop(group)
        elif self._size > self._max_events:
            self._drop(max(self._groups.values(), key=len))

    def events(self) -> tuple[Event, ...]:
        """Return what is kept, in the order of the numbers."""
        if self._sorted is None:
            kept = [event for group in self._groups.values() for event in group]
            self._sorted = tuple(sorted(kept, key=lambda event: event.number))
        return self._sorted

    def _drop(self, group: deque[Event]) -> None:
        oldest = group.popleft()
        self._size -= 1
        if not group:
            del self._groups[_group_of(oldest)]


def _group_of(event: Event) -> Hashable:
    """Group by kind, code and thing; processes come and go, so theirs are one group."""
    hw_id = "" if event.entity_type in {"process", "workload"} else event.entity_id
    return (event.kind, event.fields.get("code"), event.entity_type, hw_id)
