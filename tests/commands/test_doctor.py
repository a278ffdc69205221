"""`hw-exporter doctor`: the exact fix for each thing that cannot be read, by the real program."""

import json
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exporter.reports.installation import CONTAINER_SIGNS
from tests.commands.running import run, run_program
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.program import Program, wait_for

CAPTURE = "h100x8.scenario"

pytestmark = pytest.mark.system
IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
NO_RIGHT_TO_THE_LOG = ("setpriv", "--bounding-set", "-syslog,-sys_admin")
AS_NOBODY = ("sh", "-c", 'cd / && exec setpriv --reuid 65534 --clear-groups "$@"', "sh")
COUNTING = {
    "APP__EBPF__ENABLED": "true",
    "APP__EBPF__KERNEL_EVENTS": "disk_latency",
    "APP__EBPF__PYTHON_FUNCTIONS": "train_step",
}
OWN_PIDS = ("unshare", "--pid", "--fork", "--mount-proc")
TRACEFS = "[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing"
OWN_PIDS_WITH_TRACEFS = (*OWN_PIDS, "sh", "-c", f'{{ {TRACEFS}; }} && exec "$@"', "sh")


def _fix_here(on_host: str, in_container: str) -> str:
    """Choose the fix that is right where these tests run."""
    return in_container if any(Path(sign).exists() for sign in CONTAINER_SIGNS) else on_host


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What doctor said: its exit code, and its checks by name."""

    code: int
    checks: dict[str, dict[str, str]]


def _diagnose(folder: Path, environment: Mapping[str, str], under: Sequence[str] = ()) -> Diagnosis:
    arguments = ("doctor", "--json")
    if under:
        ended = run_program(*arguments, cwd=folder, environment=environment, under=under)
    else:
        ended = run(*arguments, cwd=folder, environment=environment)
    rows = json.loads(ended.stdout)["checks"]
    return Diagnosis(ended.returncode, {row["name"]: row for row in rows})


@pytest.fixture
def driver(tmp_path: Path) -> dict[str, str]:
    """A driver is loaded; there is neither library nor program for it."""
    (tmp_path / "driver").touch()
    return {
        "APP__GPU__DRIVER_MARKERS": str(tmp_path / "driver"),
        "APP__GPU__SMI_PATHS": "/nowhere/nvidia-smi",
        "PATH": "/nowhere",
    }


def _with(driver: Mapping[str, str], nvml: NvmlLibrary) -> dict[str, str]:
    return {**driver, **nvml.environment}


@pytest.mark.parametrize(
    ("environment", "name", "fix"),
    [
        ({}, "GPU driver", "modprobe nvidia"),
        (IN_A_POD, "GPU driver", "/host/proc/driver"),
        ({"APP__GPU__BACKEND": "off"}, "GPU driver", 'gpu.backend = "auto"'),
        (IN_A_POD, "Mounts", "-v /proc:/host/proc:ro -v /sys:/host/sys:ro -v /:/host:ro"),
    ],
)
def test_what_may_be_missed_is_a_note(
    tmp_path: Path, environment: dict[str, str], name: str, fix: str
) -> None:
    """On a node without a GPU on its bus no driver is no problem, nor are mounts in a pod."""
    said = _diagnose(tmp_path, environment)
    assert said.checks[name]["state"] == "note"
    assert fix in said.checks[name]["fix"]


@pytest.mark.skipif(Path("/proc/driver/nvidia").exists(), reason="a real driver is here")
def test_the_library_is_not_there(tmp_path: Path, driver: dict[str, str]) -> None:
    """In a container it has to be injected, on the host to be installed."""
    on_host = _diagnose(tmp_path, driver)
    assert on_host.code == 2
    assert on_host.checks["GPU library"]["found"].startswith("no_library")
    assert (
        _fix_here("install the library", "NVIDIA runtime") in on_host.checks["GPU library"]["fix"]
    )
    in_pod = _diagnose(tmp_path, {**driver, **IN_A_POD})
    assert "NVIDIA runtime" in in_pod.checks["GPU library"]["fix"]
    assert "NVIDIA_DRIVER_CAPABILITIES=utility" in in_pod.checks["GPU library"]["fix"]


@pytest.mark.parametrize(
    "error",
    [
        (18, "version_mismatch", "rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia"),
        (4, "no_permission", _fix_here("chmod 0666 /dev/nvidiactl", "NVIDIA runtime")),
        (9, "driver_not_loaded", "modprobe nvidia"),
    ],
)
def test_the_library_refuses(
    tmp_path: Path, driver: dict[str, str], nvml: NvmlLibrary, error: tuple[int, str, str]
) -> None:
    """Each of its errors has its own fix."""
    number, reason, fix = error
    nvml.say(f"init = error {number}", capture=CAPTURE)
    said = _diagnose(tmp_path, _with(driver, nvml))
    assert said.code == 2
    assert said.checks["GPU library"]["found"].startswith(reason)
    assert fix in said.checks["GPU library"]["fix"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes namespaces everywhere")
def test_no_host_pids(tmp_path: Path, driver: dict[str, str], nvml: NvmlLibrary) -> None:
    """In a pid namespace of our own the driver's pids mean nothing."""
    nvml.say(capture=CAPTURE)
    said = _diagnose(tmp_path, {**_with(driver, nvml), **IN_A_POD}, under=OWN_PIDS)
    assert said.checks["Processes on GPUs"]["found"].startswith("no_host_pids")
    assert "hostPID: true" in said.checks["Processes on GPUs"]["fix"]


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root gives up rights"
)
@pytest.mark.skipif(
    Path("/proc/sys/kernel/dmesg_restrict").read_text() != "1\n",
    reason="everybody may read the log",
)
def test_the_kernel_log_is_closed(tmp_path: Path) -> None:
    """Without CAP_SYSLOG the fix names it, for a unit and for a pod."""
    log = {"APP__KERNEL_LOG__ENABLED": "true"}
    on_host = _diagnose(tmp_path, log, under=NO_RIGHT_TO_THE_LOG)
    assert on_host.code == 2
    assert on_host.checks["Kernel log"]["found"].startswith("no_permission")
    fix = _fix_here("AmbientCapabilities=CAP_SYSLOG", "[SYSLOG]")
    assert fix in on_host.checks["Kernel log"]["fix"]
    in_pod = _diagnose(tmp_path, {**log, **IN_A_POD}, under=NO_RIGHT_TO_THE_LOG)
    assert "capabilities.add: [SYSLOG]" in in_pod.checks["Kernel log"]["fix"]


