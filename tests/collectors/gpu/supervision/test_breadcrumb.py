"""The name of a call outlives the process that made it."""

import os
import subprocess
import sys

import pytest

from exporter.collectors.gpu.supervision.breadcrumb import SIZE, Breadcrumb, crumb_writer
from tests.collectors.gpu.nvml_probe.probe_process import ROOT

pytestmark = pytest.mark.system

DIES = """
import os, sys
from exporter.collectors.gpu.supervision.breadcrumb import crumb_writer
crumb_writer(int(sys.argv[1]))("nvmlDeviceGetName")
os.abort()
"""


def test_the_last_call_of_a_dead_process() -> None:
    """What it wrote last is there after its end."""
    crumb = Breadcrumb("test")
    number = crumb.descriptor
    subprocess.run(
        [sys.executable, "-c", DIES, str(number)],
        pass_fds=(number,),
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        check=False,
    )
    assert crumb.read() == "nvmlDeviceGetName"
    crumb.clear()
    assert crumb.read() == ""


def test_a_name_of_any_length() -> None:
    """A shorter name leaves nothing of a longer one, and a very long one is cut."""
    crumb = Breadcrumb("test")
    leave = crumb_writer(crumb.descriptor)
    leave("x" * 1000)
    assert crumb.read() == "x" * SIZE
    leave("nvmlInit")
    assert crumb.read() == "nvmlInit"
    leave("")
    assert crumb.read() == ""


def test_nothing_stays_open() -> None:
    """The memory goes with the breadcrumb, which nobody closes."""
    crumb = Breadcrumb("test")
    number = crumb.descriptor
    del crumb
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)
