"""The events that a rule queries."""

from typing import NamedTuple

MAX_WINDOW_SECS = 86_400.0


class Events(NamedTuple):
    """A count of the events of this type or kind, of one entity, in the last seconds.

    `filters` are fields of the event with the texts they may have. With `alike`, only the largest
    group of events with equal values in these fields counts; with `differ`, the number of different
    values in these fields is counted, not events. Only events after the last event of a kind in
    `until` count.
    """

    what: str
    filters: tuple[tuple[str, tuple[str, ...]], ...]
    within_secs: float
    position: int = 0
    alike: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
