"""The users of GPUs: processes, and the containers, units or users they work for."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from exporter.exposition.family import Histogram
from exporter.exposition.rows import metric
from exporter.record import dataclass


def sum_of_known(values: Iterable[float | None]) -> float | None:
    """Return the sum of the known values; None if none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def sum_of_all(values: Iterable[int | None]) -> int | None:
    """Return the sum; None when one of the values is not known: a part would pass for the whole."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total


@dataclass(frozen=True, slots=True, order=True)
class Workload:
    """A container of a pod; outside pods namespace and pod are empty.

    There `container` is the short id of a plain container, a systemd unit, a user slice, a batch
    job or, where nothing else is known, the name of the command.
    """

    namespace: str
    pod: str
    container: str

    @property
    def name(self) -> str:
        """Write it as namespace/pod/container, or as the name it has outside pods."""
        return "/".join(part for part in (self.namespace, self.pod, self.container) if part)


@dataclass(frozen=True, slots=True)
class WorkloadUse:
    """What one workload does with one GPU; `None` is what could not be known.

    `idle_allocated_secs` counts from the last sign of activity; `energy_joules` from when the
    workload was first seen; `instances` are the MIG instances (GPU instance, compute instance);
    `replicas` are those of the GPU that it holds. An excess is what it uses beyond its quota,
    negative below it; None where what is used cannot be compared with the quota.
    """

    gpu_uuid: str
    workload: Workload
    processes: int = 0
    memory_used_bytes: int | None = None
    sm_utilization_percent: float | None = None
    energy_joules: float | None = None
    idle_allocated_secs: float | None = None
    is_allocated: bool = False  # the kubelet has given the GPU to it
    instances: tuple[tuple[int | None, int | None], ...] = ()
    replicas: int | None = None
    quota_memory_bytes: int | None = None
    quota_sm_percent: float | None = None
    quota_memory_excess_bytes: int | None = None
    quota_sm_excess_percent: float | None = None


@dataclass(frozen=True, slots=True, order=True)
class Allocated:
    """A workload that the kubelet has given a GPU to, whether the GPU answers or not."""

    gpu_uuid: str
    workload: Workload


@dataclass(frozen=True, slots=True)
class GpuShare:
    """How a GPU is shared: mps, time_slicing, mig, hami, nvshare or xpushare.

    `replicas` are those that a device plugin registered; None where it has none or nobody says.
    """

    gpu_uuid: str
    kind: str
    replicas: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """What one process does with one GPU; several MIG instances of a GPU are apart."""

    gpu_uuid: str
    kind: str  # compute, graphics or mps
    memory_used_bytes: int | None = None
    sm_utilization_percent: float | None = None
    memory_utilization_percent: float | None = None
    encoder_utilization_percent: float | None = None
    decoder_utilization_percent: float | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None


@dataclass(frozen=True, slots=True)
class GpuClient:
    """A process that uses GPUs, as the kernel knows it.

    `state` is running, sleeping, uninterruptible, stopped, zombie, idle or other;
    `waits_since_boottime` is since when every look found it uninterruptible, `wait_channel` the
    kernel's function that it waits in. `workload` is None where the process cannot be attributed,
    and all but `pid` and `uses` where it cannot be seen.
    """

    pid: int
    uses: tuple[ProcessUse, ...]
    name: str | None = None
    state: str | None = None
    started_boottime: float | None = None
    waits_since_boottime: float | None = None
    wait_channel: str | None = None
    user: str | None = None
    pod_uid: str | None = None
    workload: Workload | None = None

    @property
    def memory_used_bytes(self) -> int | None:
        """Memory it holds on all GPUs; None when one of them does not say."""
        return sum_of_all(use.memory_used_bytes for use in self.uses)

    @property
    def sm_utilization_percent(self) -> float | None:
        """The largest of its shares on its GPUs; None when none says it."""
        known = [use.sm_utilization_percent for use in self.uses]
        return max((share for share in known if share is not None), default=None)


@dataclass(frozen=True, slots=True)
class PidUse:
    """What the series of one process on one GPU say; `pid` is other for the rest in sum."""

    gpu_uuid: str
    pid: str
    process: str
    memory_used_bytes: int | None = metric(
        "Framebuffer (FB) memory used by the process; only with processes.per_pid."
    )
    sm_utilization_percent: float | None = metric(
        "SM utilization of the process; only with processes.per_pid."
    )
    memory_utilization_percent: float | None = metric(
        "Memory utilization of the process; only with processes.per_pid."
    )
    encoder_utilization_percent: float | None = metric(
        "Video encoder (NVENC) utilization of the process; only with processes.per_pid."
    )
    decoder_utilization_percent: float | None = metric(
        "Video decoder (NVDEC) utilization of the process; only with processes.per_pid."
    )


@dataclass(frozen=True, slots=True)
class GpuTotals:
    """What belongs to a GPU and to no workload.

    `orphan_memory_bytes` is held by processes that no longer exist or whose pod is gone;
    `idle_energy_joules` includes what was used before we began to look.
    """

    gpu_uuid: str
    orphan_memory_bytes: int | None = None
    idle_energy_joules: float | None = None
    ended_energy_joules: float | None = None


@dataclass(frozen=True, slots=True, order=True)
class PodUid:
    """A pod with its UID, because the name of a deleted pod may come again."""

    namespace: str
    pod: str
    pod_uid: str


@dataclass(frozen=True, slots=True, order=True)
class SlurmJob:
    """A job of Slurm that has a process on a GPU; an unknown field is empty.

    `container` is its workload. `user` owns the process by the kernel; account and array are what
    the process says.
    """

    container: str
    job: str
    array_job: str
    array_task: str
    account: str
    user: str


@dataclass(frozen=True, slots=True)
class Workloads:
    """All users of all GPUs; `reason` is ok or why some processes cannot be attributed.

    `attribution_ratio` is the share of processes that could be, None while there are none.
    """

    reason: str
    attribution_ratio: float | None = None
    uses: tuple[WorkloadUse, ...] = ()
    clients: tuple[GpuClient, ...] = ()
    per_pid: tuple[PidUse, ...] = ()  # only where the configuration asks for it
    pods: tuple[PodUid, ...] = ()  # likewise
    jobs: tuple[SlurmJob, ...] = ()  # likewise
    totals: tuple[GpuTotals, ...] = ()
    shares: tuple[GpuShare, ...] = ()
    allocated: tuple[Allocated, ...] = ()
    used_count_by: str = "processes"  # or utilization: what GPUs in use are counted by


@dataclass(frozen=True, slots=True)
class TracedCall:
    """All calls of one function by one workload since its first; durations in seconds."""

    layer: str  # cuda or nccl
    call: str
    workload: Workload
    durations: Histogram
    errors: int
    sent_bytes: int | None = None  # handed to it, where it is a collective


@runtime_checkable
class TracesCalls(Protocol):
    """A reading that holds traced calls of workloads."""

    def traced_calls(self) -> tuple[TracedCall, ...]:
        """Return the calls of each workload."""
        ...
