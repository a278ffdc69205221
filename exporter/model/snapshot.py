"""The snapshot: all readings and conclusions of the node at one moment."""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import Protocol, TypeGuard, TypeVar, cast

from exporter.model.reading import Labeled, Missing
from exporter.model.verdict import Conclusions
from exporter.record import dataclass, replace

T = TypeVar("T")

MAX_AGE_SECS = 300.0
"""No reading older than this is shown, whatever has stopped."""


class Outcome(Enum):
    """The result of one read of a source."""

    OK = "ok"
    ABSENT = "absent"  # the hardware is not on this node: expected, not an error
    FAILED = "failed"
    STUCK = "stuck"  # no answer within the deadline


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The health of one source, kept apart from the source's reading."""

    source: str
    outcome: Outcome
    duration_secs: float
    reason: str | None = None
    last_success_at: float | None = None  # wall clock, seconds since the epoch
    missing: tuple[Missing, ...] = ()
    rejected: Labeled = ()


class Perishable(Protocol):
    """A value with parts that expire one by one (devices served from a cache)."""

    def at(self, boottime: float) -> "Perishable":
        """Return the value without the parts that have expired at this boot time, in seconds."""
        ...

    def next_expiry(self) -> float | None:
        """Return the boot time in seconds at which the next part expires; None if none does."""
        ...


def _perishes(value: object) -> TypeGuard[Perishable]:
    """Tell whether a value expires, by attribute: `isinstance` with a protocol is slow."""
    return hasattr(value, "next_expiry")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One complete collection; replaced whole, never changed.

    `readings` holds one value per type, and none of a failed source, so that nothing old is shown
    as new. Times named `boottime` are in seconds since boot, suspended time included.
    `renewed_secs` is the time from the collection to a later read of single sources, 0 without one.
    """

    node: str
    sequence: int
    taken_at: float  # wall clock, seconds since the epoch
    taken_boottime: float
    duration_secs: float
    readings: Mapping[type, object] = field(default_factory=lambda: MappingProxyType({}))
    reports: tuple[SourceReport, ...] = ()
    conclusions: Conclusions | None = None
    skipped_ticks: int = 0
    renewed_secs: float = 0.0

    def reading(self, kind: type[T]) -> T | None:
        """Return the reading of this type; None if no source reported one."""
        return cast("T | None", self.readings.get(kind))

    def report(self, source: str) -> SourceReport | None:
        """Return the report of this source; None if the source does not run."""
        return next((report for report in self.reports if report.source == source), None)

    def at(self, boottime: float) -> "Snapshot":
        """Return the snapshot to show at this boot time (seconds): without what has expired."""
        if boottime < self.next_expiry():
            return self
        if boottime >= self.taken_boottime + MAX_AGE_SECS:
            if not self.readings and self.conclusions is None:
                return self
            return replace(self, readings=MappingProxyType({}), conclusions=None)
        kept = {
            kind: value.at(boottime) if _perishes(value) else value
            for kind, value in self.readings.items()
        }
        return replace(self, readings=MappingProxyType(kept))

    def next_expiry(self) -> float:
        """Return the boot time in seconds at which the next part of the snapshot expires."""
        expiries = [self.taken_boottime + MAX_AGE_SECS]
        for value in self.readings.values():
            if _perishes(value):
                expiry = value.next_expiry()
                if expiry is not None:
                    expiries.append(expiry)
        return min(expiries)
