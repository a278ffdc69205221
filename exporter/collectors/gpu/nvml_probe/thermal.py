"""Temperatures, their limits, and fans."""

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import FieldId, NvmlDevice, available_values, call_each
from exporter.collectors.gpu.nvml_probe.library import reason_of
from exporter.collectors.gpu.nvml_probe.nvml import NVMLError

GPU_SENSOR = 0
THRESHOLDS = {"shutdown": 0, "slowdown": 1, "max_operating": 3, "memory_max": 2, "target": 7}
MARGIN_THRESHOLDS: dict[str, FieldId] = {
    "shutdown": 193,
    "slowdown": 194,
    "max_operating": 196,
    "memory_max": 195,
}
"""NVML_FI_DEV_TEMPERATURE_*_TLIMIT: margins, relative to T.Limit, at which the board acts."""

MEMORY_TEMPERATURE: FieldId = 82
MAX_FANS = 16


def temperature(card: NvmlDevice) -> int:
    """Read celsius of the GPU sensor, by the newer call where the driver knows it."""
    names = ("nvmlDeviceGetTemperatureV1", "nvmlDeviceGetTemperature")
    return int(card.ask_newest(names, GPU_SENSOR))


def memory_temperature(card: NvmlDevice) -> Any:
    """Read celsius of the memory, on boards with a sensor there."""
    return card.field_values("memory_temperature", {"memory": MEMORY_TEMPERATURE})["memory"]


def thresholds(card: NvmlDevice) -> Any:
    """Read the celsius at which the board slows down or shuts down."""
    name = "nvmlDeviceGetTemperatureThreshold"
    return available_values(
        call_each(card, [(word, name, (kind,)) for word, kind in THRESHOLDS.items()])
    )


def margin_thresholds(card: NvmlDevice) -> Any:
    """Read the T.Limit margins at which the board slows down or shuts down."""
    return available_values(card.field_values("margin_thresholds", MARGIN_THRESHOLDS))


def fan_speeds(card: NvmlDevice) -> Any:
    """Read percent of the full speed by fan; a passively cooled board has none."""
    try:
        fans = min(card.once("fans", lambda c: int(c.ask("nvmlDeviceGetNumFans"))), MAX_FANS)
    except NVMLError as error:
        if reason_of(error) != "old_driver":
            raise
        return [("0", card.ask("nvmlDeviceGetFanSpeed"))]
    name = "nvmlDeviceGetFanSpeed_v2"
    return available_values(call_each(card, [(str(fan), name, (fan,)) for fan in range(fans)]))
