"""Families of processors and load, beside those of the node itself."""

from collections.abc import Callable

from exporter.exposition.family import Family, Kind
from exporter.exposition.samples import labeled, of
from exporter.model.node import Cpu, CpuHealth


def _of(
    name: str, help_text: str, value: Callable[[Cpu], float | None], kind: Kind = Kind.GAUGE
) -> Family:
    return Family(name, help_text, kind, (), of(Cpu, value))


FAMILIES = (
    Family(
        "hw_cpu_seconds_total",
        "Time all processors together spent in each mode.",
        Kind.COUNTER,
        ("mode",),
        labeled(Cpu, lambda cpu: cpu.seconds),
    ),
    Family(
        "hw_cpu_frequency_hertz",
        "Frequency of the processors now: min, avg and max over all of them.",
        Kind.GAUGE,
        ("stat",),
        labeled(CpuHealth, lambda health: health.frequencies),
    ),
    Family(
        "hw_cpu_frequency_max_hertz",
        "Highest frequency any processor can have.",
        Kind.GAUGE,
        (),
        of(CpuHealth, lambda health: health.frequency_max_hertz),
    ),
    Family(
        "hw_cpu_thermal_throttles_total",
        "How often heat slowed a core, or a whole package, since boot.",
        Kind.COUNTER,
        ("scope",),
        labeled(CpuHealth, lambda health: health.thermal_throttles),
    ),
    Family(
        "hw_cpu_machine_checks_total",
        "Machine check exceptions of all processors since boot.",
        Kind.COUNTER,
        (),
        of(CpuHealth, lambda health: health.machine_checks),
    ),
    _of("hw_node_load1", "Load average over one minute.", lambda cpu: cpu.load1),
    _of("hw_node_load5", "Load average over five minutes.", lambda cpu: cpu.load5),
    _of("hw_node_load15", "Load average over fifteen minutes.", lambda cpu: cpu.load15),
    _of(
        "hw_node_context_switches_total",
        "Context switches since boot.",
        lambda cpu: cpu.context_switches,
        Kind.COUNTER,
    ),
    _of("hw_node_boot_time_seconds", "When the node was booted.", lambda cpu: cpu.boot_time),
)
