"""The real program, the real NVML probe on the fake library, and real processes."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.workloads.processes import pid_scope
from tests.fakes.nvml_library import NvmlLibrary
from tests.program import Program, wait_for

CARD = (
    "count = 1",
    "name = H100",
    "uuid = GPU-5a1c0d3e-7b42-4c19-9d10-000000000000",
    "memory_total = 80 GiB",
    "memory_used = 3 GiB",
)
SETTINGS: dict[str, dict[str, Any]] = {
    "gpu": {"driver_markers": [os.devnull]},
    "metrics": {"collect_interval_secs": 0.2},
    "processes": {"per_pid": True},
}


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of this machine that the driver will name."""
    if not pid_scope(Path("/proc")).is_certain:
        pytest.skip("this is not the host's process-id namespace")
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_a_process_is_named_while_it_lives(
    tmp_path: Path, nvml: NvmlLibrary, sleeper: "subprocess.Popen[bytes]"
) -> None:
    """From the driver's list to the workload's series, and gone when the process is."""
    listed = f"compute_processes = {sleeper.pid}:{3 * 2**30}"
    nvml.say(*CARD, listed)
    with Program(tmp_path, SETTINGS, environment=nvml.environment) as program:
        page = program.page_with("hw_gpu_process_memory_used_bytes{").text
        assert f'pid="{sleeper.pid}",process="sleep"}} {3 * 2**30}' in page
        assert 'reason="ok",used_count_by="processes"} 1' in page
        (process,) = program.get("/processes").document["processes"]
        assert (process["pid"], process["name"], process["gpus"]) == (sleeper.pid, "sleep", [0])
        assert (process["state"], process["user"], process["pod"]) == ("sleeping", None, "")
        sleeper.kill()
        sleeper.wait()
        # The driver still names it: the memory is held, and by nobody.
        orphan = f"hw_gpu_orphan_memory_used_bytes{{{_labels(page)}}} {3 * 2**30}"
        page = program.page_with(orphan).text
        assert "hw_gpu_workload_info{" not in page
        nvml.say(*CARD, "compute_processes =")
        program.page_with(f"hw_gpu_orphan_memory_used_bytes{{{_labels(page)}}} 0\n")
        wait_for(lambda: program.get("/processes").document["processes"] == [] or None, "nobody")


def _labels(page: str) -> str:
    """The labels of the only GPU as they stand on the page."""
    line = next(line for line in page.splitlines() if line.startswith("hw_gpu_processes{"))
    return line[line.index("{") + 1 : line.rindex("}")]
