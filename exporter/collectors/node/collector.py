"""The collector of the node itself."""

from pathlib import Path

from exporter.collector import Collector, files
from exporter.collectors.node.dmi import DmiReader
from exporter.collectors.node.entities import FIELDS
from exporter.collectors.node.families import FAMILIES
from exporter.collectors.node.host import HostReader
from exporter.collectors.node.values import Host
from exporter.faults.subject import Subject

COLLECTOR = Collector(
    "node",
    sources=(
        files(
            "host",
            "node",
            lambda ctx: HostReader(ctx.proc, ctx.root, ctx.hostname, ctx.known_cpu_model),
        ),
        files("dmi", "node", lambda ctx: DmiReader(ctx.sys)),
    ),
    values=(Host,),
    families=FAMILIES,
    subject=Subject(
        node=FIELDS,
    ),
    rules=Path(__file__).parent / "rules",
)
