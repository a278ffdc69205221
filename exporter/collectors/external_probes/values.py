"""Readings of external probes: metrics with names of their own, and the state of each probe."""

from exporter.exposition.family import Histogram
from exporter.model.event import Event
from exporter.model.reading import Labeled
from exporter.record import dataclass, replace

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ProbeValue:
    """A number in the plain line format: type of event, entity, value."""

    event_type: str
    entity: str
    value: float

    @property
    def series(self) -> int:
        """The number of series that the value has on the page."""
        return 1


@dataclass(frozen=True, slots=True)
class ProbeMetric:
    """A metric in the rich line format, with its own name, in base units."""

    name: str
    kind: str  # gauge, counter or histogram
    help: str
    labels: Labels
    value: float | Histogram

    @property
    def series(self) -> int:
        """The number of series that the metric has on the page."""
        return self.value.series if isinstance(self.value, Histogram) else 1

    @property
    def numbers(self) -> tuple[tuple[str, float], ...]:
        """The numbers that rules read, by name: count and sum of a histogram, else the value."""
        if isinstance(self.value, Histogram):
            count, total = f"{self.name}_count", f"{self.name}_sum"
            return (count, self.value.count), (total, self.value.sum)
        return ((self.name, self.value),)


@dataclass(frozen=True, slots=True)
class ProbeState:
    """One external probe; its values are dropped when it was silent until `expires`."""

    name: str
    up: bool
    restarts: int = 0
    lines: Labeled = ()  # counts by result: good, bad, dropped
    values: tuple[ProbeValue, ...] = ()
    metrics: tuple[ProbeMetric, ...] = ()
    expires: float | None = None  # boot time in seconds

    def at(self, boottime: float) -> "ProbeState":
        """Return the state at this boot time in seconds: without values that have expired."""
        if self.expires is None or boottime < self.expires:
            return self
        return replace(self, up=False, values=(), metrics=(), expires=None)


@dataclass(frozen=True, slots=True)
class ExternalProbes:
    """All external probes, in the order of the configuration, and their latest events.

    `event_count` counts all events since the start; `events` are the latest.
    """

    probes: tuple[ProbeState, ...]
    events: tuple[Event, ...] = ()
    event_count: int = 0

    def at(self, boottime: float) -> "ExternalProbes":
        """Return the probes without values that have expired at this boot time in seconds."""
        return replace(self, probes=tuple(probe.at(boottime) for probe in self.probes))

    def next_expiry(self) -> float | None:
        """Return the boot time in seconds at which the first value expires; None if none does."""
        return min((p.expires for p in self.probes if p.expires is not None), default=None)
