"""What is read about CPUs."""

from exporter.model.reading import Labeled
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Cpu:
    """Processors and their use over our own sampling interval; iowait counts as idle."""

    cores: int | None  # physical
    threads: int  # logical, online
    usage_percent: float | None  # absent before the second sample
    used_cores: float | None
    seconds: Labeled = ()  # by mode, all processors together, since boot
    load1: float | None = None
    load5: float | None = None
    load15: float | None = None
    context_switches: int | None = None  # since boot
    boot_time: float | None = None  # wall clock, seconds since the epoch
    processes_running: int | None = None
    processes_blocked: int | None = None  # waiting for a disk or the like


@dataclass(frozen=True, slots=True)
class CpuHealth:
    """How fast the processors run, and what held them back; counters since boot."""

    frequencies: Labeled = ()  # hertz: min, avg and max over all processors now
    frequency_max_hertz: float | None = None
    thermal_throttles: Labeled = ()  # by scope: core, package
    machine_checks: int | None = None  # exceptions; corrected errors are found by polling (MCP)
