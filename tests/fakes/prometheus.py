"""Debian's Prometheus and Alertmanager on loopback, with our rules, while a block lasts."""

import json
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.program import ROOT, wait_for

RULES = ROOT / "deploy/prometheus"
SECS_FOR_MINUTES = re.compile(r"(?m)^(\s+(?:keep_firing_)?for: )\d+[smh]$")

MISSED = re.compile(r"(?m)^prometheus_rule_group_iterations_missed_total\{.*\} (\S+)$")


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def why_not(*programs: str) -> str | None:
    """Which of the programs is not installed; None when all are."""
    missing = [program for program in programs if shutil.which(program) is None]
    return f"{', '.join(missing)} not installed" if missing else None


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip the test where one of the programs is not installed."""
    missing = why_not(*programs)
    return pytest.mark.skipif(missing is not None, reason=f"{missing}")


class Prometheus:
    """A running Prometheus, as the process `pid`."""

    def __init__(self, port: int, pid: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.pid = pid

    def ask(self, path: str, **parameters: str) -> Any:
        """What the API answers; raises urllib.error.HTTPError for a bad expression."""
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=120) as answer:  # noqa: S310 - loopback
            return json.loads(answer.read())["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an expression now."""
        result: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return result

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        alerts = self.ask("alerts")["alerts"]
        return {item["labels"]["alertname"] for item in alerts if item["state"] == "firing"}

    def unscraped(self, secs: float) -> set[str]:
        """The targets of which a scrape failed within so many seconds."""
        rows = self.query(f"min_over_time(up[{max(1, round(secs))}s]) == 0")
        return {row["metric"]["instance"] for row in rows}

    def missed_evaluations(self) -> int:
        """How many evaluations of rules there was no time for."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as answer:  # noqa: S310 - loopback
            found = MISSED.findall(answer.read().decode())
        return sum(int(float(number)) for number in found)

    def is_ready(self) -> bool:
        """Whether it answers queries."""
        try:
            return bool(self.query("vector(1)"))
        except OSError:
            return False


@contextmanager
def prometheus(folder: Path, targets: Sequence[str]) -> Iterator[Prometheus]:
    """A Prometheus with our rules, in which every waiting time is one second."""
    folder.mkdir(parents=True, exist_ok=True)
    alerts = SECS_FOR_MINUTES.sub(r"\g<1>1s", (RULES / "alerts.yml").read_text())
    (folder / "alerts.yml").write_text(alerts)
    rules = (RULES / "recording.yml", folder / "alerts.yml")
    config = settings_of(rules, {"hw-exporter": [{"targets": list(targets)}]})
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    with prometheus_of(folder / "prometheus.yml", folder) as found:
        yield found


def settings_of(
    rules: Iterable[Path], jobs: Mapping[str, Sequence[Mapping[str, Any]]], scrape: str = "1s"
) -> dict[str, Any]:
    """A configuration that evaluates every second, with the static targets of each job."""
    return {
        "global": {"scrape_interval": scrape, "evaluation_interval": "1s"},
        "rule_files": [str(rule) for rule in rules],
        "scrape_configs": [
            {"job_name": name, "honor_labels": True, "static_configs": list(targets)}
            for name, targets in jobs.items()
        ],
    }


@contextmanager
def prometheus_of(config: Path, folder: Path, *options: str, port: int = 0) -> Iterator[Prometheus]:
    """A Prometheus with this configuration, and its data and log in the folder."""
    port = port or free_port()
    command = [
        *("prometheus", f"--config.file={config}"),
        *(f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"),
        *options,
    ]
    with running(command, folder / "prometheus.log") as process:
        found = Prometheus(port, process.pid)
        wait_for(found.is_ready, "Prometheus to be ready")
        yield found


@contextmanager
def prometheus_agent(config: Path, folder: Path) -> Iterator[None]:
    """A Prometheus agent with this configuration, which answers no queries."""
    command = [
        *("prometheus", "--enable-feature=agent", f"--config.file={config}"),
        *(f"--storage.agent.path={folder}/data", f"--web.listen-address=127.0.0.1:{free_port()}"),
    ]
    with running(command, folder / "prometheus.log"):
        yield


@contextmanager
def alertmanager(folder: Path, config: Path = RULES / "alertmanager.yml") -> Iterator[str]:
    """The URL of an Alertmanager with the configuration that we ship."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [
        *("prometheus-alertmanager", f"--config.file={config}"),
        *(f"--storage.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"),
        "--cluster.listen-address=",
    ]
    url = f"http://127.0.0.1:{port}"

    def is_ready() -> bool:
        try:
            urllib.request.urlopen(f"{url}/-/ready", timeout=2).close()  # noqa: S310 - loopback
        except OSError:
            return False
        return True

    with running(command, folder / "alertmanager.log"):
        wait_for(is_ready, "Alertmanager to be ready")
        yield url


@contextmanager
def running(command: Sequence[str | Path], log_file: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program until the block ends; what it prints is in the file."""
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
