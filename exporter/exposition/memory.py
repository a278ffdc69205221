"""Families of memory, beside those of the node itself."""

from collections.abc import Callable

from exporter.exposition.family import Family, Kind
from exporter.exposition.samples import of
from exporter.model.node import Memory, Paging


def _of_memory(name: str, help_text: str, value: Callable[[Memory], float | None]) -> Family:
    return Family(f"hw_{name}_bytes", help_text, Kind.GAUGE, (), of(Memory, value))


def _of_paging(name: str, help_text: str, value: Callable[[Paging], float | None]) -> Family:
    return Family(f"hw_{name}_total", help_text, Kind.COUNTER, (), of(Paging, value))


FAMILIES = (
    _of_memory("memory_free", "Main memory that nobody uses.", lambda memory: memory.free_bytes),
    _of_memory(
        "memory_buffers", "Main memory with blocks of disks.", lambda memory: memory.buffers_bytes
    ),
    _of_memory(
        "memory_cached", "Main memory with contents of files.", lambda memory: memory.cached_bytes
    ),
    _of_memory(
        "memory_dirty",
        "Main memory that waits to be written to a disk.",
        lambda memory: memory.dirty_bytes,
    ),
    _of_memory(
        "memory_writeback",
        "Main memory that is being written to a disk.",
        lambda memory: memory.writeback_bytes,
    ),
    _of_memory(
        "memory_slab_unreclaimable",
        "Main memory of the kernel's own that it cannot give back.",
        lambda memory: memory.slab_unreclaimable_bytes,
    ),
    _of_memory(
        "memory_hugepages_total",
        "Main memory set aside for huge pages of the default size.",
        lambda memory: memory.hugepages_total_bytes,
    ),
    _of_memory(
        "memory_hugepages_free",
        "Huge pages of the default size that nobody uses.",
        lambda memory: memory.hugepages_free_bytes,
    ),
    _of_memory("swap_total", "Swap space.", lambda memory: memory.swap_total_bytes),
    _of_memory("swap_used", "Swap space in use.", lambda memory: memory.swap_used_bytes),
    _of_paging(
        "swap_in_bytes", "Read from swap space since boot.", lambda paging: paging.swap_in_bytes
    ),
    _of_paging(
        "swap_out_bytes", "Written to swap space since boot.", lambda paging: paging.swap_out_bytes
    ),
    _of_paging(
        "memory_major_faults",
        "Pages that had to be read from a disk since boot.",
        lambda paging: paging.major_faults,
    ),
    _of_paging(
        "memory_oom_kills",
        "Processes killed for lack of memory since boot.",
        lambda paging: paging.oom_kills,
    ),
)
