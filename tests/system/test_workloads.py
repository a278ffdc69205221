"""The real program, the real NVML probe on the fake library, and real processes."""

import os
import subprocess
from pathlib import Path
from typing import Any

from tests.collectors.node_tree import NodeTree
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
        wait_for(lambda: program.get("/processes").document["processes"] == [], "nobody")


def test_a_job_of_slurm_is_named(tmp_path: Path, nvml: NvmlLibrary) -> None:
    """From the files of its process to the series, and to the list of workloads."""
    tree = NodeTree(tmp_path / "node")
    (tree.proc / "stat").touch()
    tree.process(10, "0::/system.slice/slurmstepd.scope/job_9/step_0/user/task_0")
    said = ("SLURM_JOB_ACCOUNT=physics", "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3")
    (tree.proc / "10/environ").write_text("\0".join((*said, "TOKEN=hush-4711", "")))
    nvml.say(*CARD, f"compute_processes = 10:{3 * 2**30}")
    roots = {"proc_root": str(tree.proc), "host_root": str(tree.root)}
    settings = SETTINGS | {"sources": roots, "processes": {"slurm_jobs": True}}
    job = {"job": "9", "array_job": "7", "array_task": "3", "account": "physics", "user": "1000"}
    labels = ",".join(f'{name}="{value}"' for name, value in job.items())
    with Program(tmp_path, settings, environment=nvml.environment) as program:
        page = program.page_with(f'container="slurm/job_9",{labels}}} 1').text
        status = program.get("/status", Accept="*/*")
        (workload,) = status.document["workloads"]
        assert (workload["workload"], workload["job"]) == ("slurm/job_9", job)
        assert "hush-4711" not in page + status.text + program.log_file.read_text()


def _labels(page: str) -> str:
    """The labels of the only GPU as they stand on the page."""
    line = next(line for line in page.splitlines() if line.startswith("hw_gpu_processes{"))
    return line[line.index("{") + 1 : line.rindex("}")]
