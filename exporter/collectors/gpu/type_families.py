"""GPU families by product: figures of the node over the GPUs whose values are fresh."""

from collections.abc import Iterable

from exporter.collectors.gpu.labels import states
from exporter.collectors.gpu.values import GpuState
from exporter.exposition.rows import Items, families, metric, rows_of
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class GpuType:
    """Figures of the GPUs of one product; None where none that answers reports a value."""

    lost_gpus: int = metric("GPUs of this product that are lost or cannot be read.")
    measured_gpus: int = metric(
        "GPUs of this product that answer and report a utilization: what it is the mean of."
    )
    utilization_percent: float | None = metric(
        "GPU utilization: mean of the GPUs of this product, lost and stale ones excluded.",
        digits=3,
    )
    power_draw_watts: float | None = metric(
        "Power usage of all GPUs of this product, lost and stale ones excluded.", digits=3
    )
    temperature_celsius: float | None = metric(
        "GPU core temperature of the hottest GPU of this product, lost and stale ones excluded."
    )
    memory_used_bytes: int | None = metric(
        "Used framebuffer (FB) memory of GPUs of this product, lost and stale ones excluded."
    )
    memory_total_bytes: int | None = metric(
        "Total framebuffer (FB) memory of GPUs of this product, lost and stale ones excluded."
    )


def _types(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], GpuType]]:
    known: dict[str, list[GpuState]] = {}
    for state in states(snapshot):
        known.setdefault(state.gpu.name, []).append(state)
    for name, members in sorted(known.items()):
        yield (name,), _type_of(members)


def _type_of(members: list[GpuState]) -> GpuType:
    gpus = [state.gpu for state in members if state.up and state.is_fresh]
    utilizations = _known(gpu.utilization_percent for gpu in gpus)
    memories = [
        (gpu.memory_used_bytes, gpu.memory_total_bytes)
        for gpu in gpus
        if gpu.memory_used_bytes is not None and gpu.memory_total_bytes is not None
    ]
    watts = _known(gpu.power_draw_watts for gpu in gpus)
    return GpuType(
        lost_gpus=sum(not state.up for state in members),
        measured_gpus=len(utilizations),
        utilization_percent=sum(utilizations) / len(utilizations) if utilizations else None,
        power_draw_watts=sum(watts) if watts else None,
        temperature_celsius=max(_known(gpu.temperature_celsius for gpu in gpus), default=None),
        memory_used_bytes=sum(used for used, _ in memories) if memories else None,
        memory_total_bytes=sum(total for _, total in memories) if memories else None,
    )


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


TYPE_FAMILIES = families("hw_gpu_type_", Items(("gpu_type",), GpuType, _types), *rows_of(GpuType))
