"""The node itself: its names, its processors and its memory."""

from dataclasses import dataclass

from exporter.model.reading import Labeled


@dataclass(frozen=True, slots=True)
class Host:
    """Who this node is; `None` is what could not be found out."""

    hostname: str
    os_name: str | None
    os_version: str | None
    kernel_version: str | None
    cpu_model: str | None
    uptime_secs: float


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the board says of itself; `None` is what it does not say."""

    vendor: str | None = None
    product: str | None = None
    board: str | None = None
    bios_version: str | None = None
    bios_date: str | None = None  # as the maker writes it


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
class Memory:
    """Main memory in bytes; used = total - available."""

    total_bytes: int
    available_bytes: int
    free_bytes: int | None = None
    buffers_bytes: int | None = None
    cached_bytes: int | None = None
    dirty_bytes: int | None = None
    writeback_bytes: int | None = None
    slab_unreclaimable_bytes: int | None = None
    hugepages_total_bytes: int | None = None  # of the default size
    hugepages_free_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None

    @property
    def ordinary_bytes(self) -> int:
        """Bytes that are not set aside as huge pages."""
        return max(1, self.total_bytes - (self.hugepages_total_bytes or 0))

    @property
    def swap_used_bytes(self) -> int | None:
        """Bytes in swap space."""
        if self.swap_total_bytes is None or self.swap_free_bytes is None:
            return None
        return max(0, self.swap_total_bytes - self.swap_free_bytes)

    @property
    def used_bytes(self) -> int:
        """Bytes that cannot be had without swapping."""
        return self.total_bytes - self.available_bytes

    @property
    def usage_percent(self) -> float | None:
        """Used share of the total, 0 to 100."""
        if not self.total_bytes:
            return None
        return 100.0 * self.used_bytes / self.total_bytes


@dataclass(frozen=True, slots=True)
class Paging:
    """What the kernel did for lack of memory; counters since boot."""

    swap_in_bytes: int | None = None
    swap_out_bytes: int | None = None
    major_faults: int | None = None  # a page had to be read from a disk
    oom_kills: int | None = None


@dataclass(frozen=True, slots=True)
class CpuHealth:
    """How fast the processors run, and what held them back; counters since boot."""

    frequencies: Labeled = ()  # hertz: min, avg and max over all processors now
    frequency_max_hertz: float | None = None
    thermal_throttles: Labeled = ()  # by scope: core, package
    machine_checks: int | None = None


@dataclass(frozen=True, slots=True)
class NumaNode:
    """The memory of one NUMA node."""

    numa_node: str
    total_bytes: int | None = None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class NumaNodes:
    """The NUMA nodes, ordered by number."""

    nodes: tuple[NumaNode, ...]
