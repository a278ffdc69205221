"""The collector of the exporter itself."""

from pathlib import Path

from exporter.collector import Collector, files
from exporter.collectors.exporter.entities import SOURCE
from exporter.collectors.exporter.families import FAMILIES
from exporter.collectors.exporter.usage import OurProcessesReader
from exporter.collectors.exporter.values import OurProcesses
from exporter.exposition import faults, health, truncated
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject

COLLECTOR = Collector(
    "exporter",
    sources=(
        files(
            "our_processes",
            "exporter",
            lambda ctx: OurProcessesReader((ctx.children, ctx.driver_children)),
        ),
    ),
    families=(*truncated.FAMILIES, *faults.FAMILIES, *health.FAMILIES, *FAMILIES),
    subject=CollectorSubject(
        kinds=(SOURCE,), node=NodeFields(readings=(("exporter_", OurProcesses),))
    ),
    rules=Path(__file__).parent / "rules",
)
