"""Processes on a GPU: who they are, the memory they hold, and the share of the engines they use."""

from collections.abc import Callable, Iterator

from exporter.annotation import Any
from exporter.clock import wall_now
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice, instance_of
from exporter.collectors.gpu.nvml_probe.library import reason_of
from exporter.collectors.gpu.nvml_probe.nvml import (
    NVML_ERROR_NOT_FOUND,
    NVML_SUCCESS,
    PROCESS_VERSIONS,
    NVMLError,
)

LISTS = tuple(
    (kind, tuple(f"nvmlDeviceGet{name}RunningProcesses{version}" for version in PROCESS_VERSIONS))
    for kind, name in (("mps", "MPSCompute"), ("compute", "Compute"), ("graphics", "Graphics"))
)
"""Kind and functions of each list; a process that is in several is of the first kind."""

LARGEST_PID = 2**22
LARGEST_MEMORY_BYTES = 2**50
MICROSECONDS = 1_000_000

Process = dict[str, Any]
_Key = tuple[int, int | None, int | None]


class GarbledListError(ValueError):
    """A list with an impossible process id: its struct is not the one this binding knows."""


class GpuProcessReader:
    """Reads the processes of one GPU; remembers the driver's time stamp of the last samples."""

    def __init__(self, wall: Callable[[], float] = wall_now) -> None:
        self._wall = wall
        self._last_seen = 0

    def read(self, card: NvmlDevice) -> list[Process]:
        """Read all processes on the GPU; raises READ_ERRORS when the compute list cannot be had."""
        found: dict[_Key, Process] = {}
        for kind, functions in LISTS:
            for process in _listed(card, kind, functions):
                key = (process["pid"], process["gpu_instance"], process["compute_instance"])
                known = found.setdefault(key, process)
                if known["used_memory_bytes"] is None:
                    known["used_memory_bytes"] = process["used_memory_bytes"]
        self._add_utilization(card, list(found.values()))
        return list(found.values())

    def _add_utilization(self, card: NvmlDevice, processes: list[Process]) -> None:
        """Add shares; the driver names active processes only (…GetProcessUtilization)."""
        if not processes:
            return
        # The driver stamps with the wall clock: set back, it would name nobody until it caught up.
        since = self._last_seen if self._has_passed(self._last_seen) else 0
        try:
            samples = card.ask("nvmlDeviceGetProcessUtilization", since)
        except NVMLError as error:
            if error.value not in (NVML_SUCCESS, NVML_ERROR_NOT_FOUND):
                return  # not in a MIG instance, not without rights: utilization stays unknown
            samples = []
        newest = {sample.pid: sample for sample in sorted(samples, key=lambda s: s.timeStamp)}
        stamps = (sample.timeStamp for sample in newest.values())
        self._last_seen = max(filter(self._has_passed, stamps), default=since)
        for process in processes:
            sample = newest.get(process["pid"])
            if sample is not None or since:
                process.update(_shares(sample))

    def _has_passed(self, microseconds: int) -> bool:
        return microseconds <= self._wall() * MICROSECONDS


def _listed(card: NvmlDevice, kind: str, functions: tuple[str, ...]) -> Iterator[Process]:
    """Read one of the three lists; only the compute list must be there, without MPS."""
    try:
        listed = card.ask_newest(functions)
    except NVMLError as error:
        if kind == "compute" or reason_of(error) not in ("not_supported", "old_driver"):
            raise
        return
    for entry in listed:
        yield _process(kind, entry)


def _process(kind: str, entry: Any) -> Process:
    if not 0 < entry.pid <= LARGEST_PID:
        raise GarbledListError(f"a process id of {entry.pid}")
    memory = entry.usedGpuMemory
    return {
        "pid": entry.pid,
        "kind": kind,
        "used_memory_bytes": memory if memory and memory <= LARGEST_MEMORY_BYTES else None,
        "gpu_instance": instance_of(entry.gpuInstanceId),
        "compute_instance": instance_of(entry.computeInstanceId),
    }


def _shares(sample: Any) -> dict[str, float]:
    """Give percent by engine; a process that the driver did not name did nothing."""
    return {
        "sm_utilization_percent": sample.smUtil if sample else 0,
        "memory_utilization_percent": sample.memUtil if sample else 0,
        "encoder_utilization_percent": sample.encUtil if sample else 0,
        "decoder_utilization_percent": sample.decUtil if sample else 0,
    }
