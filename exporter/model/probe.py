"""What external probes said: numbers with names of their own, and whether each still speaks."""

from dataclasses import replace

from exporter.model.event import Event
from exporter.model.reading import Labeled
from exporter.record import dataclass

Labels = tuple[tuple[str, str], ...]

_OWN_NAMES = {
    "counter": ("", "_created", "_total"),
    "gauge": ("",),
    "histogram": ("", "_bucket", "_count", "_created", "_sum"),
    "info": ("", "_info"),
}


def names_taken(name: str, kind: str) -> frozenset[str]:
    """Return the names that a metric of this type takes in either format of the page."""
    stem = name.removesuffix({"counter": "_total", "info": "_info"}.get(kind, ""))
    return frozenset(stem + suffix for suffix in _OWN_NAMES[kind])


@dataclass(frozen=True, slots=True)
class ProbeValue:
    """A number in the plain line format: what kind of event, about what."""

    event_type: str
    entity: str
    value: float

    @property
    def series(self) -> int:
        """How many series it is on the page."""
        return 1


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many observations were at most each bound, and the sum of all.

    Counts are cumulative; the last bound is infinite, its count is that of all observations.
    """

    buckets: tuple[tuple[float, int], ...]
    sum: float

    @property
    def count(self) -> int:
        """How many observations there were."""
        return self.buckets[-1][1]

    @property
    def series(self) -> int:
        """How many series it is on the page: its buckets, their sum and count."""
        return len(self.buckets) + 2


@dataclass(frozen=True, slots=True)
class ProbeMetric:
    """A metric in the rich line format, with a name of its own; units are base units."""

    name: str
    kind: str  # gauge, counter or histogram
    help: str
    labels: Labels
    value: float | Histogram

    @property
    def series(self) -> int:
        """How many series it is on the page."""
        return self.value.series if isinstance(self.value, Histogram) else 1

    @property
    def numbers(self) -> tuple[tuple[str, float], ...]:
        """The numbers that rules see, by name: of a histogram its count and sum."""
        if isinstance(self.value, Histogram):
            count, total = f"{self.name}_count", f"{self.name}_sum"
            return (count, self.value.count), (total, self.value.sum)
        return ((self.name, self.value),)


@dataclass(frozen=True, slots=True)
class ProbeState:
    """One external probe; what it said is gone when it has been silent beyond `expires`."""

    name: str
    up: bool
    restarts: int = 0
    lines: Labeled = ()  # counts by result: good, bad, dropped
    values: tuple[ProbeValue, ...] = ()
    metrics: tuple[ProbeMetric, ...] = ()
    expires: float | None = None  # boot time in seconds

    def at(self, boottime: float) -> "ProbeState":
        """Return the state as it may be shown at this boot time in seconds."""
        if self.expires is None or boottime < self.expires:
            return self
        return replace(self, up=False, values=(), metrics=(), expires=None)


@dataclass(frozen=True, slots=True)
class ExternalProbes:
    """All external probes, in the order of the configuration, and their latest events.

    `event_count` counts all events since the start; `events` are the last of them.
    """

    probes: tuple[ProbeState, ...]
    events: tuple[Event, ...] = ()
    event_count: int = 0

    def at(self, boottime: float) -> "ExternalProbes":
        """Return the same probes without what has expired at this boot time in seconds."""
        return replace(self, probes=tuple(probe.at(boottime) for probe in self.probes))

    def next_expiry(self) -> float | None:
        """Return the boot time in seconds at which `at` will give something else, if ever."""
        return min((p.expires for p in self.probes if p.expires is not None), default=None)
