"""Families of the GPUs: what every card says, and how truly it is known."""

from collections import Counter
from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.exposition.gpu_labels import GPU_LABELS, gpu_label_values, states
from exporter.model.gpu import Gpu, Gpus
from exporter.model.snapshot import Snapshot


def of_each_gpu(value: Callable[[Gpu], float | None]) -> Callable[[Snapshot], Iterable[Sample]]:
    """One sample for each GPU that said this value."""

    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        for state in states(snapshot):
            yield from one(value(state.gpu), *gpu_label_values(state.gpu))

    return samples


def _count(snapshot: Snapshot) -> Iterable[Sample]:
    known = states(snapshot)
    return one(len(known)) if known else ()


def _used_count(snapshot: Snapshot) -> Iterable[Sample]:
    known = [use for state in states(snapshot) if (use := state.gpu.is_used) is not None]
    return one(sum(known)) if known else ()


def _type_count(snapshot: Snapshot) -> Iterable[Sample]:
    counts = Counter(state.gpu.name for state in states(snapshot))
    return [((name,), count) for name, count in sorted(counts.items())]


def _nvml_up(snapshot: Snapshot) -> Iterable[Sample]:
    gpus = snapshot.reading(Gpus)
    return () if gpus is None else one(gpus.backend.nvml_up)


def _backend_info(snapshot: Snapshot) -> Iterable[Sample]:
    gpus = snapshot.reading(Gpus)
    if gpus is None:
        return ()
    backend = gpus.backend
    versions = (backend.driver_version or "", backend.cuda_version or "")
    return one(1, backend.backend, backend.reason, *versions)


def _up(snapshot: Snapshot) -> Iterable[Sample]:
    for state in states(snapshot):
        yield from one(state.up, *gpu_label_values(state.gpu))


def _problems(snapshot: Snapshot) -> Iterable[Sample]:
    for state in states(snapshot):
        if not state.up and state.reason is not None:
            yield (*gpu_label_values(state.gpu), state.reason), 1


def _suspended(snapshot: Snapshot) -> Iterable[Sample]:
    for state in states(snapshot):
        if state.suspended:
            yield from one(1, *gpu_label_values(state.gpu))


def _stale(snapshot: Snapshot) -> Iterable[Sample]:
    for state in states(snapshot):
        if not state.expired:
            yield from one(state.stale, *gpu_label_values(state.gpu))


def ages(snapshot: Snapshot, boottime: float) -> Iterable[Sample]:
    """How old the reading of each GPU is at this boot time in seconds."""
    for state in states(snapshot):
        if not state.expired:
            age = max(0.0, boottime - state.read_boottime)
            yield from one(round(age, 3), *gpu_label_values(state.gpu))


FAMILIES = (
    Family(
        "hw_gpu_count",
        "GPUs known on this node, lost ones included.",
        Kind.GAUGE,
        (),
        _count,
    ),
    Family(
        "hw_gpu_used_count",
        "GPUs with a compute process.",
        Kind.GAUGE,
        (),
        _used_count,
    ),
    Family(
        "hw_gpu_type_count",
        "GPUs by product name.",
        Kind.GAUGE,
        ("gpu_type",),
        _type_count,
    ),
    Family(
        "hw_gpu_memory_total_bytes",
        "Framebuffer (FB) memory of the GPU.",
        Kind.GAUGE,
        GPU_LABELS,
        of_each_gpu(lambda gpu: gpu.memory_total_bytes),
    ),
    Family(
        "hw_gpu_memory_used_bytes",
        "Framebuffer (FB) memory in use, without the part the driver reserves where it "
        "reports that.",
        Kind.GAUGE,
        GPU_LABELS,
        of_each_gpu(lambda gpu: gpu.memory_used_bytes),
    ),
    Family(
        "hw_gpu_memory_free_bytes",
        "Framebuffer (FB) memory that is free.",
        Kind.GAUGE,
        GPU_LABELS,
        of_each_gpu(lambda gpu: gpu.memory_free_bytes),
    ),
    Family(
        "hw_gpu_utilization_percent",
        "GPU utilization: share of the driver's last sample period in which a kernel ran, 0 "
        "to 100.",
        Kind.GAUGE,
        GPU_LABELS,
        of_each_gpu(lambda gpu: gpu.utilization_percent),
    ),
    Family(
        "hw_gpu_temperature_celsius",
        "GPU core temperature.",
        Kind.GAUGE,
        GPU_LABELS,
        of_each_gpu(lambda gpu: gpu.temperature_celsius),
    ),
    Family(
        "hw_gpu_power_draw_watts",
        "Power usage (draw) of the board.",
        Kind.GAUGE,
        GPU_LABELS,
        of_each_gpu(lambda gpu: gpu.power_draw_watts),
    ),
    Family(
        "hw_gpu_power_limit_watts",
        "Enforced power limit.",
        Kind.GAUGE,
        GPU_LABELS,
        of_each_gpu(lambda gpu: gpu.power_limit_watts),
    ),
    Family(
        "hw_gpu_nvml_up",
        "Whether the last NVML reading succeeded.",
        Kind.GAUGE,
        (),
        _nvml_up,
    ),
    Family(
        "hw_gpu_backend_info",
        "Backend the GPUs were read with, and why not a better one; always 1.",
        Kind.GAUGE,
        ("backend", "reason", "driver_version", "cuda_version"),
        _backend_info,
    ),
    Family(
        "hw_gpu_up",
        "Whether the GPU answers; 0 for one that was there and is lost or unreadable.",
        Kind.GAUGE,
        GPU_LABELS,
        _up,
    ),
    Family(
        "hw_gpu_problem_info",
        "Why the GPU is not up: one of the reasons of docs/troubleshooting.md; always 1.",
        Kind.GAUGE,
        (*GPU_LABELS, "reason"),
        _problems,
    ),
    Family(
        "hw_gpu_suspended",
        "Suspended by runtime power management (RTD3), and not woken to be read; always 1.",
        Kind.GAUGE,
        GPU_LABELS,
        _suspended,
    ),
    Family(
        "hw_gpu_data_stale",
        "Whether the values of the GPU come from the cache.",
        Kind.GAUGE,
        GPU_LABELS,
        _stale,
    ),
)
