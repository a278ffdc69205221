"""What the families of the workloads say of one snapshot."""

import re
from dataclasses import replace

from exporter.collectors.gpu.values import Gpu, GpuBackend, GpuProcess, Gpus, GpuState
from exporter.collectors.workloads.families import FAMILIES
from exporter.collectors.workloads.values import (
    GpuShare,
    PodUid,
    SlurmJob,
    Workload,
    Workloads,
    WorkloadUse,
)
from tests.exposition.sampling import lines, snapshot_of

TRAINER = Workload("ml", 'train-0"\n', "trainer")
PROCESS = GpuProcess(10, "compute", 5)
STATE = GpuState(Gpu(0, "GPU-0", "H100", processes=(PROCESS, replace(PROCESS, gpu_instance=1))), 1)
G = 'node="n",gpu_index="0",gpu_name="H100",gpu_uuid="GPU-0"'
W = rf'{G},namespace="ml",pod="train-0\"\n",container="trainer"'


def _lines(workloads: Workloads | None, *states: GpuState) -> set[str]:
    gpus = Gpus(GpuBackend("nvml", "ok"), states)
    seen = snapshot_of(gpus) if workloads is None else snapshot_of(gpus, workloads)
    return {*lines(FAMILIES, seen)}


def test_a_shared_gpu_says_how_and_who_may_use_how_much() -> None:
    """Its kinds and replicas; quotas and replicas of each workload, where they are known."""
    shares = (GpuShare("GPU-0", "hami"), GpuShare("GPU-0", "time_slicing", 4))
    use = WorkloadUse("GPU-0", TRAINER, replicas=2, quota_memory_bytes=8, quota_sm_percent=30.0)
    found = _lines(Workloads("ok", uses=(use,), shares=shares), STATE)
    assert {line for line in found if re.search("share|replicas|quota", line)} == {
        f'hw_gpu_share_info{{{G},kind="hami"}} 1',
        f'hw_gpu_share_info{{{G},kind="time_slicing"}} 1',
        f'hw_gpu_share_replicas{{{G},kind="time_slicing"}} 4',
        f"hw_gpu_workload_replicas{{{W}}} 2",
        f"hw_gpu_workload_quota_memory_bytes{{{W}}} 8",
        f"hw_gpu_workload_quota_sm_percent{{{W}}} 30",
    }


def test_what_is_not_known_has_no_sample() -> None:
    """A workload that only holds a GPU has no memory and no utilization, not zero of them."""
    uses = (WorkloadUse("GPU-0", TRAINER, is_allocated=True),)
    assert _lines(Workloads("no_host_pids", None, uses=uses), STATE) == {
        f"hw_gpu_processes{{{G}}} 1",
        f"hw_gpu_workload_info{{{W}}} 1",
        f"hw_gpu_workload_processes{{{W}}} 0",
        'hw_exporter_attribution_info{node="n",reason="no_host_pids",used_count_by="processes"} 1',
    }


def test_uids_of_pods_are_series_when_asked_for() -> None:
    """One series for each pod, apart from those of its workloads."""
    found = _lines(Workloads("ok", pods=(PodUid("ml", "trainer-0", "5d3c"),)), STATE)
    row = 'namespace="ml",pod="trainer-0",pod_uid="5d3c"'
    assert f'hw_gpu_workload_pod_info{{node="n",{row}}} 1' in found


def test_jobs_of_slurm_are_series_when_asked_for() -> None:
    """One series for each job, which joins with those of its workload by container."""
    job = SlurmJob("slurm/job_9", "9", "7", "3", "physics", "ada")
    row = 'job="9",array_job="7",array_task="3",account="physics",user="ada"'
    found = _lines(Workloads("ok", jobs=(job,)), STATE)
    assert f'hw_gpu_workload_job_info{{node="n",container="slurm/job_9",{row}}} 1' in found


def test_workloads_go_with_the_values_of_their_gpu() -> None:
    """When the GPU's values have expired, or it is not there, its workloads are not shown."""
    use = WorkloadUse("GPU-0", TRAINER, 1, 7)
    expired = replace(STATE, gpu=replace(STATE.gpu, processes=None))
    for states in ((), (expired,)):
        found = _lines(Workloads("ok", 1.0, uses=(use,)), *states)
        assert all("hw_exporter_attribution" in line for line in found)


def test_without_a_reading_nothing_is_said() -> None:
    """A source that failed leaves the count of processes and nothing of the workloads."""
    assert _lines(None, STATE) == {f"hw_gpu_processes{{{G}}} 1"}