def _hiding(*commands: str) -> tuple[str, ...]:
    """In a mount namespace where these commands have hidden something."""
    return ("unshare", "-m", "sh", "-c", " && ".join([*commands, 'exec "$@"']), "sh")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can count calls, or give up rights")
@pytest.mark.skipif(not Path("/usr/bin/bpftrace").exists(), reason="bpftrace is not installed")
@pytest.mark.parametrize(
    ("under", "found", "fix"),
    [
        (_hiding("mount --bind /dev/null /usr/bin/bpftrace"), "is not installed", "bpftrace"),
        (AS_NOBODY, "bpftrace needs root", "SYS_ADMIN"),
        (
            ("setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin"),
            "bpftrace needs CAP_PERFMON and CAP_BPF",
            "SYS_ADMIN",
        ),
        (
            _hiding("mount -t tmpfs none /sys/bus/event_source/devices"),
            "this kernel has no uprobes",
            "CONFIG_UPROBE_EVENTS",
        ),
        (_hiding("mount -t tmpfs none /sys/kernel/tracing"), "tracefs is not mounted", "tracing"),
        (OWN_PIDS_WITH_TRACEFS, "the processes of the node are not seen", "pid"),
    ],
)
def test_calls_cannot_be_counted(
    tmp_path: Path, under: Sequence[str], found: str, fix: str
) -> None:
    """Without bpftrace, a right or a part of the kernel, the reason is named with its fix."""
    said = _diagnose(tmp_path, COUNTING, under=under)
    assert said.code == 2
    of_the_kernel = (
        () if under == OWN_PIDS_WITH_TRACEFS else ("Counted events",)
    )  # they need no pids
    for counted in ("Counted calls", "Counted functions", *of_the_kernel):
        assert found in said.checks[counted]["found"]
        assert fix in said.checks[counted]["fix"]


