"""What external probes said: numbers with names of their own, and whether each still speaks."""

from dataclasses import dataclass, replace

from exporter.model.event import Event
from exporter.model.reading import Labeled

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ProbeValue:
    """A number in the plain line format: what kind of event, about what."""

    event_type: str
    entity: str
    value: float


@dataclass(frozen=True, slots=True)
class ProbeMetric:
    """A number in the rich line format, with a metric name of its own; units are base units."""

    name: str
    kind: str  # gauge or counter
    help: str
    labels: Labels
    value: float


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
