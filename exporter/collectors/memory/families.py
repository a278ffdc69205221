"""Families of memory."""

from collections import Counter
from collections.abc import Iterable

from exporter.collectors.memory.values import (
    Dimm,
    Memory,
    MemoryController,
    MemoryErrors,
    NumaNode,
    NumaNodes,
    Paging,
)
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, each, families, reading, rows_of
from exporter.model.snapshot import Snapshot

MAX_DIMMS_SHOWN = 4
"""A node with more modules than this shows those that had errors, and the rest as a sum."""


def _errors(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield the errors of the modules shown, and what the controllers counted beside them.

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
    """Yield what a controller has counted beyond these modules."""
    corrected = sum(dimm.corrected_errors or 0 for dimm in shown)
    uncorrected = sum(dimm.uncorrected_errors or 0 for dimm in shown)
    if controller.corrected_errors is not None:
        yield "corrected", max(0, controller.corrected_errors - corrected)
    if controller.uncorrected_errors is not None:
        yield "uncorrected", max(0, controller.uncorrected_errors - uncorrected)


FAMILIES = (
    *families(
        "hw_memory_",
        reading(Memory),
        Row("total_bytes", "Total memory that the kernel manages (MemTotal)."),
        Row("used_bytes", "Memory in use: total memory minus available memory."),
        Row("available_bytes", "Memory available to programs without swapping (MemAvailable)."),
        Row("usage_percent", "Memory in use as a share of total memory, 0 to 100."),
        *rows_of(Memory),
    ),
    *families(
        "hw_",
        reading(Memory),
        Row("swap_total_bytes", "Total swap space of all swap devices."),
        Row("swap_used_bytes", "Swap space in use on all swap devices."),
    ),
    *families(
        "hw_",
        reading(Paging),
        *rows_of(Paging),
    ),
    *families(
        "hw_memory_numa_",
        each(NumaNodes, lambda found: found.nodes, NumaNode, "numa_node"),
        Row("total_bytes", "Total memory of the NUMA node."),
        Row("free_bytes", "Free memory of the NUMA node."),
    ),
    family(
        "hw_memory_errors_total",
        "EDAC memory errors, corrected and uncorrected; an empty name stands for all DIMMs not "
        "shown.",
        _errors,
        *("controller", "dimm", "error_type"),
    ),
)
