"""What a GPU cannot be: values outside of these bounds are lies of the driver and left out."""

import dataclasses
from typing import Any

from exporter.model.gpu import Gpu, GpuProcess, MigInstance

_PERCENT = (0, 100)
_BYTES = (0, 2**50)
_WATTS = (0, 100_000)
_CELSIUS = (-50, 250)
_COUNT = (0, 2**48)
_WORDS_OF_32_BITS = (0, 2**32 - 2)

BOUNDS: dict[str, tuple[float, float]] = {
    "memory_total_bytes": (1, 2**50),
    "memory_used_bytes": _BYTES,
    "memory_free_bytes": _BYTES,
    "memory_reserved_bytes": _BYTES,
    "bar1_memory_total_bytes": _BYTES,
    "bar1_memory_used_bytes": _BYTES,
    "utilization_percent": _PERCENT,
    "memory_controller_utilization_percent": _PERCENT,
    "encoder_utilization_percent": _PERCENT,
    "decoder_utilization_percent": _PERCENT,
    "jpeg_utilization_percent": _PERCENT,
    "ofa_utilization_percent": _PERCENT,
    "temperature_celsius": _CELSIUS,
    "memory_temperature_celsius": (1, 250),  # boards without the sensor say 0
    "thermal_margin_celsius": (-250, 250),
    "temperature_threshold_celsius": _CELSIUS,
    "fan_speed_percent": (0, 200),  # some boards run their fans above what is called full
    "power_draw_watts": _WATTS,
    "power_average_watts": _WATTS,
    "power_limit_watts": (1, 100_000),
    "power_limit_range_watts": _WATTS,
    "energy_joules_total": (0, 2**53),
    "clock_hertz": (0, 20e9),
    "clock_max_hertz": (1, 20e9),
    "performance_state": (0, 15),
    "clock_limit_seconds_total": (0, 2**34),
    "activity_ratio": (0, 1.02),
    "pcie_profile_bytes_per_second": (0, 2**43),
    "nvlink_profile_bytes_per_second": (0, 2**43),
    "ecc_errors_total": _COUNT,
    "ecc_location_errors_total": _COUNT,
    "remapped_rows_total": _WORDS_OF_32_BITS,
    "row_remap_banks": _WORDS_OF_32_BITS,
    "retired_pages_total": _WORDS_OF_32_BITS,
    "pcie_link_generation": (1, 15),
    "pcie_link_generation_max": (1, 15),
    "pcie_link_width": (1, 64),
    "pcie_link_width_max": (1, 64),
    "pcie_replays_total": _WORDS_OF_32_BITS,
    "pcie_receive_bytes_per_second": (0, 2**39),
    "pcie_transmit_bytes_per_second": (0, 2**39),
    "nvlink_errors_total": _COUNT,
    "nvlink_link_errors_total": _COUNT,
    "nvlink_receive_bytes_total": (0, 2**62),
    "nvlink_transmit_bytes_total": (0, 2**62),
    "numa_node": (0, 2**16),
    "minor_number": (0, 2**16),
    "used_memory_bytes": _BYTES,
    "sm_utilization_percent": _PERCENT,
}
"""Lowest and highest believable value by field; all-ones of any width are beyond them."""

ALL_ONES = {2**32 - 1, 2**64 - 1}
"""What a driver says for "not available" in numbers that may be as large as that."""

SENTINELS = {"temperature_celsius": -1}
"""All-ones that became a believable number on the way: -1 where a call is signed."""

PARTS = (
    ("memory_used_bytes", "memory_total_bytes"),
    ("bar1_memory_used_bytes", "bar1_memory_total_bytes"),
)
"""What cannot be more than the whole it is part of."""


def believable(gpu: Gpu) -> tuple[Gpu, tuple[str, ...]]:
    """The GPU without impossible values, and the names of the fields that had one."""
    rejected: list[str] = []
    gpu = _within_bounds(gpu, rejected)
    instances = gpu.mig_instances
    if instances is not None:
        gpu = dataclasses.replace(
            gpu, mig_instances=tuple(_within_bounds(one, rejected, "mig_") for one in instances)
        )
    processes = gpu.processes
    if processes is not None:
        gpu = dataclasses.replace(
            gpu, processes=tuple(_within_bounds(one, rejected, "process_") for one in processes)
        )
    return gpu, tuple(dict.fromkeys(rejected))


def _within_bounds(value: Any, rejected: list[str], prefix: str = "") -> Any:  # noqa: ANN401 - Gpu or a part of it
    without: dict[str, Any] = {}
    for field in _FIELDS[type(value)]:
        said = getattr(value, field)
        if said is None:
            continue
        lowest, highest = BOUNDS[field]
        if isinstance(said, tuple):
            kept = tuple(
                row for row in said if lowest <= row[-1] <= highest and row[-1] not in ALL_ONES
            )
            if len(kept) < len(said):
                without[field] = kept or None
        elif not lowest <= said <= highest or said in ALL_ONES or said == SENTINELS.get(field):
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
    kind: tuple((part, whole) for part, whole in PARTS if {part, whole} <= names)
    for kind, names in _NAMES.items()
}
