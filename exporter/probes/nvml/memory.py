"""Memory of a GPU."""

import pynvml

from exporter.probes.nvml.library import FATAL_FOR_GPU, Card, reason_of


def memory(card: Card) -> dict[str, int]:
    """Bytes by nvmlDeviceGetMemoryInfo_v2, whose `used` leaves the reserved part out."""
    try:
        info = card.ask("nvmlDeviceGetMemoryInfo", pynvml.nvmlMemory_v2)
    except pynvml.NVMLError as error:
        if reason_of(error) in FATAL_FOR_GPU:
            raise
        info = card.ask("nvmlDeviceGetMemoryInfo")
    return {
        "memory_total_bytes": info.total,
        "memory_used_bytes": info.used,
        "memory_free_bytes": info.free,
    }
