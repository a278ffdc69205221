"""What is said of a fault is one text: page, `/why`, alert, node condition and terminal."""

import html
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.workloads.kubelet import SOCKET
from tests.collectors.workloads.kubelet import list_response, serving
from tests.commands.running import run
from tests.fakes import host_proc
from tests.fakes.host_tree import gpu_node
from tests.fakes.kmsg import KernelLog
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.gpu_node import CAPTURE, GpuNode
from tests.program import PATIENCE_SECS, Program

JOB_PID = 41000
JOB = "/system.slice/slurmstepd.scope/job_1009/step_0/user/task_0"
GIVEN = list_response(
    ("ml", "train-0", "trainer", "nvidia.com/gpu", ("GPU-0", "GPU-1")),
    ("ml", "notebook-0", "main", "nvidia.com/gpu", ("GPU-3",)),
)
CARDS = ("uuid = GPU-{device}", f"device.2.compute_processes = {JOB_PID}:{2**30}")
FELL_OFF = "NVRM: Xid (PCI:0000:3a:00): 79, pid=41000, name=python, GPU has fallen off the bus."
STAGED: dict[str, tuple[tuple[str, ...], str, set[str]]] = {
    "a GPU of a pod is lost": (("device.0.any = error 15",), "", {"GPU 0", "pod ml/train-0"}),
    "a GPU of a job falls off the bus": (
        ("device.2.any = error 15",),
        FELL_OFF,
        {"GPU 2", "slurm/job_1009"},
    ),
    "a link is down": (("device.3.nvlink.3.state = 0",), "", {"GPU 3", "pod ml/notebook-0"}),
    "all GPUs have the same": (
        ("remapped_rows.failed = 1",),
        "",
        {"GPU 0–7", "pod ml/train-0", "ml/notebook-0", "slurm/job_1009"},
    ),
}
TEXT, HTML = "text/plain", "text/html"


@pytest.fixture
def node(
    short_path: Path, kernel_log: KernelLog, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi
) -> GpuNode:
    """Eight GPUs: three are given to pods, a batch job runs on another."""
    tree = gpu_node(short_path / "n")
    tree.remove("/proc/mdstat")  # it tells of an array that has lost a disk
    tree.write(host_proc.process(JOB_PID, "python", JOB))
    node = GpuNode(short_path, nvml, nvidia_smi)
    node.sections = {
        "sources": tree.roots,
        "kernel_log": {"enabled": True, "path": str(kernel_log.path)},
        "node_conditions": {"enabled": True, "interval_secs": 1},
    }
    nvml.say(*CARDS, capture=CAPTURE)
    (tree.host / SOCKET).parent.mkdir(parents=True)
    return node


@pytest.mark.parametrize("staged", STAGED)
def test_every_place_says_the_same_of_a_fault(
    staged: str, node: GpuNode, kernel_log: KernelLog
) -> None:
    """What is broken, whose it is and what to do are the same sentences wherever one looks."""
    lines, kernel_line, named = STAGED[staged]
    socket = node.folder / "n/root" / SOCKET
    with serving(socket, GIVEN), node.start(interval_secs=1.0) as program:
        program.page_with('container="slurm/job_1009"')
        program.page_with('pod="notebook-0"')
        if kernel_line:
            kernel_log.say(kernel_line)
        node.nvml.say(*CARDS, *lines, capture=CAPTURE)
        until = time.monotonic() + PATIENCE_SECS
        while (silent := _silent(program, named)) and time.monotonic() < until:
            time.sleep(0.5)
        assert silent == []


def _incident(program: Program) -> dict[str, Any] | None:
    """The incident as `/faults` tells it: one cause, one incident."""
    found: list[dict[str, Any]] = program.get("/faults").document["incidents"]
    broken = [each for each in found if each["severity"] == "critical"]
    assert len(broken) <= 1, [each["summary"] for each in broken]
    return broken[0] if broken else None


def _silent(program: Program, named: set[str]) -> list[str]:
    """The places where something of the incident is not said, or not in the same words."""
    incident = _incident(program)
    if incident is None or not all(name in incident["affects"] for name in named):
        return [f"/faults: {incident}"]
    sentences = [incident[name] for name in ("summary", "affects", "action_text")]
    silent = [
        f"{place}: {sentence}"
        for place, says in _places(program).items()
        for sentence in map(_plain, sentences)
        if sentence not in _plain(says)
    ]
    exact = {
        "alert": f'summary="{_quoted(incident["summary"])}",'
        f'details="{_quoted(incident["details"])}"',
        "condition": json.dumps(f"{incident['summary']}. {incident['details']}): dry run")[1:],
    }
    pages = {"alert": program.get("/metrics").text, "condition": program.log_file.read_text()}
    return silent + [place for place, text in exact.items() if text not in pages[place]]


def _places(program: Program) -> dict[str, str]:
    """What each place says that a person reads, by its name."""
    said = {
        f"{path} as {kind}": program.get(path, Accept=kind).text
        for path in ("/", "/faults", "/why", "/status")
        for kind in (HTML, TEXT)
        if (path, kind) != ("/status", HTML)
    }
    host = f"localhost:{program.port}"
    for command in ("faults", "status", "why"):
        said[command] = run(command, "--url", host).stdout
    return said


def _plain(text: str) -> str:
    """The words alone: no tags, no marks of code, no ends of lines."""
    without_tags = html.unescape(re.sub(r"<[^>]*>", "", text))
    return " ".join(without_tags.replace("`", "").split())


def _quoted(text: str) -> str:
    """The text as a label has it."""
    return text.replace("\\", r"\\").replace('"', r"\"")
