"""Encodes metric families as OTLP in its JSON form: same names, labels and values as /metrics.

https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from exporter.exposition.family import Family, Histogram, MetricType, unit_of
from exporter.exposition.render import distinct
from exporter.model.snapshot import Snapshot

CUMULATIVE = 2
"""AGGREGATION_TEMPORALITY_CUMULATIVE: counters count from their start, as Prometheus' do."""

UNITS = {
    "bytes_per_second": "By/s", "bytes": "By", "seconds": "s", "celsius": "Cel", "watts": "W",
    "joules": "J", "hertz": "Hz", "volts": "V", "ratio": "1", "percent": "%",
}  # fmt: skip
"""UCUM's units by those at the end of our names."""


def request_of(
    families: Iterable[Family], snapshot: Snapshot, version: str, now: float
) -> dict[str, Any]:
    """Return an ExportMetricsServiceRequest with the samples at this Unix time in seconds."""
    nanos = str(int(now * 1e9))
    metrics = [
        metric for each in families if (metric := _metric(each, snapshot, nanos)) is not None
    ]
    resource = {"service.name": "hw-exporter", "service.instance.id": snapshot.node}
    scope = {"scope": {"name": "hw-exporter", "version": version}, "metrics": metrics}
    attributes = _attributes(tuple(resource), tuple(resource.values()))
    return {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": [scope]}]}


def _metric(family: Family, snapshot: Snapshot, nanos: str) -> dict[str, Any] | None:
    """Return the metric; None without samples."""
    samples = distinct(family.samples(snapshot))[0]
    if not samples:
        return None
    labels = ("node", *family.labels)
    points = [
        {
            "attributes": _attributes(labels, (snapshot.node, *values)),
            "timeUnixNano": nanos,
            **_value(number),
        }
        for values, number in samples.items()
    ]
    described = {"name": family.name, "description": family.help}
    if unit := UNITS.get(unit_of(family.name)):
        described["unit"] = unit
    return {**described, **_data(family.type, points)}


def _data(kind: MetricType, points: list[dict[str, Any]]) -> dict[str, Any]:
    if kind is MetricType.HISTOGRAM:
        return {"histogram": {"aggregationTemporality": CUMULATIVE, "dataPoints": points}}
    if kind is MetricType.COUNTER:
        data = {"aggregationTemporality": CUMULATIVE, "isMonotonic": True, "dataPoints": points}
        return {"sum": data}
    return {"gauge": {"dataPoints": points}}


def _attributes(names: Sequence[str], values: Sequence[str]) -> list[dict[str, Any]]:
    texts = (value.encode("utf-8", "replace").decode() for value in values)
    pairs = zip(names, texts, strict=True)
    return [{"key": name, "value": {"stringValue": text}} for name, text in pairs]


def _value(number: float | Histogram) -> dict[str, Any]:
    """Return the value of a data point; buckets of OTLP do not contain those below them."""
    if not isinstance(number, Histogram):
        return {"asDouble": _double(number)}
    counts = (0, *(count for _, count in number.buckets))
    return {
        "count": str(number.count),
        "sum": _double(number.sum),
        "bucketCounts": [str(upper - lower) for lower, upper in pairwise(counts)],
        "explicitBounds": [bound for bound, _ in number.buckets if bound != math.inf],
    }


def _double(number: float) -> float | str:
    """Return the number as JSON has it; protobuf spells what is not finite."""
    if math.isfinite(number):
        return float(number)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
