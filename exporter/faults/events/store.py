"""The events of the last day by component, with a bounded size."""

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, KeysView, Mapping

from exporter.faults.events.query import MAX_WINDOW_SECS, Events
from exporter.faults.values import Address
from exporter.model.event import Event

MAX_PER_CODE = 64
"""The most equal events of one entity that are kept; counts end there."""

MAX_CODES = 5_000
"""The most different codes, over all entities; the one without events for longest is dropped."""

ENDED = "ended"
"""The field of an event that ends the condition of the event's kind."""

ENDS = "ends"
"""The field of such an event that names a field: events that differ in that one go on."""

NOT_ENDED = ("no",)
"""`ended=no` in a rule: conditions that have not ended."""

PROCESS = "process"

_Slot = tuple[Address, str, str, str]
"""Address, kind, type and code of equal events."""


class EventStore:
    """Events by address, kind, type and code: many events of one code push out no other code.

    Events of the kinds `names_processes` are also about the process in their field `pid`.
    """

    def __init__(self, names_processes: Collection[str] = ()) -> None:
        self._names_processes = names_processes
        self._slots: dict[_Slot, deque[Event]] = {}
        self._by_kind: dict[str, dict[Address, dict[_Slot, None]]] = {}  # by type, too
        self.version = 0
        """Grows with each change."""

    def take(self, event: Event) -> None:
        """Store one event."""
        for address in addresses_of(event, self._names_processes):
            self._keep(event, _slot_of(event, address))

    def exchange(self, event: Event, fuller: Event) -> None:
        """Replace an event by one of the same occurrence with more fields."""
        for address in addresses_of(event, self._names_processes):
            slot = _slot_of(event, address)
            others = [other for other in self._slots.get(slot, ()) if other is not event]
            if others:
                self._slots[slot] = deque(others, MAX_PER_CODE)
            elif slot in self._slots:
                self._drop(slot)
        self.take(fuller)

    def _keep(self, event: Event, slot: _Slot) -> None:
        self.version += 1
        kept = self._slots.pop(slot, None)
        if kept is None:
            kept = deque(maxlen=MAX_PER_CODE)
            for word in _words_of(slot):
                self._by_kind.setdefault(word, {}).setdefault(slot[0], {})[slot] = None
        kept.append(event)
        self._slots[slot] = kept  # at the end: the order is that of the last event
        if len(self._slots) > MAX_CODES:
            self._drop(next(iter(self._slots)))

    def forget_old(self, now: float) -> None:
        """Delete events older than the longest window."""
        old = now - MAX_WINDOW_SECS
        for slot in [s for s, kept in self._slots.items() if kept[-1].boottime < old]:
            self._drop(slot)

    def forget(self, addresses: Collection[Address]) -> None:
        """Delete all events of these addresses."""
        for slot in [slot for slot in self._slots if slot[0] in addresses]:
            self._drop(slot)

    def clear(self) -> list[Event]:
        """Delete all events; return them, the oldest first."""
        events = sorted(self.all(), key=lambda event: (event.boottime, event.number))
        for slot in [*self._slots]:
            self._drop(slot)
        return events

    def matching(
        self,
        addresses: Iterable[Address] | None,
        wanted: Events,
        now: float,
        after: float = -math.inf,
    ) -> list[Event]:
        """Find the wanted events of these addresses (None: of all), oldest first."""
        places = self._by_kind.get(wanted.what)
        if not places:
            return []
        since = now - wanted.within_secs
        chosen = list(places) if addresses is None else [a for a in addresses if a in places]
        found = []
        for address in chosen:
            kept = [
                event
                for event in self._of(address, wanted)
                if event.boottime >= since and event.boottime > after
            ]
            found += [event for event in _open(kept, wanted) if _passes(event, wanted.filters)]
        found = list({id(event): event for event in found}.values())  # one may have two addresses
        found.sort(key=lambda event: (event.boottime, event.number))
        return _largest_group(found, wanted) if wanted.alike or wanted.differ else found

    def last_of(self, addresses: Iterable[Address], kinds: Iterable[str]) -> float:
        """Return the boot time of the last of these kinds of events; -inf if there is none."""
        indexed = [by_address for what in kinds if (by_address := self._by_kind.get(what))]
        if not indexed:
            return -math.inf  # as nearly always
        moments = (
            self._slots[slot][-1].boottime
            for address in addresses
            for by_address in indexed
            for slot in by_address.get(address, ())
        )
        return max(moments, default=-math.inf)

    def addresses(self) -> KeysView[Address]:
        """Return all addresses that have events, each once, the one with the oldest first."""
        return dict.fromkeys(slot[0] for slot in self._slots).keys()

    def addresses_with(self, what: str) -> Collection[Address]:
        """Return the addresses that have events of this kind or type."""
        return self._by_kind.get(what, ())

    def all(self) -> Iterator[Event]:
        """Yield each stored event once."""
        kept = {id(event): event for events in self._slots.values() for event in events}
        yield from kept.values()

    def _of(self, address: Address, wanted: Events) -> Iterator[Event]:
        codes = dict(wanted.filters).get("code")
        for slot in self._by_kind[wanted.what][address]:
            if codes is None or slot[-1] in codes:
                yield from self._slots[slot]

    def _drop(self, slot: _Slot) -> None:
        self.version += 1
        del self._slots[slot]
        for word in _words_of(slot):
            slots = self._by_kind[word][slot[0]]
            del slots[slot]
            if not slots:
                del self._by_kind[word][slot[0]]


