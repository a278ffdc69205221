"""The one value that flows: everything known about the node at one moment."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum
from types import MappingProxyType
from typing import Protocol, TypeGuard, TypeVar, cast

from exporter.model.reading import Labeled, Missing
from exporter.model.verdict import Conclusions
from exporter.record import dataclass

T = TypeVar("T")

MAX_AGE_SECS = 300.0
"""Nothing older than this is ever shown, whatever has stopped."""


class Outcome(Enum):
    """How one attempt of one source ended."""

    OK = "ok"
    ABSENT = "absent"  # the thing is not on this node: expected, not an error
    FAILED = "failed"
    STUCK = "stuck"  # it did not answer within its deadline


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The health of one source, kept apart from its data."""

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
        """Return the same value without what has expired at this boot time, in seconds."""
        ...

    def next_expiry(self) -> float | None:
        """Return the boot time in seconds at which `at` will give something else, if ever."""
        ...


def _perishes(value: object) -> TypeGuard[Perishable]:
    """Tell whether the value expires; by name, since `isinstance` of a protocol takes long."""
    return hasattr(value, "next_expiry")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One complete collection; replaced whole, never changed.

    `readings` holds one value per type; a source that failed has none, so that nothing old is
    shown as new. Times named `boottime` count seconds since boot, suspended time included.
    `renewed_secs` is how long after it was taken a source was read again, 0 where none was.
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
        """Return the reading of this type; None when it was not said."""
        return cast("T | None", self.readings.get(kind))

    def report(self, source: str) -> SourceReport | None:
        """Return the report of this source; None where it does not run."""
        return next((report for report in self.reports if report.source == source), None)

    def at(self, boottime: float) -> "Snapshot":
        """Return the snapshot as it may be shown at this boot time: without what has expired."""
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
        """Return the boot time in seconds at which `at` will first give something else."""
        expiries = [self.taken_boottime + MAX_AGE_SECS]
        for value in self.readings.values():
            if _perishes(value):
                expiry = value.next_expiry()
                if expiry is not None:
                    expiries.append(expiry)
        return min(expiries)
