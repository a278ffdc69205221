"""Five scenes at once in real time: the program as it is installed, and what an operator reads."""

import re
from pathlib import Path

import pytest

from tests.fakes.kmsg import KernelLog
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.gpu_node import CAPTURE, GpuNode
from tests.program import Program, wait_for
from tests.scenes.scene import INTERVAL_SECS, Change, Scene, scenes
from tests.scenes.stage import healthy_node

pytestmark = pytest.mark.slow

ROOTS = ("nvlink_down", "nvme_controller_failed", "pcie_link_down", "net_link_down")
"""Rules by a seam each: the library, a file of a disk, a line of the kernel, an interface."""
EXPLAINED = "filesystem_readonly"
"""The filesystem is on that disk."""
PLAYED: dict[str, Scene] = {it.rule: it for it in scenes() if it.id in {*ROOTS, EXPLAINED}}
LONGEST_SECS = 8 * INTERVAL_SECS


class LiveNode(GpuNode):
    """A node whose files, GPUs and kernel log change as scenes say."""

    def __init__(self, folder: Path, nvml: NvmlLibrary, smi: NvidiaSmi, log: KernelLog) -> None:
        super().__init__(folder, nvml, smi)
        self.log, self.tree = log, healthy_node(folder / "node", gpus=8)
        self.sections = {
            "sources": self.tree.roots,
            "kernel_log": {"enabled": True, "path": str(log.path)},
            "node_conditions": {"enabled": True, "dry_run": True},
        }

    def change(self, *changes: Change) -> dict[str, str]:
        """Let this happen; return the files as they were before."""
        files = {path: text for it in changes for path, text in it.files.items() if text}
        before = {path: self.tree.at(path).read_text() for path in files}
        self.tree.write(files)
        self.nvml.say(*(line for it in changes for line in it.nvml), capture=CAPTURE)
        for change in changes:
            for line in change.log:
                self.log.say(line)
        return before


@pytest.fixture
def node(
    short_path: Path, nvml: NvmlLibrary, nvidia_smi: NvidiaSmi, kernel_log: KernelLog
) -> LiveNode:
    """A node that is well."""
    return LiveNode(short_path, nvml, nvidia_smi, kernel_log)


def _active(program: Program) -> set[str]:
    return {
        it["rule"] for it in program.get("/faults").document["faults"] if it["state"] == "active"
    }


def _conditions(program: Program) -> dict[str, str]:
    """The last text that was logged of each condition of the node."""
    texts = (line["message"] for line in program.log_lines)
    found = (re.search(r": condition (\w+)=(\w+ \(.*\)): dry run$", text) for text in texts)
    return {it[1]: it[2] for it in found if it}


def test_scenes_live(node: LiveNode) -> None:
    """Each failure is one incident that the conditions tell too, and ends by its repair."""
    with node.start(INTERVAL_SECS) as program:
        program.page_with('backend="nvml",reason="ok"')
        program.page_with("hw_node_healthy{")
        assert _active(program) == set()
        before = node.change(*(it.ill for it in PLAYED.values()))
        wait_for(lambda: PLAYED.keys() <= _active(program), "all faults", LONGEST_SECS)
        assert _active(program) == PLAYED.keys()
        found = program.get("/faults").document["incidents"]
        assert sorted(it["rule"] for it in found) == sorted(ROOTS)
        wait_for(lambda: "nvme0n1" in _conditions(program)["HardwareHealthy"], "the condition")
        assert _conditions(program)["GPUHealthy"].startswith("False (NvlinkDown: NVLinks of GPU 0")
        node.change(Change(files=before), *(it.well for it in PLAYED.values()))
        wait_for(lambda: not _active(program), "the ends", LONGEST_SECS)
        wait_for(
            lambda: all(it.startswith("True") for it in _conditions(program).values()),
            "good conditions",
        )
