"""The collector of the node: names, operating system, board."""

from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.node.dmi import DmiReader
from exporter.collectors.node.families import FAMILIES
from exporter.collectors.node.host import HostReader
from exporter.collectors.node.values import Host
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject

FIELDS = NodeFields(readings=(("", Host),))


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
    subject=CollectorSubject(
        node=FIELDS,
    ),
    rules=Path(__file__).parent / "rules",
)
