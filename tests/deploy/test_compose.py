"""The compose stack: its files as the real programs read them, and an incident all the way."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.prometheus import alertmanager, needs, prometheus_of
from tests.program import ROOT, Program, wait_for

FOLDER = ROOT / "deploy/compose"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "compose.yml").read_text())[
    "services"
]
PROVISIONING = "/etc/grafana/provisioning"
DEFAULT = re.compile(r"\$\{\w+:-(.*?)\}")  # a variable of compose that is not set
OWN_EXPRESSIONS = "__expr__"  # what Grafana computes itself
PATIENCE_SECS = 120.0

needs_prometheus = needs("prometheus", "promtool", "prometheus-alertmanager", "amtool")


def _mounts(service: str) -> dict[str, Path]:
    """Return what each path in the container of a service is here."""
    volumes = [DEFAULT.sub(r"\1", volume) for volume in SERVICES[service].get("volumes", ())]
    mounts = [volume.split(":") for volume in volumes]
    return {target: (FOLDER / source).resolve() for source, target, _ in mounts}


def _file_here(service: str, path: str) -> Path:
    """Return the file of the repository that a service sees at this path."""
    for target, source in _mounts(service).items():
        if path == target or path.startswith(f"{target}/"):
            return source / path[len(target) :].lstrip("/") if source.is_dir() else source
    raise AssertionError(f"{service} has nothing mounted at {path}")


def _configuration(service: str) -> Path:
    """Return the file of the repository that a service is told to read."""
    (option,) = (word for word in SERVICES[service]["command"] if word.startswith("--config.file="))
    return _file_here(service, option.partition("=")[2])


def _provisioned(kind: str) -> dict[str, Any]:
    folder = _file_here("grafana", f"{PROVISIONING}/{kind}")
    (file,) = folder.glob("*.yml")
    document: dict[str, Any] = yaml.safe_load(file.read_text())
    return document


@pytest.mark.parametrize("service", SERVICES)
def test_mounts_exist_and_cannot_be_written(service: str) -> None:
    """Every mount is a file or folder of the repository, read-only."""
    assert all(volume.endswith(":ro") for volume in SERVICES[service].get("volumes", ()))
    for source in _mounts(service).values():
        assert source.exists(), source
        assert source.is_relative_to(ROOT)


def test_images_have_versions() -> None:
    """Every image is a version, and the node's is the one that `make image` builds."""
    images = {name: service["image"] for name, service in SERVICES.items()}
    assert all(
        re.search(r":v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$", image) for image in images.values()
    )
    name, version = (ROOT / "deploy/IMAGE").read_text(), (ROOT / "VERSION").read_text()
    assert images["node"] == f"{name.strip()}:{version.strip()}"


def test_nothing_is_open_to_the_network() -> None:
    """Every port is one of loopback: the stack has no passwords."""
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_grafana_finds_source_and_dashboards() -> None:
    """The rules ask the data source that is provisioned; the provider reads our dashboards."""
    (source,) = _provisioned("datasources")["datasources"]
    rules = [rule for group in _provisioned("alerting")["groups"] for rule in group["rules"]]
    asked = {query["datasourceUid"] for rule in rules for query in rule["data"]}
    assert asked - {OWN_EXPRESSIONS} == {source["uid"]}
    assert "127.0.0.1:9090:9090" in SERVICES["node"]["ports"]
    assert source["url"] == "http://localhost:9090"
    (provider,) = _provisioned("dashboards")["providers"]
    folder = _file_here("grafana", provider["options"]["path"])
    assert {page.name for page in folder.glob("*.json")} >= {"hw-node.json", "hw-cluster.json"}
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert json.loads(_file_here("grafana", home).read_text())["uid"]


@needs_prometheus
@pytest.mark.system
def test_programs_accept_their_files() -> None:
    """Prometheus' and Alertmanager's own checkers accept the files that the stack mounts."""
    promtool = ["promtool", "check", "config", str(_configuration("prometheus"))]
    amtool = ["amtool", "check-config", str(_configuration("alertmanager"))]
    for command in (promtool, amtool):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@needs_prometheus
@pytest.mark.system
def test_an_incident_reaches_alertmanager_with_its_cause(tmp_path: Path) -> None:
    """The node of the stack loses a GPU; Alertmanager has one alert, of the link that is its cause.

    The files are those of the stack but for the addresses and for what Prometheus waits.
    """
    node = (sys.executable, "-m", "exporter", *SERVICES["node"]["command"])
    with (
        Program(tmp_path / "node", {"kernel_log": {"enabled": True}}, command=node) as program,
        alertmanager(tmp_path / "alertmanager", _configuration("alertmanager")) as manager,
    ):
        config = _at(_configuration("prometheus"), tmp_path / "prometheus", program.port, manager)
        with prometheus_of(config, config.parent) as server:
            root = 'hw_fault_root_cause{fault="gpu_lost",cause="pcie_link_down"} == 1'
            wait_for(lambda: server.query(root), "the fault", PATIENCE_SECS)
            names = wait_for(lambda: _alerts(manager), "the alert", PATIENCE_SECS)
    assert "HwPcieLinkDown" in names
    assert "HwGpuLost" not in names


def _at(config: Path, folder: Path, port: int, manager: str) -> Path:
    """Copy Prometheus' files, with the addresses that are here and a second between scrapes."""
    folder.mkdir()
    for file in config.parent.glob("*.yml"):
        (folder / file.name).write_text(file.read_text())
    text = config.read_text().replace("localhost:8080", f"127.0.0.1:{port}")
    text = text.replace("localhost:9093", manager.removeprefix("http://"))
    text, intervals = re.subn(r"(scrape|evaluation)_interval: 15s", r"\1_interval: 1s", text)
    assert intervals == 2
    (folder / config.name).write_text(text)
    return folder / config.name


def _alerts(manager: str) -> set[str]:
    """Return the names of the alerts that this Alertmanager has."""
    with urllib.request.urlopen(f"{manager}/api/v2/alerts", timeout=5) as answer:  # noqa: S310 - loopback
        return {alert["labels"]["alertname"] for alert in json.load(answer)}
