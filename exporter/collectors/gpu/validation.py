"""Drops implausible GPU values: out of bounds, all bits set, or a sudden 0 °C."""

from collections.abc import Iterable, Mapping
from typing import Any

from exporter.collectors.gpu.parts import ALL_ONES, SENTINELS, Bounds, declared
from exporter.collectors.gpu.values import Gpu, GpuProcess, MigInstance
from exporter.record import replace

_BOUNDS_OF: dict[type, Mapping[str, Bounds]] = {
    kind: declared(kind, "bounds") for kind in (GpuProcess, MigInstance, Gpu)
}
BOUNDS = {name: bounds for found in _BOUNDS_OF.values() for name, bounds in found.items()}
"""Lowest and highest plausible value by field."""

PARTS = (
    ("memory_used_bytes", "memory_total_bytes"),
    ("bar1_memory_used_bytes", "bar1_memory_total_bytes"),
)
"""What cannot be more than the whole it is part of."""


WARM_CELSIUS = 20.0
"""A chip that was warmer than this did not freeze since: on its way it would have been seen."""


class LastTemperatures:
    """The last plausible temperature of each GPU: dying boards report 0 between two true ones."""

    def __init__(self) -> None:
        self._celsius: dict[str, float] = {}

    def drop_implausible(self, gpus: Iterable[Gpu]) -> tuple[tuple[Gpu, ...], tuple[str, ...]]:
        """Give the GPUs without a zero that cannot be, and the names of the fields left out."""
        kept, rejected = [], []
        for gpu in gpus:
            celsius = gpu.temperature_celsius
            if celsius == 0 and self._celsius.get(gpu.uuid, 0.0) > WARM_CELSIUS:
                rejected.append("temperature_celsius")
                kept.append(replace(gpu, temperature_celsius=None))
                continue
            if celsius is not None:
                self._celsius[gpu.uuid] = celsius
            kept.append(gpu)
        return tuple(kept), tuple(rejected)


def without_unseen_processes(gpu: Gpu) -> Gpu:
    """Give the GPU with an empty list of processes taken as unknown.

    In a pid namespace of our own the driver lists the processes of that namespace only.
    """
    return gpu if gpu.processes else replace(gpu, processes=None)


def drop_implausible(gpu: Gpu) -> tuple[Gpu, tuple[str, ...]]:
    """Give the GPU without implausible values, and the names of the fields that had one."""
    rejected: list[str] = []
    gpu = _within_bounds(gpu, rejected)
    for field, prefix in (("mig_instances", "mig_"), ("processes", "process_")):
        parts = getattr(gpu, field) or ()
        kept: Any = tuple(_within_bounds(part, rejected, prefix) for part in parts)
        if kept != parts:
            gpu = replace(gpu, **{field: kept})
    return gpu, tuple(dict.fromkeys(rejected))


def _within_bounds(value: Any, rejected: list[str], prefix: str = "") -> Any:
    without: dict[str, Any] = {}
    for field, (lowest, highest) in _BOUNDS_OF[type(value)].items():
        reported = getattr(value, field)
        if reported is None:
            continue
        if isinstance(reported, tuple):
            kept = tuple(
                row for row in reported if lowest <= row[-1] <= highest and row[-1] not in ALL_ONES
            )
            if len(kept) < len(reported):
                without[field] = kept or None
        elif (
            not lowest <= reported <= highest
            or reported in ALL_ONES
            or reported == SENTINELS.get(field)
        ):
            without[field] = None
    for part, whole in PARTS:
        used, total = getattr(value, part, None), getattr(value, whole, None)
        if used is not None and total is not None and used > total:
            without[part] = None
    rejected += [f"{prefix}{field}" for field in without]
    return replace(value, **without) if without else value
