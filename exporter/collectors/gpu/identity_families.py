"""Families for the identity of a GPU and its MIG instances."""

from collections.abc import Iterable

from exporter.collectors.gpu.labels import EACH_GPU, GPU_LABELS, gpu_label_values, states
from exporter.collectors.gpu.values import Gpus, MigInstance
from exporter.exposition.family import Sample, family
from exporter.exposition.rows import Items, Row, families, info
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


def _vendors(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield whose each GPU is; nothing on a node where all are of NVIDIA."""
    gpus = snapshot.reading(Gpus)
    if gpus is None or not gpus.others:
        return
    for state in gpus.states:
        if state.gpu.vendor is not None:
            yield (*gpu_label_values(state.gpu), state.gpu.vendor), 1


def _instances(snapshot: Snapshot) -> Iterable[tuple[tuple[str, str, str], MigInstance]]:
    for state in states(snapshot):
        for instance in state.gpu.mig_instances or ():
            yield gpu_label_values(state.gpu), instance


def _labelled(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], MigInstance]]:
    for gpu, instance in _instances(snapshot):
        ids = (str(instance.gpu_instance), str(instance.compute_instance))
        yield (*gpu, *ids, instance.mig_uuid), instance


def _mig_info(snapshot: Snapshot) -> Iterable[Sample]:
    for gpu, instance in _instances(snapshot):
        ids = (str(instance.gpu_instance), str(instance.compute_instance))
        yield (*gpu, *ids, instance.profile, instance.mig_uuid), 1


def _mig_activity(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield the activity of each GPU instance once: its compute instances share it."""
    ratios: dict[tuple[str, ...], float] = {}
    for gpu, instance in _instances(snapshot):
        for unit, ratio in instance.activity_ratio or ():
            labels = (*gpu, str(instance.gpu_instance), unit)
            ratios[labels] = ratio
    return ratios.items()


FAMILIES = (
    info(
        "hw_gpu_info",
        "Product and board: PCI bus id, serial, architecture, compute capability, VBIOS; always 1.",
        EACH_GPU,
        INFO_LABELS,
    ),
    family(
        "hw_gpu_vendor_info",
        "Vendor of the GPU: nvidia, amd, intel, ascend; always 1. Absent if all GPUs are from"
        " NVIDIA.",
        _vendors,
        *(*GPU_LABELS, "gpu_vendor"),
    ),
)

MIG_FAMILIES = (
    family(
        "hw_gpu_mig_info",
        "MIG instances (GPU instance, compute instance, profile); always 1.",
        _mig_info,
        *(*GPU_LABELS, "gpu_instance", "compute_instance", "profile", "mig_uuid"),
    ),
    *families(
        "hw_gpu_mig_",
        Items((*GPU_LABELS, *INSTANCE_LABELS), MigInstance, _labelled),
        Row("memory_total_bytes", "Framebuffer (FB) memory of the MIG instance."),
        Row("memory_used_bytes", "Framebuffer (FB) memory of the MIG instance in use."),
    ),
    family(
        "hw_gpu_mig_activity_ratio",
        "GPM activity (DCGM profiling) of the MIG GPU instance: share of the interval in which "
        "the unit was active.",
        _mig_activity,
        *(*GPU_LABELS, "gpu_instance", "unit"),
    ),
)
