"""Families of what the kernel counted: TCP retransmits, latency of disks, chosen functions."""

from collections.abc import Iterable

from exporter.exposition.family import Family, MetricType, Sample, family, one
from exporter.model.snapshot import Snapshot
from exporter.model.traced_events import TracedEvents
from exporter.model.traced_functions import TracedFunctions


def _retransmits(snapshot: Snapshot) -> Iterable[Sample]:
    found = snapshot.reading(TracedEvents)
    for each in () if found is None else found.retransmits:
        who = each.workload
        yield (who.namespace, who.pod, who.container, each.process), each.segments


def _latencies(snapshot: Snapshot) -> Iterable[Sample]:
    found = snapshot.reading(TracedEvents)
    for each in () if found is None else found.latencies:
        yield (each.device, each.operation), each.latency


def _functions(snapshot: Snapshot) -> Iterable[Sample]:
    found = snapshot.reading(TracedFunctions)
    for each in () if found is None else found.functions:
        who = each.workload
        yield (each.layer, each.function, who.namespace, who.pod, who.container), each.calls


def _files(snapshot: Snapshot) -> Iterable[Sample]:
    found = snapshot.reading(TracedFunctions)
    return one(None if found is None else found.files)


FAMILIES = (
    family(
        "hw_function_files",
        "Interpreters and libraries whose functions are currently counted.",
        _files,
    ),
    family(
        "hw_function_calls_total",
        "Calls of the configured PyTorch operators and Python functions.",
        _functions,
        *("layer", "function", "namespace", "pod", "container"),
    ),
    family(
        "hw_tcp_retransmits_total",
        "TCP segments retransmitted, by workload and by the process that opened the socket.",
        _retransmits,
        *("namespace", "pod", "container", "process"),
    ),
    Family(
        "hw_disk_latency_seconds",
        "Latency of disk requests, from issue to completion.",
        MetricType.HISTOGRAM,
        ("device", "operation"),
        _latencies,
    ),
)
