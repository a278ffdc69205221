"""The labels that every sample of a GPU carries, and the families that have a sample of each."""

from collections.abc import Callable, Iterable

from exporter.collectors.gpu.values import Gpu, Gpus, GpuState
from exporter.exposition.family import Family, Sample, family
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


def of_each(
    name: str, help_text: str, read: Callable[[GpuState], Iterable[Sample]], *labels: str
) -> Family:
    """Return the family of the samples that `read` yields of one GPU, without its own labels."""

    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        for state in states(snapshot):
            for more, number in read(state):
                yield (*gpu_label_values(state.gpu), *more), number

    return family(name, help_text, samples, *GPU_LABELS, *labels)


EACH_GPU = Items(
    GPU_LABELS,
    Gpu,
    lambda snapshot: ((gpu_label_values(state.gpu), state.gpu) for state in states(snapshot)),
)
