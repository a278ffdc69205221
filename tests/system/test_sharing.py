"""The real program, a client of CUDA MPS that the driver names, and a control daemon."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.mps import LIMITS, MpsDaemon, control_program
from tests.fakes.nvml_library import NvmlLibrary
from tests.program import Program

GPU = "GPU-5a1c0d3e-7b42-4c19-9d10-000000000000"
CARD = ("count = 1", "name = A100", f"uuid = {GPU}", "memory_total = 80 GiB")
ANSWERS = {command.replace("GPU-0", GPU): answer for command, answer in LIMITS.items()}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only a daemon of root's is believed")


@pytest.fixture
def client(nvml: NvmlLibrary, sleeper: "subprocess.Popen[bytes]") -> "subprocess.Popen[bytes]":
    """A process of this machine that the driver names as a client of MPS."""
    nvml.say(*CARD, f"mps_processes = {sleeper.pid}:{3 * 2**30}", "compute_processes =")
    return sleeper


def _start(folder: Path, nvml: NvmlLibrary, short_path: Path) -> Program:
    settings: dict[str, dict[str, Any]] = {
        "gpu": {
            "driver_markers": [os.devnull],
            "mps_control_paths": [str(control_program(short_path))],
        },
        "metrics": {"collect_interval_secs": 0.2},
        "sources": {"host_root": str(short_path)},
    }
    return Program(folder, settings, environment=nvml.environment)


async def test_a_client_of_mps_has_its_quota(
    tmp_path: Path, nvml: NvmlLibrary, short_path: Path, client: "subprocess.Popen[bytes]"
) -> None:
    """From the daemon's answers to series and documents, beside what the driver says is used."""
    async with MpsDaemon(short_path / "tmp/nvidia-mps", dict(ANSWERS)):
        with _start(tmp_path, nvml, short_path) as program:
            page = await asyncio.to_thread(program.page_with, "hw_gpu_workload_quota_memory_bytes{")
            assert 'kind="mps"} 1' in page.text
            document = (await asyncio.to_thread(program.get, "/processes")).document
            assert [(it["kind"], it["replicas"]) for it in document["shares"]] == [("mps", None)]
            (quota,) = document["quotas"]
            assert quota["quota_memory_bytes"] == 20350 * 2**20
            assert (quota["memory_used_bytes"], quota["quota_sm_percent"]) == (3 * 2**30, 25.0)
            browser = await asyncio.to_thread(program.get, "/", Accept="text/html")
            assert "shared by mps" in browser.text
    assert client.poll() is None
