"""What tests of the whole program begin with: a node with GPUs, and a process on one of them."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.collectors.workloads.processes import pid_scope
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.gpu_node import GpuNode


@pytest.fixture
def node(tmp_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi) -> GpuNode:
    """A node with eight well cards, whose NVLinks are all active."""
    return GpuNode(tmp_path, nvml, nvidia_smi)


@pytest.fixture
def new_node(
    tmp_path: Path, nvml_library_dir: Path, nvidia_smi_dir: Path
) -> Callable[[str], GpuNode]:
    """Makes such nodes, each in a folder of this name."""

    def make(name: str) -> GpuNode:
        folder = tmp_path / name
        folder.mkdir()
        nvml, smi = NvmlLibrary(nvml_library_dir, folder), NvidiaSmi(nvidia_smi_dir, folder)
        return GpuNode(folder, nvml, smi)

    return make


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of this machine that a driver may name; skipped where pids are not the host's."""
    if not pid_scope(Path("/proc")).is_certain:
        pytest.skip("this is not the host's process-id namespace")
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()
