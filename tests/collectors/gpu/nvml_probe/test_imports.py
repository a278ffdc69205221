"""What the probe loads: it runs on every node with GPUs, and is started anew after a crash."""

import subprocess
import sys

import pytest

from tests.collectors.gpu.nvml_probe.probe_process import ROOT

pytestmark = pytest.mark.system


def test_the_probe_loads_little() -> None:
    """No asyncio, with TLS and logging behind it: two thirds of the start, 9 MB of memory.

    No pathlib either, which brings urllib.parse and ipaddress: a tenth of the start, 0.6 MB.
    Nor typing, another 0.6 MB.
    """
    code = "import exporter.collectors.gpu.nvml_probe.serving, sys; print(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    unwanted = {"asyncio", "ssl", "logging", "pathlib", "typing", "exporter.reading.files"}
    assert unwanted.isdisjoint(ended.stdout.split())
