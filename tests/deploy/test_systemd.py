"""The systemd unit."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from exporter.exit_codes import EXIT_CONFIG
from tests.fakes.manifests import ROOT

UNIT = ROOT / "deploy/systemd/hw-exporter.service"


def settings(file: Path = UNIT) -> "configparser.SectionProxy":
    """What the file says of the service."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # systemd's names have capitals
    parser.read_string(file.read_text())
    return parser["Service"]


def test_it_runs_as_nobody_with_one_capability() -> None:
    """A user of its own, the kernel log, and nothing that hides GPUs or processes."""
    found = settings()
    assert found["DynamicUser"] == "yes"
    assert found["AmbientCapabilities"] == found["CapabilityBoundingSet"] == "CAP_SYSLOG"
    assert found["NoNewPrivileges"] == "yes"
    hiding = {"PrivateDevices", "ProtectKernelLogs", "PrivateUsers", "ProtectClock", "ProtectProc"}
    assert not hiding & set(found)
    assert found["ProtectHome"] == "read-only"


def test_the_clock_can_be_asked() -> None:
    """Whether the clock is in step is a system call that the usual set leaves out."""
    assert re.search(
        r"^SystemCallFilter=@system-service .*adjtimex", UNIT.read_text(), re.MULTILINE
    )


def test_a_mistake_in_the_configuration_is_not_tried_again() -> None:
    """Exit code 2 ends the service: it would be the same five seconds later."""
    assert settings()["RestartPreventExitStatus"] == str(EXIT_CONFIG)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing")
def test_systemd_understands_it() -> None:
    """No unknown key, no malformed value, and an exposure that systemd itself calls OK."""
    analyze = ("systemd-analyze",)
    said = subprocess.run([*analyze, "verify", UNIT], capture_output=True, text=True, check=False)
    wrong = [line for line in said.stderr.splitlines() if "hw-exporter.service:" in line]
    assert not [line for line in wrong if "is not executable" not in line]
    rated = subprocess.run(
        [*analyze, "security", "--offline=true", UNIT], capture_output=True, text=True, check=False
    )
    if rated.returncode != 0:
        pytest.skip("this systemd-analyze cannot rate files")
    (level,) = re.findall(r"Overall exposure level for [^:]+: ([\d.]+)", rated.stdout)
    assert float(level) <= 3
