"""Families of workloads: GPU usage and allocation per workload."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from exporter.collectors.gpu.labels import GPU_LABELS, gpu_label_values
from exporter.collectors.gpu.values import Gpu, Gpus
from exporter.collectors.workloads.values import (
    GpuShare,
    GpuTotals,
    PidUse,
    PodUid,
    SlurmJob,
    Workloads,
    WorkloadUse,
)
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Items, Row, each, families, info, reading, rows_of
from exporter.model.snapshot import Snapshot

WORKLOAD = ("namespace", "pod", "container")
INSTANCE = ("gpu_instance", "compute_instance")

T = TypeVar("T")


def _gpus_with_processes(snapshot: Snapshot) -> dict[str, Gpu]:
    """Return GPUs by UUID, as long as what was read of their processes may be shown."""
    gpus = snapshot.reading(Gpus)
    states = () if gpus is None else gpus.states
    return {state.gpu.uuid: state.gpu for state in states if state.gpu.processes is not None}


def _on_gpus(rows: Callable[[Workloads], Iterable[T]], kind: type[T], *labels: str) -> Items:
    """Return rows with the labels of their GPU; each further label is the row's field."""
    items = each(Workloads, rows, kind, "gpu_uuid", *labels)

    def read(snapshot: Snapshot) -> Iterator[tuple[tuple[str, ...], object]]:
        gpus = _gpus_with_processes(snapshot)
        for (uuid, *own), row in items.read(snapshot):
            if uuid in gpus:
                yield (*gpu_label_values(gpus[uuid]), *own), row

    return Items((*GPU_LABELS, *items.labels[1:]), kind, read)


def _processes(snapshot: Snapshot) -> Iterable[Sample]:
    for gpu in _gpus_with_processes(snapshot).values():
        pids = {process.pid for process in gpu.processes or ()}
        yield from one(len(pids), *gpu_label_values(gpu))


def _mig_info(snapshot: Snapshot) -> Iterable[Sample]:
    for labels, use in USES.read(snapshot):
        for instance in use.instances:
            names = ["" if number is None else str(number) for number in instance]
            yield (*labels[: len(GPU_LABELS)], *names, *labels[len(GPU_LABELS) :]), 1


USES = _on_gpus(
    lambda found: found.uses,
    WorkloadUse,
    *("workload.namespace", "workload.pod", "workload.container"),
)
SHARES = _on_gpus(lambda found: found.shares, GpuShare, "kind")
PIDS = _on_gpus(lambda found: found.per_pid, PidUse, "pid", "process")
TOTALS = _on_gpus(lambda found: found.totals, GpuTotals)
PODS = each(Workloads, lambda found: found.pods, PodUid, "namespace", "pod", "pod_uid")
JOBS = each(
    Workloads,
    lambda found: found.jobs,
    SlurmJob,
    *("container", "job", "array_job", "array_task", "account", "user"),
)

FAMILIES = (
    family(
        "hw_gpu_processes",
        "Compute and graphics processes running on the GPU.",
        _processes,
        *GPU_LABELS,
    ),
    info(
        "hw_gpu_workload_info",
        "A workload runs on the GPU or has it allocated; always 1. Outside pods the container is "
        "a systemd unit, a user slice or a command.",
        USES,
        (),
    ),
    *families(
        "hw_gpu_workload_",
        USES,
        Row(
            "processes",
            "Running processes of the workload on the GPU; 0 while it only has the GPU allocated.",
        ),
        Row("memory_used_bytes", "Framebuffer (FB) memory used by the workload's processes."),
        Row(
            "sm_utilization_percent",
            "SM utilization of the workload's processes since the last reading, 0 to 100.",
        ),
    ),
    info(
        "hw_gpu_workload_pod_info",
        "UID of a pod with a process on a GPU, or that holds one, to join with kube-state-metrics;"
        " always 1; only with processes.pod_uids.",
        PODS,
        (),
    ),
    info(
        "hw_gpu_workload_job_info",
        "Array task, account and user of a Slurm job with a process on a GPU; always 1; only with"
        " processes.slurm_jobs.",
        JOBS,
        (),
    ),
    family(
        "hw_gpu_workload_mig_info",
        "A workload runs on a MIG instance or has it allocated; always 1.",
        _mig_info,
        *(*GPU_LABELS, *INSTANCE, *WORKLOAD),
    ),
    info(
        "hw_gpu_share_info",
        "How the GPU is shared: mps, time_slicing, mig, hami, nvshare or xpushare; always 1,"
        " absent if it is not shared.",
        SHARES,
        (),
    ),
    *families(
        "hw_gpu_share_",
        SHARES,
        Row("replicas", "Replicas of the GPU registered by its device plugin."),
    ),
    *families(
        "hw_gpu_workload_",
        USES,
        Row("replicas", "Replicas of the GPU that the kubelet has allocated to the workload."),
        Row(
            "quota_memory_bytes",
            "Framebuffer (FB) memory quota of the workload on the GPU, from HAMi, CUDA MPS"
            " (all clients together) or its MIG instances.",
        ),
        Row(
            "quota_sm_percent",
            "SM utilization quota of the workload from HAMi, or its active thread percentage"
            " in CUDA MPS (all clients together), 0 to 100.",
        ),
        Row(
            "energy_joules_total",
            "Energy consumption of the workload, by its share of GPU time, since it was first"
            " seen. Together with the idle and ended families it adds up to the GPU's own"
            " counter, less what processes of unknown share or workload use.",
            digits=3,
        ),
    ),
    *families(
        "hw_gpu_",
        TOTALS,
        Row(
            "idle_energy_joules_total",
            "Energy consumption while no workload used the GPU, and before the exporter was"
            " started.",
            digits=3,
        ),
        Row(
            "ended_workload_energy_joules_total",
            "Energy consumption of workloads that have left the GPU.",
            "ended_energy_joules",
            digits=3,
        ),
    ),
    *families(
        "hw_gpu_",
        USES,
        Row(
            "idle_allocated_seconds",
            "How long the workload has had the GPU allocated without GPU utilization.",
            "idle_allocated_secs",
            digits=3,
        ),
    ),
    *families(
        "hw_gpu_",
        TOTALS,
        Row(
            "orphan_memory_used_bytes",
            "Framebuffer (FB) memory held by processes that no longer exist or whose pod is gone.",
            "orphan_memory_bytes",
        ),
    ),
    *families("hw_gpu_process_", PIDS, *rows_of(PidUse)),
    info(
        "hw_exporter_attribution_info",
        "Whether GPU processes can be attributed to workloads (ok), or why not, and how GPUs"
        " in use are counted; always 1.",
        reading(Workloads),
        ("reason", "used_count_by"),
    ),
    *families(
        "hw_exporter_",
        reading(Workloads),
        Row(
            "attribution_ratio",
            "Share of GPU processes that were attributed to a workload.",
            digits=4,
        ),
    ),
)
