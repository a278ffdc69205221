"""Families of the detectors; absent if the detectors are off."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from exporter.collectors.detectors.values import (
    AnomalyModel,
    GpuAnomaly,
    SiblingDeviation,
    Unusual,
    unusual_of,
)
from exporter.collectors.gpu.labels import GPU_LABELS, gpu_label_values, states
from exporter.exposition.family import Sample, family
from exporter.exposition.rows import Items, Row, families
from exporter.model.snapshot import Snapshot

T = TypeVar("T", SiblingDeviation, GpuAnomaly)


def _found(snapshot: Snapshot) -> Unusual:
    return unusual_of(snapshot.conclusions) or Unusual()


def _on_gpus(
    snapshot: Snapshot, rows: Callable[[Unusual], Iterable[T]]
) -> Iterator[tuple[tuple[str, ...], T]]:
    """Yield each row with the labels of its GPU."""
    gpus = {state.gpu.uuid: state.gpu for state in states(snapshot) if not state.stale}
    for row in rows(_found(snapshot)):
        gpu = gpus.get(row.gpu_uuid)
        if gpu is not None:
            yield gpu_label_values(gpu), row


def _models(snapshot: Snapshot) -> Iterator[tuple[tuple[str, ...], AnomalyModel]]:
    for model in _found(snapshot).models:
        yield (model.gpu_name,), model


def _slow_calls(snapshot: Snapshot) -> Iterable[Sample]:
    for slow in _found(snapshot).slow_calls:
        who = slow.workload
        labels = (slow.layer, slow.call, who.namespace, who.pod, who.container)
        yield labels, round(slow.ratio, 4)


SIBLINGS = Items(
    GPU_LABELS, SiblingDeviation, lambda snapshot: _on_gpus(snapshot, lambda found: found.siblings)
)
ANOMALIES = Items(
    GPU_LABELS, GpuAnomaly, lambda snapshot: _on_gpus(snapshot, lambda found: found.anomalies)
)

FAMILIES = (
    *families(
        "hw_gpu_",
        SIBLINGS,
        Row(
            "sibling_deviation",
            "Robust z-score among GPUs of the same model that run the same workload"
            " (temperature, power_limit, other_workloads: any workload or none), smoothed over two"
            " minutes, -10 to 10; only with detectors.siblings.",
            "by_signal",
            never_bad="a rule compares it with the limits of the component",
            labels=("signal",),
        ),
    ),
    *families(
        "hw_gpu_",
        ANOMALIES,
        Row(
            "anomaly_score",
            "How far the log-likelihood of the readings is below the 1 % quantile of earlier"
            " readings of this GPU model, smoothed over two minutes, 0 to 50; only with"
            " detectors.anomaly.",
            "score",
            never_bad="a rule compares it with the limits of the component",
            digits=2,
        ),
    ),
    *families(
        "hw_gpu_",
        Items(("gpu_name",), AnomalyModel, _models),
        Row(
            "anomaly_model_ready",
            "Whether there are enough earlier readings of this GPU model to compute scores; only"
            " with detectors.anomaly.",
            "is_ready",
            never_bad="a number of things or of uses",
        ),
    ),
    family(
        "hw_call_slow_ratio",
        "Share of calls since the last collection that took longer than 99 % of earlier calls"
        " of the same kind and workload; only with detectors.anomaly and ebpf.enabled.",
        _slow_calls,
        *("layer", "call", "namespace", "pod", "container"),
    ),
)
