"""The collector of the node: names, operating system, board."""

from collections.abc import Iterable
from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.node.dmi import DmiReader
from exporter.collectors.node.host import HostReader
from exporter.collectors.node.values import Hardware, Host
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, families, info, reading
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject
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


COLLECTOR = Collector(
    "node",
    sources=(
        files(
            "host",
            "node",
            lambda ctx: HostReader(ctx.proc, ctx.root, ctx.hostname, ctx.known_cpu_model),
            about=About(
                "`os-release`, `/proc/uptime`, host name and kernel",
                "`hw_node_info`, `hw_node_uptime_seconds`",
            ),
        ),
        files(
            "dmi",
            "node",
            lambda ctx: DmiReader(ctx.sys),
            about=About(
                "`/sys/class/dmi/id`, no serial numbers",
                "`hw_node_hardware_info`",
                "a board with DMI",
                without="absent",
            ),
        ),
    ),
    values=(Host,),
    families=FAMILIES,
    subject=CollectorSubject(node=NodeFields(readings=(("", Host),))),
    rules=Path(__file__).parent / "rules",
)
