"""The collector of PCIe devices."""

from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.pcie.devices import PcieReader
from exporter.collectors.pcie.entities import FIELDS, PCIE, on_the_bus
from exporter.collectors.pcie.families import FAMILIES
from exporter.collectors.pcie.values import Pcie
from exporter.faults.subject import CollectorSubject

COLLECTOR = Collector(
    "pcie",
    sources=(
        files(
            "pcie",
            "pcie",
            lambda ctx: PcieReader(ctx.sys),
            about=About(
                "`/sys/bus/pci/devices`",
                "`hw_pcie_*`",
                "AER in kernel and firmware for errors",
                without="links only",
            ),
        ),
    ),
    values=(Pcie,),
    families=FAMILIES,
    subject=CollectorSubject(
        kinds=(PCIE,),
        node=FIELDS,
        joins=(on_the_bus,),
    ),
    rules=Path(__file__).parent / "rules",
)
