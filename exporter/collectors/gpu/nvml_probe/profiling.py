"""Activity of the parts of a GPU, measured by NVML's GPM between two samples (Hopper and newer).

https://docs.nvidia.com/deploy/nvml-api/group__nvmlGpm.html
"""

import ctypes
from contextlib import suppress

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice, available_values, converted, finite
from exporter.collectors.gpu.nvml_probe.library import READ_ERRORS
from exporter.collectors.gpu.nvml_probe.nvml import (
    NVML_ERROR_NOT_SUPPORTED,
    NVML_SUCCESS,
    NVMLError,
)
from exporter.collectors.gpu.nvml_probe.structs import c_nvmlGpmMetricsGet_t

PERCENT = 100
MIB = 1024 * 1024
UNITS = {
    "graphics": 1,
    "sm": 2,
    "sm_occupancy": 3,
    "integer": 4,
    "tensor": 5,
    "dram": 10,
    "fp64": 11,
    "fp32": 12,
    "fp16": 13,
}
TRAFFIC = {
    "pcie_profile_bytes_per_second": {"transmit": 20, "receive": 21},
    "nvlink_profile_bytes_per_second": {"receive": 60, "transmit": 61},
}


class Profiler:
    """Two samples of one GPU, or of one GPU instance, taken in turn."""

    def __init__(self, gpu_instance: int | None = None) -> None:
        self._gpu_instance = gpu_instance
        self._samples: list[Any] = []
        self._has_taken_one = False

    def read(self, card: NvmlDevice) -> dict[str, Any]:
        """Read activity and traffic since the pass before; nothing after the first sample."""
        if self._gpu_instance is None and not card.once("profiling", _is_supported):
            raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
        while len(self._samples) < 2:  # noqa: PLR2004 - one before, one now
            self._samples.append(card.library.ask("nvmlGpmSampleAlloc", place=card.place))
        self._take(card, self._samples[0])
        self._samples.reverse()
        if not self._has_taken_one:
            self._has_taken_one = True
            return {}
        return _reported_between(card, *self._samples)

    def forget(self, card: NvmlDevice) -> None:
        """Free the samples."""
        while self._samples:
            with suppress(*READ_ERRORS):
                card.library.ask("nvmlGpmSampleFree", self._samples.pop(), place=card.place)

    def _take(self, card: NvmlDevice, sample: Any) -> None:
        if self._gpu_instance is None:
            card.ask("nvmlGpmSampleGet", sample)
        else:
            card.ask("nvmlGpmMigSampleGet", self._gpu_instance, sample)


def _is_supported(card: NvmlDevice) -> bool:
    return bool(card.ask("nvmlGpmQueryDeviceSupport").isSupportedDevice)


def _reported_between(card: NvmlDevice, before: Any, now: Any) -> dict[str, Any]:
    numbers = [*UNITS.values(), *(n for kinds in TRAFFIC.values() for n in kinds.values())]
    wanted = c_nvmlGpmMetricsGet_t()
    wanted.numMetrics = len(numbers)
    wanted.sample1, wanted.sample2 = before, now
    for place, number in enumerate(numbers):
        wanted.metrics[place].metricId = number
    card.library.ask("nvmlGpmMetricsGet", ctypes.byref(wanted), place=card.place)
    found = {number: _value(wanted.metrics[place]) for place, number in enumerate(numbers)}
    return {
        "activity_ratio": _rows(UNITS, found, 1, PERCENT),
        **{field: _rows(kinds, found, MIB, 1) for field, kinds in TRAFFIC.items()},
    }


def _rows(kinds: dict[str, int], found: dict[int, Any], times: int, per: int) -> Any:
    return available_values(
        {word: converted(found[number], times, per) for word, number in kinds.items()}
    )


def _value(metric: Any) -> Any:
    if metric.nvmlReturn != NVML_SUCCESS:
        return NVMLError(metric.nvmlReturn)
    return finite(metric.value)
