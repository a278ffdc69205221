"""Chosen functions of Python and Torch, for real: an interpreter that also calls operators."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.ebpf.functions import LAYOUTS
from tests.fakes.fixtures import built
from tests.fakes.native import TORCH, build_torch
from tests.program import Program, wait_for

pytestmark = pytest.mark.skipif(
    sys.version_info.minor not in LAYOUTS, reason="the layout of this Python is not known"
)

SCRIPT = """
import ctypes, sys
torch = ctypes.CDLL(sys.argv[1])
mm = torch._ZN2at4_ops2mm4callERKNS_6TensorES4_
out = torch._ZN2at4_ops6mm_out4callERKNS_6TensorES4_RS2_
class HwTest:
    def step(self, number):
        mm(number)
        out(number)
        return self
    def other(self, number):
        return self
print("ready", flush=True)
sys.stdin.readline()
list(map(HwTest().step, range(300)))
list(map(HwTest().other, range(300)))
print("done", flush=True)
sys.stdin.readline()
"""
FILES = re.compile(r"^hw_function_files\{.*\} (\d+)$", re.MULTILINE)
CALLS = re.compile(r'^hw_function_calls_total\{.*function="([^"]+)".*\} (\d+)$', re.MULTILINE)


def test_chosen_functions_are_counted_and_no_others(tmp_path: Path) -> None:
    """Each call, by its name; what was not chosen, or only begins alike, is not."""
    wanted = {"torch_operators": ["mm"], "python_functions": ["HwTest.step"], "layers": []}
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 1},
        "ebpf": {"enabled": True, **wanted},
    }
    command = [sys.executable, "-c", SCRIPT, str(built(build_torch) / TORCH)]
    with (
        Program(tmp_path, changes) as program,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job,
    ):
        assert job.stdin is not None
        assert job.stdout is not None
        try:
            job.stdout.readline()
            wait_for(lambda: _is_attached(program), "bpftrace to be attached", 60)
            job.stdin.write("go\n")
            job.stdin.flush()
            assert job.stdout.readline() == "done\n"

            def counted() -> dict[str, int] | None:
                found = {name: int(n) for name, n in CALLS.findall(program.get("/metrics").text)}
                return found if len(found) == 2 and min(found.values()) >= 300 else None

            found = wait_for(counted, "the calls to be counted", 90)
            assert found == {"mm": 300, "HwTest.step": 300}
        finally:
            job.kill()


def _is_attached(program: Program) -> bool:
    """Whether the library and this interpreter are attached to, beside what else runs here."""
    found = FILES.search(program.get("/metrics").text)
    return found is not None and int(found[1]) >= 2
