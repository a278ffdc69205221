"""The command line as its user meets it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.identity import child_environment, read_version
from tests.commands.running import run, run_program
from tests.program import ROOT


def test_the_version_is_that_of_the_file(tmp_path: Path) -> None:
    """VERSION is the single source."""
    ended = run("--version", cwd=tmp_path)
    assert ended.stdout == f"hw-exporter {(ROOT / 'VERSION').read_text().strip()}\n"
    assert read_version() == (ROOT / "VERSION").read_text().strip()


def test_a_good_configuration_is_said_to_be_good(tmp_path: Path) -> None:
    """`--check-config` validates and ends without listening."""
    for arguments in (("--check-config",), ("run", "--check-config")):
        ended = run(*arguments, "--config", str(ROOT / "config/default.toml"), cwd=tmp_path)
        assert (ended.returncode, ended.stdout) == (0, "the configuration is valid\n")


@pytest.mark.parametrize(
    ("arguments", "environment", "sentence"),
    [
        (("--config", "/no/such.toml"), {}, "/no/such.toml: cannot be read"),
        (("run", "--port", "70000"), {}, "server.port"),
        ((), {"APP__SERVER__PORT": "http"}, "environment: server.port"),
        ((), {"APP__GPU__BAKEND": "nvml"}, "did you mean backend?"),
        ((), {"APP__SOURCES__DISABLED": "gpuu"}, "there is no source 'gpuu'"),
        ((), {"LOG_LEVEL": "loud"}, "LOG_LEVEL"),
        (("--port", "x"), {}, "invalid int value"),
        (("fly",), {}, "invalid choice"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], sentence: str
) -> None:
    """Nothing listens, nothing is traced back."""
    ended = run(*arguments, cwd=tmp_path, environment=environment)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("text", ["[server", "[server]\nprot = 1", "[server]\nport = 'x'"])
def test_the_local_files_are_checked_too(tmp_path: Path, text: str) -> None:
    """A mistake in `config/local.toml` names that file."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/local.toml").write_text(text)
    ended = run(cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith("hw-exporter: config/local.toml: ")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file to another user")
@pytest.mark.parametrize(
    ("environment", "arguments", "code"),
    [
        ({}, (), 2),
        ({"SUDO_UID": "4712"}, (), 2),
        ({"SUDO_UID": "4711"}, (), 0),
        ({}, ("--config", "config/local.toml"), 0),
    ],
)
def test_a_local_file_of_somebody_else_is_not_obeyed(
    tmp_path: Path, environment: dict[str, str], arguments: tuple[str, ...], code: int
) -> None:
    """A command of root in a user's folder sends no secret where that user's file says."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/local.toml").write_text("[server]\nport = 9\n")
    os.chown(tmp_path / "config/local.toml", 4711, 4711)
    ended = run("config", "show", *arguments, cwd=tmp_path, environment=environment)
    assert ended.returncode == code
    assert ("belongs to user 4711, not to root or you" in ended.stderr) == (code != 0)


@pytest.mark.system
def test_an_address_that_is_not_ours_is_one_sentence(tmp_path: Path) -> None:
    """A host that does not exist is named."""
    ended = run_program("--host", "no-such-host.invalid", "--port", "0", cwd=tmp_path)
    assert ended.returncode == 1
    assert "cannot listen on no-such-host.invalid" in ended.stderr


def test_children_get_what_they_need_and_no_secret() -> None:
    """The loader path and the driver's variables pass, everything else does not."""
    given = {
        "PATH": "/usr/bin",
        "LD_LIBRARY_PATH": "/opt/nvidia",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "CUDA_VISIBLE_DEVICES": "0",
        "HOME": "/root",
        "AWS_SECRET_ACCESS_KEY": "hush",
        "LC_ALL": "de_DE.UTF-8",
        "PYTHONSTARTUP": "/tmp/evil.py",
    }
    kept = child_environment(given)
    assert "AWS_SECRET_ACCESS_KEY" not in kept
    assert "PYTHONSTARTUP" not in kept
    assert kept["LC_ALL"] == "C"
    assert kept["LD_LIBRARY_PATH"] == "/opt/nvidia"
    assert kept["NVIDIA_VISIBLE_DEVICES"] == "all"


def modules_loaded(settings: str) -> set[str]:
    """Return the modules of a program with these settings, as JSON."""
    code = (
        "import exporter.cli, exporter.running, json, sys;"
        "from exporter.config.file import Layer, load; from exporter.collectors import chosen;"
        "collectors = chosen(load([Layer('test', json.loads(sys.argv[1]))]));"
        "collectors.rule_book(), collectors.names, collectors.subjects.vocabulary;"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, settings]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(ended.stdout.split())


@pytest.mark.system
def test_a_collector_that_is_off_is_not_loaded() -> None:
    """Services off and IMEX on: the one is gone, the other brings in little but itself."""
    default = modules_loaded("{}")
    off = modules_loaded('{"metrics": {"enabled": {"services": false}}}')
    assert default - off == {
        f"exporter.collectors.services{part}" for part in ("", ".collector", ".values")
    }
    with_imex = modules_loaded('{"sources": {"enabled": ["imex"]}}')
    assert {name for name in with_imex - default if "collectors.imex" not in name} <= {
        "exporter.probes.trusted_program",
        "exporter.probes.child",
    }


@pytest.mark.system
def test_running_loads_nothing_that_only_others_need() -> None:
    """Modules of other commands, of what is off by default and of mistakes cost no memory."""
    spare = {"aiohttp.web", "prometheus_client", "pynvml", "cpuinfo", "difflib", "statistics"}
    spare |= {
        "exporter.kubernetes.api",
        "exporter.otlp",
        "exporter.outgoing",
        "exporter.commands.demo",
        "exporter.faults.explain",
        "exporter.reports.status",
        "exporter.web.fault_routes",
        "logging.handlers",
        "pickle",
        "psutil",
        "exporter.commands.rules",
    }
    optional = (
        "workloads.slurm",
        "demo",
        "detectors",
        "ebpf",
        "expect",
        "external_probes",
        "gpu.smi",
        "imex",
        "services.systemd",
        "sharing.schedulers",
    )
    spare |= {f"exporter.collectors.{name}" for name in optional}
    assert not spare & modules_loaded("{}")
