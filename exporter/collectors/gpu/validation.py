"""Drops implausible GPU values: out of bounds, all bits set, or a sudden 0 °C."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from exporter.collectors.gpu.parts import ALL_ONES, SENTINELS, Bounds, declared
from exporter.collectors.gpu.values import Gpu, GpuProcess, MigInstance

BOUNDS: dict[str, Bounds] = {
    name: bounds
    for kind in (GpuProcess, MigInstance, Gpu)
    for name, bounds in declared(kind, "bounds").items()
}
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
                kept.append(dataclasses.replace(gpu, temperature_celsius=None))
                continue
            if celsius is not None:
                self._celsius[gpu.uuid] = celsius
            kept.append(gpu)
        return tuple(kept), tuple(rejected)


def without_unseen_processes(gpu: Gpu) -> Gpu:
    """Give the GPU with an empty list of processes taken as unknown.

    In a pid namespace of our own the driver lists the processes of that namespace only.
    """
    return gpu if gpu.processes else dataclasses.replace(gpu, processes=None)


def drop_implausible(gpu: Gpu) -> tuple[Gpu, tuple[str, ...]]:
    """Give the GPU without implausible values, and the names of the fields that had one."""
    rejected: list[str] = []
    gpu = _within_bounds(gpu, rejected)
    instances = [_within_bounds(one, rejected, "mig_") for one in gpu.mig_instances or ()]
    processes = [_within_bounds(one, rejected, "process_") for one in gpu.processes or ()]
    if rejected:
        gpu = dataclasses.replace(
            gpu,
            mig_instances=None if gpu.mig_instances is None else tuple(instances),
            processes=None if gpu.processes is None else tuple(processes),
        )
    return gpu, tuple(dict.fromkeys(rejected))


def _within_bounds(value: Any, rejected: list[str], prefix: str = "") -> Any:
    without: dict[str, Any] = {}
    for field in _FIELDS[type(value)]:
        reported = getattr(value, field)
        if reported is None:
            continue
        lowest, highest = BOUNDS[field]
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
    for part, whole in _PARTS_OF[type(value)]:
        if _exceeds(getattr(value, part), getattr(value, whole)):
            without[part] = None
    rejected += [f"{prefix}{field}" for field in without]
    return dataclasses.replace(value, **without) if without else value


def _exceeds(part: int | None, whole: int | None) -> bool:
    return part is not None and whole is not None and part > whole


_NAMES: dict[type, set[str]] = {
    kind: {item.name for item in dataclasses.fields(kind)}
    for kind in (Gpu, MigInstance, GpuProcess)
}
_FIELDS = {kind: tuple(sorted(BOUNDS.keys() & names)) for kind, names in _NAMES.items()}
_PARTS_OF = {
    kind: tuple((part, whole) for part, whole in PARTS if names.issuperset((part, whole)))
    for kind, names in _NAMES.items()
}
