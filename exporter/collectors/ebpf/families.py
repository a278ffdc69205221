"""Families of eBPF counters: calls, functions, TCP retransmits, disk latency."""

from exporter.collectors.ebpf.values import (
    DiskLatency,
    Retransmits,
    TracedCalls,
    TracedEvents,
    TracedFunction,
    TracedFunctions,
)
from exporter.collectors.workloads.values import TracedCall
from exporter.exposition.family import MetricType
from exporter.exposition.rows import Row, each, families, reading

COUNT = "a number of things or of uses"
WORKLOAD = ("workload.namespace", "workload.pod", "workload.container")

FAMILIES = (
    *families(
        "hw_call_",
        reading(TracedCalls),
        Row(
            "libraries",
            "Libraries whose calls are currently counted.",
            never_bad=COUNT,
        ),
        Row(
            "refused_libraries",
            "Files in use with the name of a library whose calls are not counted: no library, none "
            "of its functions, or too many symbols.",
            never_bad=COUNT,
        ),
    ),
    *families(
        "hw_call_",
        each(TracedCalls, lambda it: it.calls, TracedCall, "layer", "call", *WORKLOAD),
        Row(
            "duration_seconds",
            "Duration of calls into a library, measured in the calling thread.",
            "durations",
            type=MetricType.HISTOGRAM,
        ),
        Row("errors_total", "Calls into a library that returned an error."),
    ),
    *families(
        "hw_nccl_",
        each(TracedCalls, lambda it: it.calls, TracedCall, "call", *WORKLOAD),
        Row(
            "bytes_total",
            "Bytes passed to NCCL calls: count times size of the datatype.",
            "sent_bytes",
        ),
    ),
    *families(
        "hw_function_",
        reading(TracedFunctions),
        Row(
            "files",
            "Interpreters and libraries whose functions are currently counted.",
            never_bad=COUNT,
        ),
    ),
    *families(
        "hw_function_",
        each(
            *(TracedFunctions, lambda it: it.functions, TracedFunction),
            *("layer", "function", *WORKLOAD),
        ),
        Row("calls_total", "Calls of the configured PyTorch operators and Python functions."),
    ),
    *families(
        "hw_tcp_",
        each(TracedEvents, lambda it: it.retransmits, Retransmits, *WORKLOAD, "process"),
        Row(
            "retransmits_total",
            "TCP segments retransmitted, by workload and by the process that opened the socket.",
            "segments",
        ),
    ),
    *families(
        "hw_disk_",
        each(TracedEvents, lambda it: it.latencies, DiskLatency, "device", "operation"),
        Row(
            "latency_seconds",
            "Latency of disk requests, from issue to completion.",
            "latency",
            type=MetricType.HISTOGRAM,
        ),
    ),
)
