"""Families of who a GPU is, and of the instances it is cut into."""

from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.exposition.gpu_labels import GPU_LABELS, gpu_label_values, states
from exporter.model.gpu import MigInstance
from exporter.model.snapshot import Snapshot

INFO_LABELS = (
    "pci_bus_id",
    "serial",
    "architecture",
    "compute_capability",
    "vbios_version",
    "board_part_number",
    "numa_node",
    "minor_number",
)
INSTANCE_LABELS = ("gpu_instance", "compute_instance", "mig_uuid")


def _info(snapshot: Snapshot) -> Iterable[Sample]:
    for state in states(snapshot):
        gpu = state.gpu
        said = (getattr(gpu, label) for label in INFO_LABELS)
        texts = ("" if value is None else str(value) for value in said)
        yield (*gpu_label_values(gpu), *texts), 1


def _instances(snapshot: Snapshot) -> Iterable[tuple[tuple[str, str, str], MigInstance]]:
    for state in states(snapshot):
        for instance in state.gpu.mig_instances or ():
            yield gpu_label_values(state.gpu), instance


def _mig_info(snapshot: Snapshot) -> Iterable[Sample]:
    for gpu, one_of in _instances(snapshot):
        ids = (str(one_of.gpu_instance), str(one_of.compute_instance))
        yield (*gpu, *ids, one_of.profile, one_of.mig_uuid), 1


def _of_instances(
    value: Callable[[MigInstance], float | None],
) -> Callable[[Snapshot], Iterable[Sample]]:
    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        for gpu, one_of in _instances(snapshot):
            ids = (str(one_of.gpu_instance), str(one_of.compute_instance), one_of.mig_uuid)
            yield from one(value(one_of), *gpu, *ids)

    return samples


def _mig_activity(snapshot: Snapshot) -> Iterable[Sample]:
    """Compute instances of one GPU instance share its measurement: it is said once."""
    said: dict[tuple[str, ...], float] = {}
    for gpu, one_of in _instances(snapshot):
        for unit, ratio in one_of.activity_ratio or ():
            labels = (*gpu, str(one_of.gpu_instance), unit)
            said[labels] = ratio
    return said.items()


FAMILIES = (
    Family(
        "hw_gpu_info",
        "Product and board: PCI bus id, serial, architecture, compute capability, VBIOS; always 1.",
        Kind.GAUGE,
        (*GPU_LABELS, *INFO_LABELS),
        _info,
    ),
)

MIG_FAMILIES = (
    Family(
        "hw_gpu_mig_info",
        "MIG instances (GPU instance, compute instance, profile); always 1.",
        Kind.GAUGE,
        (*GPU_LABELS, "gpu_instance", "compute_instance", "profile", "mig_uuid"),
        _mig_info,
    ),
    Family(
        "hw_gpu_mig_memory_total_bytes",
        "Framebuffer (FB) memory of the MIG instance.",
        Kind.GAUGE,
        (*GPU_LABELS, *INSTANCE_LABELS),
        _of_instances(lambda instance: instance.memory_total_bytes),
    ),
    Family(
        "hw_gpu_mig_memory_used_bytes",
        "Framebuffer (FB) memory of the MIG instance in use.",
        Kind.GAUGE,
        (*GPU_LABELS, *INSTANCE_LABELS),
        _of_instances(lambda instance: instance.memory_used_bytes),
    ),
    Family(
        "hw_gpu_mig_activity_ratio",
        "GPM activity (DCGM profiling) of the MIG GPU instance: share of the interval in "
        "which the unit was active.",
        Kind.GAUGE,
        (*GPU_LABELS, "gpu_instance", "unit"),
        _mig_activity,
    ),
)
