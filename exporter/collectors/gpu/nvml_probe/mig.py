"""The instances a GPU in MIG mode is cut into."""

from collections.abc import Iterator

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice
from exporter.collectors.gpu.nvml_probe.library import READ_ERRORS, reason_of
from exporter.collectors.gpu.nvml_probe.nvml import NVMLError
from exporter.collectors.gpu.nvml_probe.profiling import Profiler

FREE_PLACE = ("not_found", "invalid_argument", "not_supported")
MAX_INSTANCES = 56
"""Seven GPU instances of at most eight compute instances each."""


class MigReader:
    """Reads the instances of one GPU; keeps the samples of each GPU instance for its activity."""

    def __init__(self, *, with_profiling: bool) -> None:
        self._with_profiling = with_profiling
        self._profilers: dict[int, Profiler] = {}

    def read(self, card: NvmlDevice) -> list[dict[str, Any]]:
        """Read all instances; one that goes away while it is read is left out."""
        if not card.ask("nvmlDeviceGetMigMode")[0]:
            return []
        count = min(card.ask("nvmlDeviceGetMaxMigDeviceCount"), MAX_INSTANCES)
        instances = [found for found in (self._read(card, n) for n in range(count)) if found]
        self._add_activity(card, instances)
        return instances

    def forget(self, card: NvmlDevice) -> None:
        """Free the samples of all instances."""
        while self._profilers:
            self._profilers.popitem()[1].forget(card)

    def _read(self, card: NvmlDevice, place: int) -> dict[str, Any] | None:
        try:
            handle = card.ask("nvmlDeviceGetMigDeviceHandleByIndex", place)
        except NVMLError as error:
            if reason_of(error) in FREE_PLACE:
                return None
            raise  # not permitted, or the GPU is lost: not the same as having no instances
        try:
            instance = dict(_instance(NvmlDevice(card.library, handle, card.place)))
        except READ_ERRORS:
            return None  # it was just taken apart
        return instance if instance["mig_uuid"] else None

    def _add_activity(self, card: NvmlDevice, instances: list[dict[str, Any]]) -> None:
        if not self._with_profiling:
            return
        there = {instance["gpu_instance"] for instance in instances}
        for gone in self._profilers.keys() - there:
            self._profilers.pop(gone).forget(card)
        for number in there:
            activity = self._activity(card, number)
            for instance in instances:
                if instance["gpu_instance"] == number and activity:
                    instance["activity_ratio"] = activity

    def _activity(self, card: NvmlDevice, gpu_instance: int) -> Any:
        profiler = self._profilers.setdefault(gpu_instance, Profiler(gpu_instance))
        try:
            activity = profiler.read(card).get("activity_ratio")
        except READ_ERRORS:
            return None  # only Hopper and newer measure it, and only with the rights to
        return activity if isinstance(activity, list) else None


def _instance(mig: NvmlDevice) -> Iterator[tuple[str, Any]]:
    yield "gpu_instance", mig.ask("nvmlDeviceGetGpuInstanceId")
    yield "compute_instance", mig.ask("nvmlDeviceGetComputeInstanceId")
    yield "mig_uuid", mig.text("nvmlDeviceGetUUID")
    name = mig.text("nvmlDeviceGetName") or ""  # NVIDIA H100 80GB HBM3 MIG 1g.10gb
    yield "profile", name.rpartition("MIG ")[2] or "unknown"
    try:
        info = mig.ask("nvmlDeviceGetMemoryInfo")
    except READ_ERRORS:
        return
    yield "memory_total_bytes", info.total
    yield "memory_used_bytes", info.used
