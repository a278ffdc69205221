"""The labels that every sample of a GPU carries, and the GPUs that have samples."""

from exporter.model.gpu import Gpu, Gpus, GpuState
from exporter.model.snapshot import Snapshot

GPU_LABELS = ("gpu_index", "gpu_name", "gpu_uuid")


def gpu_label_values(gpu: Gpu) -> tuple[str, str, str]:
    """The values of the three labels."""
    return (str(gpu.index), gpu.name, gpu.uuid)


def states(snapshot: Snapshot) -> tuple[GpuState, ...]:
    """All GPUs of the snapshot, lost ones included."""
    gpus = snapshot.reading(Gpus)
    return () if gpus is None else gpus.states
