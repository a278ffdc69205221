"""The collector of CPUs."""

from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.cpu.health import CpuHealthReader
from exporter.collectors.cpu.usage import CpuReader
from exporter.collectors.cpu.values import Cpu, CpuHealth
from exporter.exposition.rows import Row, families, reading
from exporter.faults.entities.kind import Kind, known_by_events
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject

FAMILIES = (
    *families(
        "hw_cpu_",
        reading(Cpu),
        Row("cores", "Number of physical CPU cores that are online."),
        Row("threads", "Number of logical CPUs (hardware threads) that are online."),
        Row("usage_percent", "CPU usage over the last collection interval, 0 to 100."),
        Row("used_cores", "Logical CPUs busy over the last collection interval."),
        Row("seconds_total", "CPU time of all CPUs together by mode.", labels=("mode",)),
    ),
    *families(
        "hw_cpu_",
        reading(CpuHealth),
        Row(
            "frequency_hertz",
            "Current CPU frequency: min, avg and max over all CPUs.",
            "frequencies",
            ("stat",),
        ),
        Row("frequency_max_hertz", "Maximum frequency that the CPUs support."),
        Row(
            "thermal_throttles_total",
            "Thermal throttling events of cores and packages since boot.",
            labels=("scope",),
        ),
        Row("machine_checks_total", "Machine check exceptions (MCE) of all CPUs since boot."),
    ),
    *families(
        "hw_node_",
        reading(Cpu),
        Row("load1", "Load average: tasks that run or wait, over 1 minute."),
        Row("load5", "Load average: tasks that run or wait, over 5 minutes."),
        Row("load15", "Load average: tasks that run or wait, over 15 minutes."),
        Row("context_switches_total", "Context switches of all CPUs since boot."),
        Row("boot_time_seconds", "When the node was booted (Unix time).", "boot_time"),
    ),
)


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
