"""Who a GPU is: facts that are asked once, and again when the set of GPUs has changed."""

from typing import Any

import pynvml

from exporter.probes.nvml.library import Card


def identity(card: Card) -> dict[str, Any]:
    """Index, UUID and name; raises NVMLError when the GPU does not answer."""
    return {
        "index": card.ask("nvmlDeviceGetIndex"),
        "uuid": card.text("nvmlDeviceGetUUID"),
        "name": card.text("nvmlDeviceGetName") or "unknown",
    }


def cuda_version(number: int) -> str:
    """`12.4` of 12040."""
    return f"{number // 1000}.{number % 1000 // 10}"


def is_same(card: Card, known: dict[str, Any]) -> bool:
    """Whether the handle still means the GPU it meant; both calls are answered by the library."""
    try:
        return bool(
            card.ask("nvmlDeviceGetIndex") == known["index"]
            and card.text("nvmlDeviceGetUUID") == known["uuid"]
        )
    except pynvml.NVMLError:
        return False
