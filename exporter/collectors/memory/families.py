"""Families of memory."""

from collections import Counter
from collections.abc import Iterable, Mapping

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
        shown = [dimm for dimm in controller.dimms if is_small or any(_counts(dimm).values())]
        for dimm in shown:
            for error_type, count in _counts(dimm).items():
                yield from one(count, controller.controller, dimm.dimm, error_type)
        for error_type, total in _counts(controller).items():
            if total is not None:
                counted = sum(_counts(dimm)[error_type] or 0 for dimm in shown)
                name = controller.controller if is_small else ""
                rest[name, "", error_type] += max(0, total - counted)
    yield from rest.items()


def _counts(counting: Dimm | MemoryController) -> Mapping[str, int | None]:
    return {
        "corrected": counting.corrected_errors,
        "uncorrected": counting.uncorrected_errors,
    }


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
