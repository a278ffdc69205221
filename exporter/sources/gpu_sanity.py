"""What a GPU cannot be: values outside of these bounds are lies of the driver and left out."""

import dataclasses
from typing import Any

from exporter.model.gpu import Gpu

_PERCENT = (0, 100)
_BYTES = (0, 2**50)

BOUNDS: dict[str, tuple[float, float]] = {
    "memory_total_bytes": (1, 2**50),
    "memory_used_bytes": _BYTES,
    "memory_free_bytes": _BYTES,
    "utilization_percent": _PERCENT,
    "temperature_celsius": (-50, 250),
    "power_draw_watts": (0, 100_000),
    "power_limit_watts": (1, 100_000),
}
"""Lowest and highest believable value by field; 100 kW and 1 PiB are beyond any card."""


def believable(gpu: Gpu) -> tuple[Gpu, tuple[str, ...]]:
    """The GPU without impossible values, and the names of the fields that had one."""
    rejected = []
    for field, (lowest, highest) in BOUNDS.items():
        value = getattr(gpu, field)
        if value is not None and not lowest <= value <= highest:
            rejected.append(field)
    if _exceeds(gpu.memory_used_bytes, gpu.memory_total_bytes):
        rejected.append("memory_used_bytes")
    if not rejected:
        return gpu, ()
    without: dict[str, Any] = dict.fromkeys(rejected)
    return dataclasses.replace(gpu, **without), tuple(without)


def _exceeds(part: int | None, whole: int | None) -> bool:
    return part is not None and whole is not None and part > whole
