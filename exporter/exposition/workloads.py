"""Families of the workloads: who uses which GPU, for what, and who only holds it."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.exposition.gpu_labels import GPU_LABELS, gpu_label_values
from exporter.model.gpu import Gpu, Gpus
from exporter.model.snapshot import Snapshot
from exporter.model.workload import GpuTotals, PidUse, Workloads, WorkloadUse

WORKLOAD_LABELS = (*GPU_LABELS, "namespace", "pod", "container")
PID_LABELS = (*GPU_LABELS, "pid", "process")

T = TypeVar("T", WorkloadUse, PidUse, GpuTotals)


def _gpus_with_processes(snapshot: Snapshot) -> dict[str, Gpu]:
    """GPUs by UUID, as long as what was read of their processes may be shown."""
    gpus = snapshot.reading(Gpus)
    states = () if gpus is None else gpus.states
    return {state.gpu.uuid: state.gpu for state in states if state.gpu.processes is not None}


def _on_gpus(snapshot: Snapshot, rows: Iterable[T]) -> Iterator[tuple[tuple[str, ...], T]]:
    """Each row with the labels of its GPU."""
    gpus = _gpus_with_processes(snapshot)
    for row in rows:
        gpu = gpus.get(row.gpu_uuid)
        if gpu is not None:
            yield gpu_label_values(gpu), row


def of_each_use(
    value: Callable[[WorkloadUse], float | None],
) -> Callable[[Snapshot], Iterable[Sample]]:
    """One sample for each workload on each GPU for which this is known."""

    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        workloads = snapshot.reading(Workloads)
        for gpu, use in _on_gpus(snapshot, () if workloads is None else workloads.uses):
            who = use.workload
            yield from one(value(use), *gpu, who.namespace, who.pod, who.container)

    return samples


def _of_each_pid(value: Callable[[PidUse], float | None]) -> Callable[[Snapshot], Iterable[Sample]]:
    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        workloads = snapshot.reading(Workloads)
        for gpu, use in _on_gpus(snapshot, () if workloads is None else workloads.per_pid):
            yield from one(value(use), *gpu, use.pid, use.process)

    return samples


def _of_each_gpu(
    value: Callable[[GpuTotals], float | None],
) -> Callable[[Snapshot], Iterable[Sample]]:
    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        workloads = snapshot.reading(Workloads)
        for gpu, totals in _on_gpus(snapshot, () if workloads is None else workloads.totals):
            yield from one(value(totals), *gpu)

    return samples


def _processes(snapshot: Snapshot) -> Iterable[Sample]:
    for gpu in _gpus_with_processes(snapshot).values():
        pids = {process.pid for process in gpu.processes or ()}
        yield from one(len(pids), *gpu_label_values(gpu))


def _joules(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _mig_info(snapshot: Snapshot) -> Iterable[Sample]:
    workloads = snapshot.reading(Workloads)
    for gpu, use in _on_gpus(snapshot, () if workloads is None else workloads.uses):
        who = use.workload
        for instance in use.instances:
            names = ["" if number is None else str(number) for number in instance]
            yield from one(1, *gpu, *names, who.namespace, who.pod, who.container)


def _attribution_info(snapshot: Snapshot) -> Iterable[Sample]:
    workloads = snapshot.reading(Workloads)
    return () if workloads is None else one(1, workloads.reason)


def _attribution_ratio(snapshot: Snapshot) -> Iterable[Sample]:
    workloads = snapshot.reading(Workloads)
    ratio = None if workloads is None else workloads.attribution_ratio
    return one(None if ratio is None else round(ratio, 4))


FAMILIES = (
    Family(
        "hw_gpu_processes",
        "Compute and graphics processes running on the GPU.",
        Kind.GAUGE,
        GPU_LABELS,
        _processes,
    ),
    Family(
        "hw_gpu_workload_info",
        "A workload runs on the GPU or has it allocated; always 1. Outside pods the "
        "container is a systemd unit, a user slice or a command.",
        Kind.GAUGE,
        WORKLOAD_LABELS,
        of_each_use(lambda _: 1),
    ),
    Family(
        "hw_gpu_workload_processes",
        "Running processes of the workload on the GPU; 0 while it only has the GPU allocated.",
        Kind.GAUGE,
        WORKLOAD_LABELS,
        of_each_use(lambda use: use.processes),
    ),
    Family(
        "hw_gpu_workload_memory_used_bytes",
        "Framebuffer (FB) memory used by the workload's processes.",
        Kind.GAUGE,
        WORKLOAD_LABELS,
        of_each_use(lambda use: use.memory_used_bytes),
    ),
    Family(
        "hw_gpu_workload_sm_utilization_percent",
        "SM utilization of the workload's processes since the last reading, 0 to 100.",
        Kind.GAUGE,
        WORKLOAD_LABELS,
        of_each_use(lambda use: use.sm_utilization_percent),
    ),
    Family(
        "hw_gpu_workload_mig_info",
        "A workload runs on a MIG instance or has it allocated; always 1.",
        Kind.GAUGE,
        (
            *GPU_LABELS,
            "gpu_instance",
            "compute_instance",
            "namespace",
            "pod",
            "container",
        ),
        _mig_info,
    ),
    Family(
        "hw_gpu_workload_energy_joules_total",
        "Energy consumption of the GPU by the workload's share of its time, since the "
        "workload was first seen; with the idle and ended families the sum is the GPU's own "
        "counter.",
        Kind.COUNTER,
        WORKLOAD_LABELS,
        of_each_use(lambda use: _joules(use.energy_joules)),
    ),
    Family(
        "hw_gpu_idle_energy_joules_total",
        "Energy consumption that no workload caused, and all from before the exporter was started.",
        Kind.COUNTER,
        GPU_LABELS,
        _of_each_gpu(lambda totals: _joules(totals.idle_energy_joules)),
    ),
    Family(
        "hw_gpu_ended_workload_energy_joules_total",
        "Energy consumption of workloads that have left the GPU.",
        Kind.COUNTER,
        GPU_LABELS,
        _of_each_gpu(lambda totals: _joules(totals.ended_energy_joules)),
    ),
    Family(
        "hw_gpu_idle_allocated_seconds",
        "How long the workload has had the GPU allocated without GPU utilization.",
        Kind.GAUGE,
        WORKLOAD_LABELS,
        of_each_use(
            lambda use: (
                None if use.idle_allocated_secs is None else round(use.idle_allocated_secs, 3)
            )
        ),
    ),
    Family(
        "hw_gpu_orphan_memory_used_bytes",
        "Framebuffer (FB) memory held by processes that no longer exist or whose pod is gone.",
        Kind.GAUGE,
        GPU_LABELS,
        _of_each_gpu(lambda totals: totals.orphan_memory_bytes),
    ),
    Family(
        "hw_gpu_process_memory_used_bytes",
        "Framebuffer (FB) memory used by the process; only with processes.per_pid.",
        Kind.GAUGE,
        PID_LABELS,
        _of_each_pid(lambda use: use.memory_used_bytes),
    ),
    Family(
        "hw_gpu_process_sm_utilization_percent",
        "SM utilization of the process; only with processes.per_pid.",
        Kind.GAUGE,
        PID_LABELS,
        _of_each_pid(lambda use: use.sm_utilization_percent),
    ),
    Family(
        "hw_gpu_process_memory_utilization_percent",
        "Memory utilization of the process; only with processes.per_pid.",
        Kind.GAUGE,
        PID_LABELS,
        _of_each_pid(lambda use: use.memory_utilization_percent),
    ),
    Family(
        "hw_gpu_process_encoder_utilization_percent",
        "Video encoder (NVENC) utilization of the process; only with processes.per_pid.",
        Kind.GAUGE,
        PID_LABELS,
        _of_each_pid(lambda use: use.encoder_utilization_percent),
    ),
    Family(
        "hw_gpu_process_decoder_utilization_percent",
        "Video decoder (NVDEC) utilization of the process; only with processes.per_pid.",
        Kind.GAUGE,
        PID_LABELS,
        _of_each_pid(lambda use: use.decoder_utilization_percent),
    ),
    Family(
        "hw_exporter_attribution_info",
        "Whether processes on GPUs can be attributed to workloads (ok), or why not; always 1.",
        Kind.GAUGE,
        ("reason",),
        _attribution_info,
    ),
    Family(
        "hw_exporter_attribution_ratio",
        "Share of the processes on GPUs that could be attributed to a workload.",
        Kind.GAUGE,
        (),
        _attribution_ratio,
    ),
)
