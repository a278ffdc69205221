"""Families of the node itself: names, processors, memory."""

from collections.abc import Iterable

from exporter.collectors.cpu.values import Cpu
from exporter.collectors.memory.values import Memory
from exporter.collectors.node.values import Hardware, Host
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, families, info, reading
from exporter.model.snapshot import Snapshot


def _node_info(snapshot: Snapshot) -> Iterable[Sample]:
    host = snapshot.reading(Host)
    if host is None:
        return ()
    names = (host.os_name, host.os_version, host.kernel_version, host.cpu_model)
    return one(1, *(name or "unknown" for name in names))


FAMILIES = (
    family(
        "hw_node_info",
        "Operating system, kernel and CPU model of the node; always 1.",
        _node_info,
        *("os", "os_version", "kernel", "cpu_model"),
    ),
    info(
        "hw_node_hardware_info",
        "Maker, product, board and firmware of the node (DMI); always 1.",
        reading(Hardware),
        ("vendor", "product", "board", "bios_version", "bios_date"),
    ),
    *families(
        "hw_node_",
        reading(Host),
        Row("uptime_seconds", "Seconds since the node was booted.", "uptime_secs"),
    ),
    *families(
        "hw_cpu_",
        reading(Cpu),
        Row("cores", "Number of physical CPU cores that are online."),
        Row("threads", "Number of logical CPUs (hardware threads) that are online."),
        Row("usage_percent", "CPU usage over the last collection interval, 0 to 100."),
        Row("used_cores", "Logical CPUs busy over the last collection interval."),
    ),
    *families(
        "hw_memory_",
        reading(Memory),
        Row("total_bytes", "Total memory that the kernel manages (MemTotal)."),
        Row("used_bytes", "Memory in use: total memory minus available memory."),
        Row("available_bytes", "Memory available to programs without swapping (MemAvailable)."),
        Row("usage_percent", "Memory in use as a share of total memory, 0 to 100."),
    ),
)
