"""The labels that every sample of a GPU carries, and the GPUs that have samples."""

from collections.abc import Callable

from exporter.collectors.gpu.values import Gpu, Gpus, GpuState
from exporter.exposition.rows import Items
from exporter.model.snapshot import Snapshot

GPU_LABELS = ("gpu_index", "gpu_name", "gpu_uuid")


def gpu_label_values(gpu: Gpu) -> tuple[str, str, str]:
    """Return the values of the three labels."""
    return (str(gpu.index), gpu.name, gpu.uuid)


def states(snapshot: Snapshot) -> tuple[GpuState, ...]:
    """Return all GPUs of the snapshot, lost ones included."""
    gpus = snapshot.reading(Gpus)
    return () if gpus is None else gpus.states


def each_state(is_shown: Callable[[GpuState], bool] = lambda _: True) -> Items:
    """Return the state of each GPU for which `is_shown` is true."""
    return Items(
        GPU_LABELS,
        GpuState,
        lambda snapshot: (
            (gpu_label_values(state.gpu), state) for state in states(snapshot) if is_shown(state)
        ),
    )


EACH_GPU = Items(
    GPU_LABELS,
    Gpu,
    lambda snapshot: ((gpu_label_values(state.gpu), state.gpu) for state in states(snapshot)),
)