def _slot_of(event: Event, address: Address) -> _Slot:
    return address, event.kind, event.type.value, event.fields.get("code", "")


def _words_of(slot: _Slot) -> Iterable[str]:
    """Return the words by which rules count these events: kind and type, which may be equal."""
    return dict.fromkeys(slot[1:3])


def addresses_of(event: Event, names_processes: Collection[str]) -> tuple[Address, ...]:
    """Return the component of an event; for some kinds also the process that the event names."""
    about = (event.entity_type, event.entity_id)
    pid = event.fields.get("pid", "") if event.pid is None else str(event.pid)
    if event.kind in names_processes and pid.isdigit() and about != (PROCESS, pid):
        return about, (PROCESS, pid)
    return (about,)


def number_of(events: list[Event], wanted: Events) -> int:
    """Count the events: their number, or that of different values in the fields `differ`."""
    return len(_groups(events, wanted.differ)) if wanted.differ else len(events)


def _largest_group(events: list[Event], wanted: Events) -> list[Event]:
    """Return the largest group of events that are equal in the fields `alike`."""
    groups = _groups((e for e in events if _groups([e], wanted.differ)), wanted.alike)
    return max(groups.values(), key=lambda group: number_of(group, wanted), default=[])


def _groups(events: Iterable[Event], names: Iterable[str]) -> dict[tuple[str, ...], list[Event]]:
    """Return the events by their values in these fields, without events that lack a field."""
    groups: dict[tuple[str, ...], list[Event]] = {}
    for event in events:
        values = tuple(event.fields.get(name, "") for name in names)
        if all(values):
            groups.setdefault(values, []).append(event)
    return groups


def _open(events: list[Event], wanted: Events) -> list[Event]:
    """Return the events of one address; with `ended=no` only those without an end event after."""
    if dict(wanted.filters).get(ENDED) != NOT_ENDED:
        return events
    over: dict[tuple[str, str | None], float] = {}  # by the field and value of a part; None: all
    for end in events:
        if ENDED in end.fields:
            name = end.fields.get(ENDS, "")
            part = name, end.fields.get(name)
            over[part] = max(end.boottime, over.get(part, end.boottime))
    return [event for event in events if not _is_over(event, over)]


def _is_over(event: Event, over: Mapping[tuple[str, str | None], float]) -> bool:
    """Whether an end event came later, and is about the same part of the component."""
    return any(
        event.boottime <= at and (value is None or event.fields.get(name) in (None, value))
        for (name, value), at in over.items()
    )


def _passes(event: Event, filters: tuple[tuple[str, tuple[str, ...]], ...]) -> bool:
    """Whether the event passes the filters; end events pass only if the filters name `ended`."""
    if ENDED in event.fields and ENDED not in dict(filters):
        return False
    return all(
        event.fields.get(name) in choices or (name == ENDED and choices == NOT_ENDED)
        for name, choices in filters
    )
