"""A metric family: name, HELP, type, labels, and a pure function of the snapshot."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import TypeAlias

from exporter.model.snapshot import Snapshot
from exporter.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of observations by upper bound, and the sum of all.

    Counts are cumulative; the last bound is infinite, its count is that of all observations.
    """

    buckets: tuple[tuple[float, int], ...]
    sum: float

    @property
    def count(self) -> int:
        """The number of all observations."""
        return self.buckets[-1][1]

    @property
    def series(self) -> int:
        """The number of series that the histogram has on the page: buckets, sum and count."""
        return len(self.buckets) + 2


Sample: TypeAlias = tuple[tuple[str, ...], float | Histogram]
"""Values of the labels after `node`, in the family's order, and the number."""


class MetricType(Enum):
    """The metric types of the exposition formats that are in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"

    @property
    def in_text(self) -> str:
        """The type in the text format, where an info metric is a gauge."""
        return MetricType.GAUGE.value if self is MetricType.INFO else self.value


SUFFIXES = {MetricType.COUNTER: "_total", MetricType.INFO: "_info"}
"""The suffix of a sample's name that OpenMetrics removes for the name of the family."""

UNITS = (
    *("bytes_per_second", "bytes", "seconds", "celsius", "watts", "joules", "hertz", "volts"),
    *("ratio", "percent", "rpm"),
)
"""Units at the end of metric names; a name without one counts things or states."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric family of the page.

    `samples` returns the samples of one snapshot; an unknown value has no sample, and a family
    without samples is left off the page. `stability` says whether name, type and labels may change
    in any minor version. `never_bad` says why no value of a gauge is bad; empty where the unit says
    that.
    """

    name: str
    help: str
    type: MetricType
    labels: tuple[str, ...]
    samples: Callable[[Snapshot], Iterable[Sample]]
    stability: str = "stable"
    never_bad: str = ""


_OWN_NAMES = {
    "counter": ("", "_created", "_total"),
    "gauge": ("",),
    "histogram": ("", "_bucket", "_count", "_created", "_sum"),
    "info": ("", "_info"),
}


def names_taken(name: str, kind: str) -> frozenset[str]:
    """Return the names that a metric of this type takes in either format of the page."""
    stem = name.removesuffix(SUFFIXES.get(MetricType(kind), ""))
    return frozenset(stem + suffix for suffix in _OWN_NAMES[kind])


def experimental(families: Iterable[Family]) -> tuple[Family, ...]:
    """Return the same families, marked as experimental."""
    return tuple(replace(family, stability="experimental") for family in families)


def type_of(name: str) -> MetricType:
    """Return the metric type by name: `_total` is a counter, `_info` an info metric."""
    if name.endswith("_info"):
        return MetricType.INFO
    return MetricType.COUNTER if name.endswith("_total") else MetricType.GAUGE


def unit_of(name: str) -> str:
    """Return the unit that the name of a family ends in, without `_total`; empty if none."""
    stem = name.removesuffix("_total")
    return next((unit for unit in UNITS if stem.endswith(f"_{unit}")), "")


def family(
    name: str, help_text: str, samples: Callable[[Snapshot], Iterable[Sample]], *labels: str
) -> Family:
    """Return the family of these samples."""
    return Family(name, help_text, type_of(name), labels, samples)


def one(value: float | None, *labels: str) -> tuple[Sample, ...]:
    """Return the value as the only sample, or nothing when it is unknown."""
    return () if value is None else ((labels, value),)
