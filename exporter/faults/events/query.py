"""The events that a rule queries, and the sources and kinds that the engine itself knows."""

from typing import NamedTuple

MAX_WINDOW_SECS = 86_400.0

LOOKS = "looks"
"""The source of events that the engine derives by comparing two snapshots."""

PROBE = "probe"
PROBE_EVENT_FIELDS = ("probe", "text", "job")
"""The fields by which rules can filter events of external probes."""

BOOT = "boot"
"""The start of the kernel: it ends all faults from events."""


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