NO_BPF = """
import ctypes, os, platform, struct, sys
number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
rows = (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)
rules = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(rules)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Runs a program that may not call bpf(): PR_SET_NO_NEW_PRIVS, then a filter of PR_SET_SECCOMP."""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can count calls")
@pytest.mark.skipif(not Path("/usr/bin/bpftrace").exists(), reason="bpftrace is not installed")
@pytest.mark.skipif(
    f'"{platform.machine()}"' not in NO_BPF, reason="the number of bpf() is not known"
)
def test_bpf_is_forbidden(tmp_path: Path) -> None:
    """With all capabilities and a seccomp profile without bpf(), also before any call is made."""
    under = (sys.executable, "-c", NO_BPF)
    counted = ("Counted calls", "Counted events", "Counted functions")

    def refused() -> Diagnosis | None:
        said = _diagnose(tmp_path, COUNTING, under=under)
        words = [said.checks[name]["found"] for name in counted]
        return said if all("not permitted" in each for each in words) else None

    said = wait_for(refused, "bpftrace to be tried on a busy machine")
    assert said.code == 2
    for name in counted:
        assert "perf_event_open" in said.checks[name]["fix"]


def test_kubelet_files_are_absent(
    tmp_path: Path, driver: dict[str, str], nvml: NvmlLibrary
) -> None:
    """In a pod their folder has to be mounted; elsewhere there may be no kubelet."""
    nvml.say(capture=CAPTURE)
    (tmp_path / "root").mkdir()
    environment = {**_with(driver, nvml), "APP__SOURCES__HOST_ROOT": str(tmp_path / "root")}
    assert _diagnose(tmp_path, environment).checks["Kubelet files"]["state"] == "note"
    in_pod = _diagnose(tmp_path, {**environment, **IN_A_POD})
    assert in_pod.checks["Kubelet files"]["state"] == "problem"
    assert "/host/var/lib/kubelet/device-plugins" in in_pod.checks["Kubelet files"]["fix"]


def test_the_backend_was_chosen(
    tmp_path: Path, driver: dict[str, str], nvidia_smi: NvidiaSmi
) -> None:
    """What was chosen on purpose is a note that says how to choose otherwise."""
    nvidia_smi.say(capture=CAPTURE)
    chosen = {**driver, "APP__GPU__BACKEND": "nvidia-smi"}
    chosen |= {"APP__GPU__SMI_PATHS": str(nvidia_smi.path), "PATH": os.environ["PATH"]}
    said = _diagnose(tmp_path, chosen).checks["GPU library"]
    assert said["state"] == "note"
    assert "as chosen" in said["found"]


def test_mistakes_in_rules_and_state_are_said_once(tmp_path: Path) -> None:
    """A running exporter lists what `config check` finds here, one sentence each, and once."""
    (rules := tmp_path / "rules").mkdir()
    (rules / "site.toml").write_text('[[rule]]\nid = "mine"\nentity = "gpu"\n')
    (rules / "typo.toml").write_text("not [ toml")
    (state := tmp_path / "state").mkdir()
    (state / "faults.json").write_text("{")
    changes: dict[str, dict[str, Any]] = {
        "faults": {"rules_dirs": [str(rules)]},
        "state": {"dir": str(state)},
    }
    variables = {"APP__FAULTS__RULES_DIRS": str(rules), "APP__STATE__DIR": str(state)}
    with Program(tmp_path / "run", changes) as program:
        wait_for(lambda: "faults.json.bad" in program.get("/doctor").text or None, "the check")
        here = {**variables, "APP__SERVER__PORT": f"{program.port}"}
        ended = run("doctor", environment=here)
        checked = run("config", "check", environment=here)
    mistakes = [line.removeprefix("hw-exporter: ") for line in checked.stderr.splitlines()]
    assert len(mistakes) == 5
    for mistake in mistakes:
        assert (ended.stdout + ended.stderr).count(mistake) == 1, mistake
    assert ended.stdout.rstrip().endswith(": 5 problems")
    assert (ended.returncode, ended.stderr) == (2, "")
