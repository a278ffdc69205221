"""The NVML probe as a process of its own, over the fake library."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exporter.probes.child import Command
from tests.fakes.nvml_library import NvmlLibrary

ROOT = Path(__file__).resolve().parents[4]


def probe_environment(nvml: NvmlLibrary) -> dict[str, str]:
    """What the probe needs to find our package and the fake library."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        **nvml.environment,
    }


def probe_command(nvml: NvmlLibrary) -> Command:
    """How the program starts the probe, over the fake library."""
    argv = (sys.executable, "-S", "-m", "exporter.collectors.gpu.nvml_probe")
    return Command(argv, probe_environment(nvml), with_input=True)


class ProbeProcess:
    """A running probe that is asked one request at a time."""

    def __init__(self, nvml: NvmlLibrary, *arguments: str) -> None:
        self.process = subprocess.Popen(
            (*probe_command(nvml).argv, *arguments),
            env=probe_environment(nvml),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to one request."""
        self.send({"id": 1, "op": "read", **request})
        return self.next_line()

    def send(self, request: dict[str, Any]) -> None:
        """Write one request line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def next_line(self) -> dict[str, Any]:
        """The next line the probe prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.end()
        message: dict[str, Any] = json.loads(line)
        return message

    def end(self) -> str:
        """Close the input, wait for the end, and give what it wrote to standard error."""
        _, errors = self.process.communicate(timeout=20)
        return str(errors, "utf-8", "replace")


def read_gpus(nvml: NvmlLibrary, passes: int = 1) -> Sequence[dict[str, Any]]:
    """The GPUs of the last of some passes of a new probe."""
    probe = ProbeProcess(nvml)
    answers = [probe.ask() for _ in range(passes)]
    probe.end()
    gpus: list[dict[str, Any]] = answers[-1]["gpus"]
    return gpus
