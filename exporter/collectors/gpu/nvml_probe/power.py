"""Power, its limits, and energy."""

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import (
    NvmlDevice,
    available_values,
    call_each,
    converted,
)

MILLI = 1000
"""NVML counts milliwatts and millijoules."""


def watts(milliwatts: int) -> float:
    """Convert the driver's unit to ours."""
    return milliwatts / MILLI


def power_limits(card: NvmlDevice) -> Any:
    """Read the watts between which the limit may be set, and what was asked for."""
    lasting = card.once("power_limits", _lasting_limits)
    found = call_each(card, [("requested", "nvmlDeviceGetPowerManagementLimit", ())])
    return available_values(
        {**lasting, **{word: converted(value, per=MILLI) for word, value in found.items()}}
    )


def _lasting_limits(card: NvmlDevice) -> dict[str, Any]:
    lowest, highest = card.ask("nvmlDeviceGetPowerManagementLimitConstraints")
    found = call_each(card, [("default", "nvmlDeviceGetPowerManagementDefaultLimit", ())])
    limits = {"min": lowest, "max": highest, **found}
    return {word: converted(value, per=MILLI) for word, value in limits.items()}


def power_fields(card: NvmlDevice) -> dict[str, Any]:
    """Read the average over the last second, and the energy since the driver was loaded."""
    found = card.field_values(
        "power",
        {
            "power_average_watts": 185,
            "energy_joules_total": 83,
        },
    )
    return {field: converted(value, per=MILLI) for field, value in found.items()}
