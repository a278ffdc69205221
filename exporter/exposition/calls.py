"""Families of the calls that the kernel counted: durations, errors, bytes."""

from collections.abc import Iterable

from exporter.exposition.family import MetricType
from exporter.exposition.rows import Items, Row, families, reading
from exporter.model.snapshot import Snapshot
from exporter.model.traced_calls import TracedCall, TracedCalls

WORKLOAD = ("namespace", "pod", "container")
LABELS = ("layer", "call", *WORKLOAD)


def _calls(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], TracedCall]]:
    found = snapshot.reading(TracedCalls)
    for one in () if found is None else found.calls:
        who = one.workload
        yield (one.layer, one.call, who.namespace, who.pod, who.container), one


def _nccl(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], TracedCall]]:
    return ((labels[1:], one) for labels, one in _calls(snapshot))


FAMILIES = (
    *families(
        "hw_call_",
        reading(TracedCalls),
        Row("libraries", "Libraries whose calls are currently counted."),
    ),
    *families(
        "hw_call_",
        Items(LABELS, TracedCall, _calls),
        Row(
            "duration_seconds",
            "Duration of calls into a library, measured in the calling thread.",
            "durations",
            type=MetricType.HISTOGRAM,
        ),
        Row("errors_total", "Calls that returned an error."),
    ),
    *families(
        "hw_nccl_",
        Items(("call", *WORKLOAD), TracedCall, _nccl),
        Row(
            "bytes_total",
            "Bytes passed to NCCL calls: count times size of the datatype.",
            "sent_bytes",
        ),
    ),
)
