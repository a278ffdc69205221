"""Memory of a GPU."""

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice
from exporter.collectors.gpu.nvml_probe.library import FATAL_FOR_GPU, reason_of
from exporter.collectors.gpu.nvml_probe.nvml import NVMLError


def memory(card: NvmlDevice) -> dict[str, int]:
    """Read bytes by nvmlDeviceGetMemoryInfo_v2, whose `used` leaves the reserved part out.

    Older drivers know the first version only, which counts the reserved part as used.
    """
    try:
        info = card.ask("nvmlDeviceGetMemoryInfo_v2")
    except NVMLError as error:
        if reason_of(error) in FATAL_FOR_GPU:
            raise
        return _reported(card.ask("nvmlDeviceGetMemoryInfo"))
    return {**_reported(info), "memory_reserved_bytes": info.reserved}


def _reported(info: Any) -> dict[str, int]:
    return {
        "memory_total_bytes": info.total,
        "memory_used_bytes": info.used,
        "memory_free_bytes": info.free,
    }
