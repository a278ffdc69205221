"""Resource usage of all processes of the exporter."""

from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class OurProcesses:
    """Totals over the program and its children."""

    count: int
    resident_memory_bytes: int
    cpu_seconds: float
    open_descriptors: int
    threads: int
    started_at: float  # wall clock, seconds since the epoch
    abandoned_children: int
