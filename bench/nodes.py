"""The nodes that are measured: one without a GPU, and ones with fakes of a driver."""

import os
import shutil
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import tomli

from exporter.toml import COMPILED, compiled_from
from tests.fakes import host_proc
from tests.fakes.host_tree import HostTree, cpu_node, gpu_node
from tests.fakes.kmsg import kmsg_record
from tests.fakes.native import build_nvml, build_smi
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.program import ROOT, Program

CAPTURE = "h100x8.scenario"
CAPTURED_GPUS = 8
GPU_PROCESSES = 100
FIRST_PID = 41000
SERIES = 3000

AS_IN_THE_IMAGE = {
    "PYTHONOPTIMIZE": "2",
    "PYTHONNODEBUGRANGES": "1",
    "PYTHONDONTWRITEBYTECODE": "",  # the first start compiles, as the image is built
}
"""How the image runs the program (Dockerfile)."""

Changes = dict[str, dict[str, Any]]


@cache
def as_in_the_image() -> dict[str, str]:
    """Copy the package, and return the environment in which the image runs it.

    The copy has a compiled file beside each TOML file, and the version, as setup.py makes them.
    """
    package = ROOT / ".cache" / "bench" / "exporter"
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "exporter", package, ignore=leave, dirs_exist_ok=True)
    for path in package.rglob("*.toml"):
        raw = path.read_bytes()
        path.with_suffix(COMPILED).write_bytes(compiled_from(raw, tomli.loads(raw.decode())))
    shutil.copy(ROOT / "VERSION", package)
    paths = (str(package.parent), str(ROOT))
    return {**AS_IN_THE_IMAGE, "PYTHONPATH": os.pathsep.join(paths)}


class BareNode:
    """A node without a GPU, with so many processes besides."""

    def __init__(self, folder: Path, processes: int = 0) -> None:
        self.folder = folder
        self.tree = cpu_node(folder / "host", cpus=64)
        add_processes(self.tree, processes)

    def start(self, interval_secs: float = 15.0, sources: Changes | None = None) -> Program:
        """Return the program on this node; `sources` adds to what it reads."""
        settings = _settings(self.tree, interval_secs, {})
        for name, more in (sources or {}).items():
            settings[name].update(more)
        return Program(self.folder, settings, environment=as_in_the_image())


class GpuNode:
    """A node with `gpus` cards and a hundred processes on them."""

    def __init__(self, folder: Path, gpus: int = CAPTURED_GPUS, processes: int = 0) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.gpus = gpus
        self.tree = gpu_node(folder / "host")
        add_processes(self.tree, max(processes, GPU_PROCESSES))
        self.nvml = NvmlLibrary(build_nvml(), folder)
        self.smi = NvidiaSmi(build_smi(), folder)
        self._marker = folder / "driver"
        self._marker.touch()
        self.has_smi = True
        self.nvml.say(*self._cards(), capture=CAPTURE)
        self.smi.say(*self._cards(), capture=CAPTURE)

    def start(self, interval_secs: float = 15.0, series: int = 0) -> Program:
        """Return the program on this node; with `series`, its page is padded by so many."""
        gpu = {
            "driver_markers": [str(self._marker)],
            "smi_paths": [str(self.smi.path)] if self.has_smi else [],
            "timeout_secs": 1.0,
        }
        environment = {**as_in_the_image(), **self.nvml.environment, "BENCH_SERIES": str(series)}
        environment["FAKE_NVML_LOG"] = os.devnull
        module = "bench.padded" if series else "exporter"
        return Program(
            self.folder,
            _settings(self.tree, interval_secs, {"gpu": gpu}),
            environment=environment,
            command=(sys.executable, "-m", module, "run"),
        )

    def wedge(self) -> None:
        """From now on neither NVML nor nvidia-smi answers."""
        self.nvml.say("any = hang", *self._cards(), capture=CAPTURE)
        self.smi.say("smi = hang", *self._cards(), capture=CAPTURE)

    def say(self, nvml: str = "", smi: str = "") -> None:
        """Add a line to what the library says, and one to what nvidia-smi says."""
        self.nvml.say(*self._cards(), nvml, capture=CAPTURE)
        self.smi.say(*self._cards(), smi, capture=CAPTURE)

    def say_in_kernel_log(self, number: int, text: str) -> None:
        """Write one record of the kernel, which says it is critical."""
        record = kmsg_record(text, sequence=number, stamp=time.monotonic(), prefix=2)
        with (self.tree.folder / "kmsg").open("wb", buffering=0) as log:
            log.write(record)

    def _cards(self) -> list[str]:
        lines = [f"count = {self.gpus}"]
        more = range(CAPTURED_GPUS, self.gpus)
        lines += [f"device.{card}.bus_id = 00000000:{0x20 + card:02X}:00.0" for card in more]
        pids = [FIRST_PID + number for number in range(GPU_PROCESSES)]
        for card in range(self.gpus):
            mine = " ".join(f"{pid}:{512 * 2**20}" for pid in pids[card :: self.gpus])
            lines.append(f"device.{card}.compute_processes = {mine}")
        return lines


def add_processes(tree: HostTree, count: int) -> None:
    """Write so many processes of containers into the tree, beside the kernel's threads."""
    tree.write({"/proc/2/stat": host_proc.process_stat(2, "kthreadd")})
    for number in range(count):
        cgroup = f"/kubepods.slice/kubepods-pod{number % 50:08d}.slice/cri-containerd-{number:064x}"
        tree.write(host_proc.process(FIRST_PID + number, "python", cgroup))


def _settings(tree: HostTree, interval_secs: float, more: Changes) -> Changes:
    return {
        "metrics": {"collect_interval_secs": interval_secs},
        "sources": {**tree.roots, "cpu_model_probe": True},
        "kernel_log": {"enabled": True, "path": str(_kernel_log(tree))},
        **more,
    }


def _kernel_log(tree: HostTree) -> Path:
    """Return a kernel log into which nobody writes: that of the machine would be measured along."""
    path = tree.folder / "kmsg"
    if not path.exists():
        os.mkfifo(path)
    return path
