"""The events that a rule queries."""

from typing import NamedTuple

MAX_WINDOW_SECS = 86_400.0


class Events(NamedTuple):
    """How many events of this type or kind the entity had in the last seconds.

    `filters` are fields of the event with the texts that are let through. With `alike` only the
    largest number of them counts that are equal in these fields; with `differ` not the events are
    counted, but how many different values they have in these. Only events after the last one of a
    kind in `until` count.
    """

    what: str
    filters: tuple[tuple[str, tuple[str, ...]], ...]
    within_secs: float
    position: int = 0
    alike: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
