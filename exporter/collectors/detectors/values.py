"""What is unusual about GPUs: beside their siblings, and beside what they did before."""

from exporter.collectors.workloads.values import Workload
from exporter.model.reading import Labeled
from exporter.model.verdict import Conclusions
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class SiblingDeviation:
    """How far one GPU is from the others of its model that run the same workload.

    `by_signal` are robust z-scores, smoothed over minutes, from -10 to 10; `is_synchronous` tells
    whether the workload is known to make its GPUs wait for each other.
    """

    gpu_uuid: str
    by_signal: Labeled
    is_synchronous: bool

    @property
    def furthest(self) -> tuple[str, float]:
        """The signal that is furthest away, and by how much."""
        return max(self.by_signal, key=lambda row: abs(row[1]))


@dataclass(frozen=True, slots=True)
class GpuAnomaly:
    """How much less likely one GPU's readings are than nearly all that were learned.

    `score` counts the natural logarithm below the quantile, smoothed over minutes, 0 while above;
    `is_change` tells whether they were usual before, with the same workload: None where it is not
    known which workload it is.
    """

    gpu_uuid: str
    score: float
    is_change: bool | None


@dataclass(frozen=True, slots=True)
class AnomalyModel:
    """Whether enough was learned of the GPUs with this product name to say what is unusual."""

    gpu_name: str
    is_ready: bool


@dataclass(frozen=True, slots=True)
class SlowCalls:
    """Which share of the latest traced calls took longer than 99 % of those before."""

    layer: str
    call: str
    workload: Workload
    ratio: float


@dataclass(frozen=True, slots=True)
class Unusual:
    """What the detectors that are on found in one collection."""

    siblings: tuple[SiblingDeviation, ...] = ()
    anomalies: tuple[GpuAnomaly, ...] = ()
    models: tuple[AnomalyModel, ...] = ()
    slow_calls: tuple[SlowCalls, ...] = ()


def unusual_of(conclusions: Conclusions | None) -> Unusual | None:
    """Return what the detectors found in the snapshot of these conclusions; None if all are off."""
    found = conclusions.detected if conclusions else None
    return found if isinstance(found, Unusual) else None
