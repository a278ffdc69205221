"""The image is built and run, as nobody and with a read-only root."""

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import tomli

from tests.fakes.container import Container, running
from tests.fakes.image import Image, bytes_over_base
from tests.fakes.pods import Pod
from tests.fakes.prometheus import free_port
from tests.program import ROOT

PIN = re.compile(
    r"^(\S+)==(\S+)(?: ; \S.*?)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE
)
MAX_BYTES_OVER_BASE = 150 * 1024 * 1024


def _healthcheck(image: Image, pid: int, port: int) -> int:
    """The exit code of the image's health check inside the running container."""
    check = image.config["Healthcheck"]
    assert isinstance(check, dict)
    kind, *command = check["Test"]
    assert kind == "CMD"
    environment = {**image.environment(), "APP__SERVER__PORT": str(port)}
    enter = ["nsenter", f"--target={pid}", "--mount", "--root"]
    return subprocess.run([*enter, *command], env=environment, check=False).returncode


def test_it_runs_as_nobody_on_a_read_only_root(image: Image, tmp_path: Path) -> None:
    """The page answers, nothing is privileged, nothing is written, and SIGTERM ends it in 2 s."""
    port = free_port()
    uid, gid = str(image.config["User"]).split(":")
    container = Container(
        image.root,
        image.words("Entrypoint"),
        {**image.environment(), "APP__SERVER__PORT": str(port), "NODE_NAME": "in-a-box"},
        int(uid),
        int(gid),
        log=tmp_path / "log",
    )
    with running(container) as box:
        pod = Pod(box, port, tmp_path / "log")
        page = pod.page("hw_memory_total_bytes")
        ready = json.loads(pod.read("/ready"))
        status = box.status()
        healthy = _healthcheck(image, box.main_pid(), port)
        began = time.monotonic()
        code = box.terminate(5)
        took = time.monotonic() - began
    assert 'hw_memory_total_bytes{node="in-a-box"}' in page
    assert ready["status"] == "ready"
    assert healthy == 0
    assert status["Uid"].split() == ["65534"] * 4
    assert int(status["CapEff"], 16) == 0
    assert status["NSpid"].split()[-1] == "1"
    assert code == 0
    assert took <= 2
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.usefixtures("image")
def test_it_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    """What the image adds to its base is at most 150 MB."""
    added = bytes_over_base()
    with capsys.disabled():
        print(f" [image: {added / 1e6:.0f} MB over its base]")  # noqa: T201 - a figure to read
    assert 0 < added <= MAX_BYTES_OVER_BASE


def test_it_holds_no_tools_to_build_with(image: Image) -> None:
    """Neither pip nor a compiler nor a cache nor the sources are in the program's part."""
    program = image.root / "opt/hw-exporter"
    names = {path.name for path in program.rglob("*")}
    assert not names & {"pip", "setuptools", "gcc", "cc", "pip3"}
    assert not (image.root / "src").exists()
    assert not (image.root / "root/.cache").exists()


def test_its_settings_are_as_documented(image: Image) -> None:
    """User, stop signal, port, health check, labels and the NVIDIA switches are set."""
    config = image.config
    version = (ROOT / "VERSION").read_text().strip()
    labels = config["Labels"]
    assert isinstance(labels, dict)
    assert labels["org.opencontainers.image.version"] == version
    assert config["User"] == "65534:65534"
    assert config["StopSignal"] == "SIGTERM"
    assert config["ExposedPorts"] == {"8080/tcp": {}}
    assert image.environment()["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert image.environment()["NVIDIA_DRIVER_CAPABILITIES"] == "utility"
    assert "Healthcheck" in config


def test_every_locked_package_has_hashes_and_no_host() -> None:
    """The lock pins each package by hashes and says nothing about where it came from."""
    for name in ("requirements.lock", "build-requirements.lock"):
        text = (ROOT / "deploy" / name).read_text()
        assert "://" not in text
        assert "index" not in text
        pins = PIN.findall(text)
        assert len(pins) == len(re.findall(r"^[^#\s]", text, re.MULTILINE)) > 0


def test_the_lock_holds_what_the_project_asks_for() -> None:
    """Every dependency of the project is pinned; run `make lock` after changing one."""
    project = tomli.loads((ROOT / "pyproject.toml").read_text())
    table = project["project"]
    wanted = {
        "requirements.lock": [*table["dependencies"], *table["optional-dependencies"]["auth"]],
        "build-requirements.lock": project["build-system"]["requires"],
    }
    for name, items in wanted.items():
        pinned = {found[0] for found in PIN.findall((ROOT / "deploy" / name).read_text())}
        asked = {re.split(r"[<>=;\s]", item, maxsplit=1)[0].lower() for item in items}
        asked -= {"tomli"}  # Python 3.10 only; the image has a newer one
        assert asked <= pinned


def test_shell_scripts_are_clean() -> None:
    """Shellcheck has nothing to say about the entrypoint and the script of CI."""
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    subprocess.run(["shellcheck", ROOT / "entrypoint.sh", ROOT / ".ci/run"], check=True)
