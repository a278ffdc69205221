"""Families of processors and load."""

from exporter.collectors.cpu.values import Cpu, CpuHealth
from exporter.exposition.rows import Row, families, reading

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
