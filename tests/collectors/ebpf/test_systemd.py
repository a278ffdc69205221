"""What systemd gives the service beside its unit where eBPF is on."""

import shutil
import subprocess
from pathlib import Path

import pytest

from exporter.collectors.ebpf.trace_loop import CAPABILITIES
from tests.deploy.test_systemd import UNIT, settings
from tests.fakes.manifests import ROOT

pytestmark = pytest.mark.system

EBPF = ROOT / "deploy/systemd/ebpf.conf"


def test_ebpf_has_what_bpftrace_needs() -> None:
    """Root with what stands for all capabilities that are asked for, and its two system calls."""
    found = settings(EBPF)
    assert found["Environment"] == "APP__EBPF__ENABLED=true"
    assert (found["User"], found["DynamicUser"]) == ("root", "no")
    given = set(found["AmbientCapabilities"].split())
    assert given == set(found["CapabilityBoundingSet"].split())
    assert given == {"CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH", *CAPABILITIES} - {
        *("CAP_BPF", "CAP_PERFMON"),  # CAP_SYS_ADMIN stands for both
    }
    assert found["SystemCallFilter"].split() == ["bpf", "perf_event_open"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing")
def test_systemd_understands_ebpf(tmp_path: Path) -> None:
    """Beside the unit, as it is installed: no unknown key and no malformed value."""
    unit = tmp_path / UNIT.name
    shutil.copy(UNIT, unit)
    (tmp_path / f"{UNIT.name}.d").mkdir()
    shutil.copy(EBPF, tmp_path / f"{UNIT.name}.d")
    said = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    wrong = [line for line in said.stderr.splitlines() if str(tmp_path) in line]
    assert not [line for line in wrong if "is not executable" not in line]
