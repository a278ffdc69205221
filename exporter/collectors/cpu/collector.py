"""The collector of CPUs."""

from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.cpu.families import FAMILIES
from exporter.collectors.cpu.health import CpuHealthReader
from exporter.collectors.cpu.usage import CpuReader
from exporter.collectors.cpu.values import Cpu, CpuHealth
from exporter.faults.entities.kind import Kind, known_by_events
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject

CPU = Kind("cpu", "cpu", {}, known_by_events, Cpu)


COLLECTOR = Collector(
    "cpu",
    sources=(
        files(
            "cpu",
            "cpu",
            lambda ctx: CpuReader(ctx.proc, ctx.sys),
            about=About(
                "`/proc/stat`, `/proc/loadavg`, topology",
                "`hw_cpu_*`, `hw_node_load*`, `hw_node_boot_time_seconds`",
            ),
        ),
        files(
            "cpu_health",
            "cpu",
            lambda ctx: CpuHealthReader(ctx.proc, ctx.sys),
            about=About(
                "cpufreq, `thermal_throttle`, `/proc/interrupts`",
                "`hw_cpu_frequency_*`, `hw_cpu_thermal_throttles_total`, "
                "`hw_cpu_machine_checks_total`",
                "bare metal",
                without="absent on virtual machines",
            ),
        ),
    ),
    values=(Cpu, CpuHealth),
    families=FAMILIES,
    subject=CollectorSubject(
        kinds=(CPU,),
        node=NodeFields(readings=(("cpu_", Cpu), ("cpu_", CpuHealth))),
    ),
    rules=Path(__file__).parent / "rules",
)
