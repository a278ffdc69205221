"""Metric families of the processor time and memory of the exporter's processes."""

from exporter.collectors.exporter.values import OurProcesses
from exporter.exposition.rows import Row, families, reading

FAMILIES = families(
    "hw_exporter_",
    reading(OurProcesses),
    Row("processes", "Processes of the exporter: the program and its children.", "count"),
    Row(
        "abandoned_children",
        "Killed child processes that do not exit: in uninterruptible sleep (D state).",
    ),
    Row(
        "process_resident_memory_bytes",
        "Resident memory of all processes of the exporter.",
        "resident_memory_bytes",
    ),
    Row(
        "process_cpu_seconds_total",
        "CPU time of all processes of the exporter.",
        "cpu_seconds",
        digits=2,
    ),
    Row(
        "process_open_fds",
        "Open file descriptors of all processes of the exporter.",
        "open_descriptors",
    ),
    Row("process_threads", "Threads of all processes of the exporter.", "threads"),
    Row(
        "process_start_time_seconds",
        "When the exporter was started (Unix time).",
        "started_at",
    ),
)
