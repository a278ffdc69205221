"""The collector of CPUs."""

from pathlib import Path

from exporter.collector import Collector, files
from exporter.collectors.cpu.entities import CPU
from exporter.collectors.cpu.families import FAMILIES
from exporter.collectors.cpu.health import CpuHealthReader
from exporter.collectors.cpu.usage import CpuReader
from exporter.collectors.cpu.values import Cpu, CpuHealth
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import Subject

COLLECTOR = Collector(
    "cpu",
    sources=(
        files("cpu", "cpu", lambda ctx: CpuReader(ctx.proc, ctx.sys)),
        files("cpu_health", "cpu", lambda ctx: CpuHealthReader(ctx.proc, ctx.sys)),
    ),
    values=(Cpu, CpuHealth),
    families=FAMILIES,
    subject=Subject(
        kinds=(CPU,),
        node=NodeFields(readings=(("cpu_", Cpu), ("cpu_", CpuHealth))),
    ),
    rules=Path(__file__).parent / "rules",
)
