"""Families of memory, beside those of the node itself."""

from collections import Counter
from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.exposition.samples import Samples, of, of_each
from exporter.model.memory_errors import Dimm, MemoryController, MemoryErrors
from exporter.model.node import Memory, NumaNode, NumaNodes, Paging
from exporter.model.snapshot import Snapshot

MAX_DIMMS_SHOWN = 4
"""A node with more modules than this shows those that had errors, and the rest as a sum."""


def _of_memory(name: str, help_text: str, value: Callable[[Memory], float | None]) -> Family:
    return Family(f"hw_{name}_bytes", help_text, Kind.GAUGE, (), of(Memory, value))


def _of_paging(name: str, help_text: str, value: Callable[[Paging], float | None]) -> Family:
    return Family(f"hw_{name}_total", help_text, Kind.COUNTER, (), of(Paging, value))


def _of_numa(value: Callable[[NumaNode], float | None]) -> Samples:
    return of_each(NumaNodes, lambda found: found.nodes, lambda node: (node.numa_node,), value)


def _errors(snapshot: Snapshot) -> Iterable[Sample]:
    """Errors of the modules that are shown, and what the controllers know beside them.

    That rest stands under the empty module, for each controller on a small node, and under the
    empty controller too on a large one.
    """
    found = snapshot.reading(MemoryErrors)
    controllers = found.controllers if found else ()
    is_small = sum(len(controller.dimms) for controller in controllers) <= MAX_DIMMS_SHOWN
    rest: Counter[tuple[str, str, str]] = Counter()
    for controller in controllers:
        shown = [dimm for dimm in controller.dimms if is_small or _has_errors(dimm)]
        for dimm in shown:
            labels = (controller.controller, dimm.dimm)
            yield from one(dimm.corrected_errors, *labels, "corrected")
            yield from one(dimm.uncorrected_errors, *labels, "uncorrected")
        for error_type, count in _beside(controller, shown):
            rest[controller.controller if is_small else "", "", error_type] += count
    yield from rest.items()


def _has_errors(dimm: Dimm) -> bool:
    return bool(dimm.corrected_errors or dimm.uncorrected_errors)


def _beside(controller: MemoryController, shown: list[Dimm]) -> Iterable[tuple[str, int]]:
    """What a controller has counted beyond these modules."""
    corrected = sum(dimm.corrected_errors or 0 for dimm in shown)
    uncorrected = sum(dimm.uncorrected_errors or 0 for dimm in shown)
    if controller.corrected_errors is not None:
        yield "corrected", max(0, controller.corrected_errors - corrected)
    if controller.uncorrected_errors is not None:
        yield "uncorrected", max(0, controller.uncorrected_errors - uncorrected)


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
    Family(
        "hw_memory_numa_total_bytes",
        "Memory of the NUMA node.",
        Kind.GAUGE,
        ("numa_node",),
        _of_numa(lambda node: node.total_bytes),
    ),
    Family(
        "hw_memory_numa_free_bytes",
        "Memory of the NUMA node that nobody uses.",
        Kind.GAUGE,
        ("numa_node",),
        _of_numa(lambda node: node.free_bytes),
    ),
    Family(
        "hw_memory_errors_total",
        "Errors found by memory controllers; an empty name stands for all that are not shown.",
        Kind.COUNTER,
        ("controller", "dimm", "error_type"),
        _errors,
    ),
)
