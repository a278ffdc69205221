"""The document of the processes on GPUs."""

import json
from dataclasses import replace
from types import MappingProxyType

import pytest

from exporter.collectors.gpu.values import Gpu, GpuBackend, GpuProcess, Gpus, GpuState
from exporter.collectors.workloads.values import (
    GpuClient,
    GpuShare,
    ProcessUse,
    Workload,
    Workloads,
    WorkloadUse,
)
from exporter.model.snapshot import Snapshot
from exporter.reports.processes import processes
from tests.web.serving import serving

GPU = Gpu(3, "GPU-a", "H100", processes=(GpuProcess(10, "compute"),))
USE = ProcessUse("GPU-a", "compute", 4096, 12.5)
KNOWN = GpuClient(
    10,
    (USE, replace(USE, gpu_instance=1, compute_instance=0)),
    name="python3",
    state="uninterruptible",
    started_boottime=1.0,
    waits_since_boottime=90.0,
    wait_channel="io_schedule",
    pod_uid="u",
    workload=Workload("ml", "train-0", "trainer"),
)


def test_a_shared_gpu_is_told_with_who_may_use_how_much() -> None:
    """Kinds of sharing, and each workload with a part: what it may use beside what it uses."""
    trainer = Workload("ml", "train-0", "trainer")
    part = WorkloadUse("GPU-a", trainer, 1, 7, 12.5, replicas=2, quota_memory_bytes=8)
    whole = WorkloadUse("GPU-a", Workload("", "", "bash"), 1, 7)
    elsewhere = replace(part, gpu_uuid="GPU-gone")
    shares = (GpuShare("GPU-a", "time_slicing", 4), GpuShare("GPU-gone", "mps"))
    readings: dict[type, object] = {
        Gpus: Gpus(GpuBackend("nvml", "ok"), (GpuState(GPU, 1.0),)),
        Workloads: Workloads("ok", uses=(part, whole, elsewhere), shares=shares),
    }
    document = processes(Snapshot("n", 1, 0.0, 0.0, 0.0, MappingProxyType(readings)), 100.0)
    assert document["shares"] == [
        {"index": 3, "uuid": "GPU-a", "kind": "time_slicing", "replicas": 4}
    ]
    assert document["quotas"] == [
        {
            "index": 3,
            "uuid": "GPU-a",
            "pod": "train-0",
            "namespace": "ml",
            "container": "trainer",
            "replicas": 2,
            "quota_memory_bytes": 8,
            "memory_used_bytes": 7,
            "quota_sm_percent": None,
            "sm_utilization_percent": 12.5,
        }
    ]


def _snapshot(*clients: GpuClient, gpu: Gpu = GPU) -> Snapshot:
    readings: dict[type, object] = {
        Gpus: Gpus(GpuBackend("nvml", "ok"), (GpuState(gpu, 1.0),)),
        Workloads: Workloads("ok", 1.0, clients=clients),
    }
    return Snapshot("n", 1, 0.0, 0.0, 0.0, MappingProxyType(readings))


def test_a_process_is_told_with_whom_it_belongs_to() -> None:
    """Everything known of a process is there, and its user is null unless asked for."""
    document = processes(_snapshot(KNOWN), 100.0)
    assert document["node"] == "n"
    assert (document["attribution"], document["attribution_ratio"]) == ("ok", 1.0)
    (process,) = document["processes"]
    uses = process.pop("uses")
    assert process == {
        "pid": 10,
        "name": "python3",
        "user": None,
        "pod": "train-0",
        "namespace": "ml",
        "container": "trainer",
        "gpus": [3],
        "memory": 8192,
        "utilization": 12.5,
        "state": "uninterruptible",
        "waits_secs": 10.0,
        "waits_in": "io_schedule",
    }
    assert [(use["index"], use["gpu_instance"]) for use in uses] == [(3, None), (3, 1)]


def test_what_is_not_known_is_null() -> None:
    """A process that cannot be seen has its pid and its GPU, and nothing invented."""
    stranger = GpuClient(11, (replace(USE, memory_used_bytes=None, sm_utilization_percent=None),))
    (process,) = processes(_snapshot(stranger), 0.0)["processes"]
    unknown = {key for key, value in process.items() if value is None}
    assert unknown == {
        *("name", "user", "pod", "namespace", "container"),
        *("memory", "utilization", "state", "waits_secs", "waits_in"),
    }


def test_processes_go_with_the_values_of_their_gpu() -> None:
    """When what was read of the GPU has expired its processes are no longer listed."""
    assert processes(_snapshot(KNOWN, gpu=replace(GPU, processes=None)), 0.0)["processes"] == []


@pytest.mark.parametrize("state", [GpuState(GPU, 1.0, up=False), GpuState(GPU, 1.0, stale=True)])
def test_a_gpu_that_is_not_read_says_who_holds_it_and_not_how_much(state: GpuState) -> None:
    """As in /status and /metrics, no value of before stands for now."""
    part = WorkloadUse("GPU-a", Workload("", "", "bash"), 1, 7, 12.5, replicas=2)
    readings: dict[type, object] = {
        Gpus: Gpus(GpuBackend("nvml", "ok"), (state,)),
        Workloads: Workloads("ok", clients=(KNOWN,), uses=(part,)),
    }
    document = processes(Snapshot("n", 1, 0.0, 0.0, 0.0, MappingProxyType(readings)), 100.0)
    (process,), (quota,) = document["processes"], document["quotas"]
    assert (process["gpus"], process["container"], quota["replicas"]) == ([3], "trainer", 2)
    values = [it[name] for it in (process, *process["uses"]) for name in ("memory", "utilization")]
    assert {*values, quota["memory_used_bytes"], quota["sm_utilization_percent"]} == {None}


async def test_a_node_without_gpus_lists_none() -> None:
    """Without a GPU the list is empty, and so it is served."""
    async with serving(Snapshot("n", 1, 0.0, 0.0, 0.0)) as server:
        answer = await server.get("/processes")
    assert answer.status == 200
    assert json.loads(answer.body) == {
        "node": "n",
        "processes": [],
        "attribution": None,
        "attribution_ratio": None,
        "left_out": 0,
        "shares": [],
        "quotas": [],
    }


def test_of_very_many_processes_the_largest_are_listed() -> None:
    """A thousand in the order of their pids; how many were left out is said."""
    clients = [GpuClient(pid, (replace(USE, memory_used_bytes=pid),)) for pid in range(1, 10_001)]
    document = processes(_snapshot(*clients), 0.0)
    assert [process["pid"] for process in document["processes"]] == list(range(9001, 10_001))
    assert document["left_out"] == 9000
