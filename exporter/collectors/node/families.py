"""Families of the node itself: names, hardware, uptime."""

from collections.abc import Iterable

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
)
