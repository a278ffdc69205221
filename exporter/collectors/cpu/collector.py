"""The collector of CPUs."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.cpu.health import CpuHealthReader
from exporter.collectors.cpu.usage import CpuReader
from exporter.collectors.cpu.values import Cpu, CpuHealth
from exporter.exposition.rows import Row, families, reading
from exporter.faults.entities.kind import Kind, known_by_events
from exporter.faults.entities.node import NodeFields
from exporter.faults.events.query import MAX_WINDOW_SECS, Events
from exporter.faults.subject import CollectorSubject, KnownEntities
from exporter.model.verdict import Edge, Key

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
        Row(
            "machine_checks_total",
            "Machine check exceptions (MCE) of all CPUs since boot; corrected errors raise none.",
        ),
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

MACHINE_CHECKS = Events("mce", (), MAX_WINDOW_SECS)
MAX_NEIGHBOURS = 32


def _neighbours(known: KnownEntities) -> Iterator[Edge]:
    """Join CPUs with machine checks, unless the log names different sockets of theirs."""
    sockets: dict[Key, set[str]] = {}
    for cpu in known.by_kind.get("cpu", ()):
        if events := known.events.matching(cpu.addresses, MACHINE_CHECKS, known.now):
            named = (event.fields.get("socket") for event in events)
            sockets[cpu.key] = set(filter(None, named))
    for one, other in combinations(sorted(sockets)[:MAX_NEIGHBOURS], 2):
        if not sockets[one] or not sockets[other] or sockets[one] & sockets[other]:
            yield Edge("peer", one, other)


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
        links=(_neighbours,),
    ),
    rules=Path(__file__).parent / "rules",
)
