"""Families for the identity of a GPU and its MIG instances."""

from collections import Counter
from collections.abc import Iterable

from exporter.collectors.gpu.labels import EACH_GPU, GPU_LABELS, gpu_label_values, of_each, states
from exporter.collectors.gpu.values import Gpu, Gpus, GpuState, MigInstance
from exporter.collectors.pcie.values import Pcie
from exporter.exposition.family import Sample, family
from exporter.exposition.rows import Items, Row, families, info
from exporter.model.snapshot import Snapshot
from exporter.record import replace

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


def _placed(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], Gpu]]:
    """Yield each GPU with the NUMA node that the kernel gives its PCI device.

    NVML knows another one only, and only beside a Grace CPU: that of the GPU's own memory.
    """
    pcie = snapshot.reading(Pcie)
    nodes = {each.device: each.numa_node for each in pcie.devices} if pcie else {}
    for labels, gpu in EACH_GPU.read(snapshot):
        node = nodes.get(gpu.pci_bus_id) if gpu.numa_node is None else gpu.numa_node
        yield labels, replace(gpu, numa_node=node)


def _with_memory(snapshot: Snapshot) -> Iterable[tuple[tuple[str, ...], MigInstance]]:
    """Yield each GPU instance once, so that the memory of all adds up to that of the board.

    What several compute instances share is that of none of them.
    """
    for state in states(snapshot):
        shared = Counter(each.gpu_instance for each in state.gpu.mig_instances or ())
        for instance in state.gpu.mig_instances or ():
            number = instance.gpu_instance
            if shared[number] == 1:
                own = (str(instance.compute_instance), instance.mig_uuid)
            elif shared.pop(number, 0):
                own = ("", "")
            else:
                continue
            yield (*gpu_label_values(state.gpu), str(number), *own), instance


def _mig_info(state: GpuState) -> Iterable[Sample]:
    for instance in state.gpu.mig_instances or ():
        ids = (str(instance.gpu_instance), str(instance.compute_instance))
        yield (*ids, instance.profile, instance.mig_uuid), 1


def _mig_activity(state: GpuState) -> Iterable[Sample]:
    """Yield the activity of each GPU instance once: its compute instances share it."""
    ratios = {
        (str(instance.gpu_instance), unit): ratio
        for instance in state.gpu.mig_instances or ()
        for unit, ratio in instance.activity_ratio or ()
    }
    return ratios.items()


FAMILIES = (
    info(
        "hw_gpu_info",
        "Product and board: PCI bus id, serial, architecture, compute capability, VBIOS; always 1.",
        Items(GPU_LABELS, Gpu, _placed),
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
    of_each(
        "hw_gpu_mig_info",
        "MIG instances (GPU instance, compute instance, profile); always 1.",
        _mig_info,
        *("gpu_instance", "compute_instance", "profile", "mig_uuid"),
    ),
    *families(
        "hw_gpu_mig_",
        Items((*GPU_LABELS, *INSTANCE_LABELS), MigInstance, _with_memory),
        Row(
            "memory_total_bytes",
            "Framebuffer (FB) memory of the MIG GPU instance; compute_instance and mig_uuid are"
            " empty if several compute instances share it.",
        ),
        Row(
            "memory_used_bytes",
            "Framebuffer (FB) memory of the MIG GPU instance in use; compute_instance and mig_uuid"
            " are empty if several compute instances share it.",
        ),
    ),
    of_each(
        "hw_gpu_mig_activity_ratio",
        "GPM activity (DCGM profiling) of the MIG GPU instance: share of the interval in which "
        "the unit was active.",
        _mig_activity,
        *("gpu_instance", "unit"),
    ),
)
