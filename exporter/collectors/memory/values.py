"""What is read about memory: use, paging, NUMA nodes, errors of DIMMs."""

from exporter.exposition.rows import metric
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory in bytes; used = total - available."""

    total_bytes: int
    available_bytes: int
    free_bytes: int | None = metric(
        "Memory that nothing uses (MemFree), without caches.", "MemFree"
    )
    buffers_bytes: int | None = metric("Memory used to buffer block devices (Buffers).", "Buffers")
    cached_bytes: int | None = metric(
        "Memory used to cache the contents of files (Cached).", "Cached"
    )
    dirty_bytes: int | None = metric("Dirty memory, waiting to be written to disk.", "Dirty")
    writeback_bytes: int | None = metric("Memory being written back to disk.", "Writeback")
    slab_unreclaimable_bytes: int | None = metric(
        "Kernel slab memory that cannot be reclaimed (SUnreclaim).", "SUnreclaim"
    )
    hugepages_total_bytes: int | None = metric(
        "Memory reserved for huge pages of the default size.", "HugePages_Total"
    )
    hugepages_free_bytes: int | None = metric(
        "Free huge pages of the default size.", "HugePages_Free"
    )
    swap_total_bytes: int | None = None
    swap_free_bytes: int | None = None
    hugetlb_bytes: int | None = None  # huge pages of all sizes; since Linux 4.16
    arc_bytes: int | None = None  # the cache of ZFS

    @property
    def ordinary_bytes(self) -> int:
        """Bytes that are not set aside as huge pages, nor in the cache of ZFS.

        ZFS gives its cache back as memory is needed, but Linux does not count it as available.
        """
        set_aside = max(self.hugetlb_bytes or 0, self.hugepages_total_bytes or 0)
        return max(1, self.total_bytes - set_aside - (self.arc_bytes or 0))

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

    swap_in_bytes: int | None = metric(
        "Memory read back from swap space since boot.", "pswpin", name="swap_in_bytes_total"
    )
    swap_out_bytes: int | None = metric(
        "Memory written to swap space since boot.", "pswpout", name="swap_out_bytes_total"
    )
    major_faults: int | None = metric(
        "Page faults that had to read from disk (major) since boot.",
        "pgmajfault",
        name="memory_major_faults_total",
    )
    oom_kills: int | None = metric(
        "Processes killed by the OOM killer since boot.",
        "oom_kill",
        name="memory_oom_kills_total",
    )


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


@dataclass(frozen=True, slots=True)
class Dimm:
    """One memory module; counts since boot or since the driver was loaded."""

    controller: str
    dimm: str  # its label on the board, else its number
    corrected_errors: int | None = None
    uncorrected_errors: int | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryController:
    """One controller with its modules; its own counts include errors of no known module."""

    controller: str
    corrected_errors: int | None = None
    uncorrected_errors: int | None = None
    dimms: tuple[Dimm, ...] = ()
    unlocated: Dimm | None = None  # errors of which the hardware did not say the module


@dataclass(frozen=True, slots=True)
class MemoryErrors:
    """The controllers, ordered by name."""

    controllers: tuple[MemoryController, ...]
