"""Families of the node itself: names, processors, memory."""

from collections.abc import Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.exposition.samples import of
from exporter.model.node import Cpu, Host, Memory
from exporter.model.snapshot import Snapshot


def _node_info(snapshot: Snapshot) -> Iterable[Sample]:
    host = snapshot.reading(Host)
    if host is None:
        return ()
    words = (host.os_name, host.os_version, host.kernel_version, host.cpu_model)
    return one(1, *(word or "unknown" for word in words))


FAMILIES = (
    Family(
        "hw_node_info",
        "The node's operating system, kernel and processor; always 1.",
        Kind.GAUGE,
        ("os", "os_version", "kernel", "cpu_model"),
        _node_info,
    ),
    Family(
        "hw_node_uptime_seconds",
        "Seconds since the node was booted.",
        Kind.COUNTER,
        (),
        of(Host, lambda host: host.uptime_secs),
    ),
    Family(
        "hw_cpu_cores",
        "Physical cores online.",
        Kind.GAUGE,
        (),
        of(Cpu, lambda cpu: cpu.cores),
    ),
    Family(
        "hw_cpu_threads",
        "Logical processors online.",
        Kind.GAUGE,
        (),
        of(Cpu, lambda cpu: cpu.threads),
    ),
    Family(
        "hw_cpu_usage_percent",
        "Busy share of all processors over the last collection interval, 0 to 100.",
        Kind.GAUGE,
        (),
        of(Cpu, lambda cpu: cpu.usage_percent),
    ),
    Family(
        "hw_cpu_used_cores",
        "Busy logical processors over the last collection interval.",
        Kind.GAUGE,
        (),
        of(Cpu, lambda cpu: cpu.used_cores),
    ),
    Family(
        "hw_memory_total_bytes",
        "Main memory.",
        Kind.GAUGE,
        (),
        of(Memory, lambda memory: memory.total_bytes),
    ),
    Family(
        "hw_memory_used_bytes",
        "Main memory that is not available: total minus available.",
        Kind.GAUGE,
        (),
        of(Memory, lambda memory: memory.used_bytes),
    ),
    Family(
        "hw_memory_available_bytes",
        "Main memory that can be had without swapping.",
        Kind.GAUGE,
        (),
        of(Memory, lambda memory: memory.available_bytes),
    ),
    Family(
        "hw_memory_usage_percent",
        "Used share of main memory, 0 to 100.",
        Kind.GAUGE,
        (),
        of(Memory, lambda memory: memory.usage_percent),
    ),
)
