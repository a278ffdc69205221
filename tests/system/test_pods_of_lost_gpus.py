"""The real program, a kubelet that says who has which GPU, and a GPU that is gone."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.workloads.kubelet import SOCKET
from tests.collectors.workloads.kubelet import claim_response, list_response, serving
from tests.fakes.nvml_library import NvmlLibrary
from tests.program import Program, wait_for

CARDS = (
    *("count = 4", "uuid = GPU-{device}", "name = H100", "temperature = 40"),
    *("nvlink_links = 18", "nvlink.state = 1", "compute_processes ="),
)
LOST = "device.0.any = error 15"
TRAINER, NEIGHBOUR = "ml/train-0/trainer", "ml/notebook-0/main"
GIVEN = list_response(
    ("ml", "train-0", "trainer", "nvidia.com/gpu", ("GPU-0",)),
    ("ml", "notebook-0", "main", "nvidia.com/gpu", ("GPU-1",)),
)

CLAIMED = claim_response(
    "ml", "train-0", "trainer", ("gpu.nvidia.com", "gpu-0", "k8s.gpu.nvidia.com/device=gpu-0")
) + claim_response(
    "ml", "notebook-0", "main", ("gpu.nvidia.com", "gpu-1", "k8s.gpu.nvidia.com/device=gpu-1")
)


def _program(folder: Path, short_path: Path, nvml: NvmlLibrary) -> Program:
    changes: dict[str, dict[str, Any]] = {
        "gpu": {"driver_markers": [os.devnull], "smi_paths": []},
        "metrics": {"collect_interval_secs": 0.2},
        "sources": {"host_root": str(short_path)},
        # the kernel of this machine may kill what another test has run out of memory
        "faults": {"off": ["oom_kill_without_log"]},
    }
    return Program(folder, changes, environment=nvml.environment)


def _fault(program: Program, rule: str) -> dict[str, Any] | None:
    """The active fault of a rule, when it is there."""
    rows = program.get("/faults").document["faults"]
    found = [row for row in rows if row["rule"] == rule and row["state"] == "active"]
    return found[0] if found else None


def _why(program: Program, hw_id: str) -> list[str]:
    """The rules that `/why` names for a component."""
    document = program.get(f"/why?hw_id={hw_id}&format=json").document
    return [row["fault"]["rule"] for row in document["causes"]]


@pytest.mark.parametrize(
    ("given", "has_process"), [(GIVEN, False), (CLAIMED, True)], ids=["device plugin", "DRA"]
)
def test_the_pod_of_a_lost_gpu_is_named(
    tmp_path: Path,
    short_path: Path,
    nvml: NvmlLibrary,
    sleeper: "subprocess.Popen[bytes]",
    *,
    has_process: bool,
    given: bytes,
) -> None:
    """By device plugin or DRA, without a process or with one, the pod that has it is named."""
    with serving(short_path / SOCKET, given), _program(tmp_path, short_path, nvml) as program:
        used = f"device.0.compute_processes = {sleeper.pid}:{2**30}"
        nvml.say(*CARDS, *([used] if has_process else []))
        program.page_with('pod="train-0"')
        sleeper.kill()
        nvml.say(*CARDS, LOST)
        lost = wait_for(lambda: _fault(program, "gpu_lost"), "the fault")
        workloads = [it["hw_id"] for it in lost["affected"] if it["hw_type"] == "workload"]
        assert TRAINER in workloads
        assert NEIGHBOUR not in workloads
        assert _why(program, TRAINER) == ["gpu_lost"]
        assert _why(program, NEIGHBOUR) == []
        for name in ("train-0", "ml/train-0"):
            assert _why(program, name) == ["gpu_lost"], name
        nvml.say(*CARDS)
        wait_for(lambda: _fault(program, "gpu_lost") is None, "the end")
        assert "gpu_lost" not in json.dumps(_why(program, TRAINER))
