"""The whole way: the program, a real Prometheus, our rules, our dashboards, our Alertmanager."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.prometheus import Prometheus, alertmanager, prometheus, why_not
from tests.program import ROOT, Program, wait_for

DASHBOARDS = sorted((ROOT / "dashboards").glob("*.json"))
PANELS_WITHOUT_DATA = {
    # These are empty on a node without that trouble, or without that hardware.
    "What is not read, and how it ended",
    "Xid errors",
    "What holds the clocks down",
    "Active faults and what caused them",
    "Nodes with each fault",
    "Faults over time",
    "Active",
    "Causes",
    "Since",
    "Changes",
    "Not ok",
    "Events",
    "Kernel log",
    "Memory held by nobody",
    "Held without use",
    "Disk throughput",
    "Disk busy",
    "Room left",
}

needs_prometheus = pytest.mark.skipif(
    why_not("prometheus", "promtool") is not None, reason=f"{why_not('prometheus', 'promtool')}"
)


@dataclass(frozen=True, slots=True)
class Watched:
    """A node with eight simulated GPUs, and the Prometheus that scrapes it."""

    nvml: NvmlLibrary
    server: Prometheus


@pytest.fixture(scope="module")
def watched(nvml_library_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The program on the fake NVML library, scraped for long enough to have rates."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "nvml").mkdir()
    nvml = NvmlLibrary(nvml_library_dir, folder / "nvml")
    _say(nvml)
    changes: dict[str, dict[str, Any]] = {
        "metrics": {"collect_interval_secs": 1.0},
        "gpu": {"driver_markers": [str(nvml.scenario)], "redetect_secs": 0.2},
    }
    with Program(folder / "program", changes, environment=nvml.environment) as program:
        program.page_with("hw_gpu_up")
        target = f"127.0.0.1:{program.port}"
        with prometheus(folder / "prometheus", [target]) as server:
            scraped = "count_over_time(hw_gpu_up[1m]) > 4"
            wait_for(lambda: server.query(scraped) or None, "five scrapes")
            yield Watched(nvml, server)


def _say(nvml: NvmlLibrary, *lines: str) -> None:
    """Eight cards, on each of which this very process computes."""
    us = os.getpid()
    busy = [
        f"device.{card}.{key}"
        for card in range(8)
        for key in (
            f"compute_processes = {us}:1073741824",
            "graphics_processes = na",
            "mps_processes = na",
            f"process_utilization = {us}:50:10:0:0",
        )
    ]
    nvml.say(*busy, *lines, capture="h100x8.scenario")


def _expressions(file: Path) -> Iterator[tuple[str, str]]:
    """Title and expression of every query, with the variables replaced as for everything."""
    for panel in json.loads(file.read_text())["panels"]:
        for target in panel.get("targets", ()):
            expression = re.sub(r"\$(node|gpu|namespace)\b", ".*", target["expr"])
            yield panel["title"], expression.replace("[10m]", "[1m]").replace("[5m]", "[1m]")


@needs_prometheus
def test_nothing_fires_on_the_healthy_node(watched: Watched) -> None:
    """Eight healthy GPUs raise no alert, though every alert here waits a second only."""
    assert not {name for name in watched.server.firing() if name.startswith("HwGpu")}


@needs_prometheus
@pytest.mark.parametrize("file", DASHBOARDS, ids=lambda path: path.stem)
def test_every_panel_has_data(file: Path, watched: Watched) -> None:
    """Prometheus parses every expression, and answers it with data of the node."""
    empty = []
    for title, expression in _expressions(file):
        found = watched.server.query(expression)
        if not found and title not in PANELS_WITHOUT_DATA:
            empty.append((title, expression))
    assert not empty


@needs_prometheus
def test_a_lost_gpu_fires_and_clears(watched: Watched) -> None:
    """A GPU that falls off the bus fires its alert, and the alert clears when it is back."""
    server = watched.server
    _say(watched.nvml, "device.3.any = error 15")
    wait_for(lambda: {"HwGpuLost"} <= server.firing() or None, "the alert")
    (lost,) = server.query('ALERTS{alertname="HwGpuLost",alertstate="firing"}')
    assert lost["metric"]["gpu_index"] == "3"
    _say(watched.nvml)
    wait_for(lambda: "HwGpuLost" not in server.firing() or None, "the alert to clear")


ROOT_LABELS = ("role=root", "severity=critical", "node=n1", "hw_type=gpu", "hw_id=GPU-1")
CAUSE = ("cause=gpu_lost", "cause_hw_type=gpu", "cause_hw_id=GPU-1")


@pytest.mark.skipif(
    why_not("amtool", "prometheus-alertmanager") is not None,
    reason=f"{why_not('amtool', 'prometheus-alertmanager')}",
)
def test_symptoms_are_muted_while_their_cause_fires(tmp_path: Path) -> None:
    """Of a root fault, its symptom and the plain alert about the same GPU only the root is left."""
    with alertmanager(tmp_path) as url:

        def amtool(*words: str) -> str:
            command = ["amtool", f"--alertmanager.url={url}", *words]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        def names(*words: str) -> set[str]:
            listed = json.loads(amtool("alert", "query", "--output=json", *words))
            return {item["labels"]["alertname"] for item in listed}

        amtool("check-config", str(ROOT / "deploy/prometheus/alertmanager.yml"))
        symptom = ("role=symptom", "node=n1", "severity=info", *CAUSE)
        amtool("alert", "add", "alertname=HwFaultSymptom", *symptom)
        same = ("node=n1", "severity=critical", "hw_type=gpu", "hw_id=GPU-1")
        amtool("alert", "add", "alertname=HwGpuLost", *same)
        amtool("alert", "add", "alertname=HwGpuHot", *same[:3], "hw_id=GPU-2")
        amtool("alert", "add", "alertname=HwFaultSymptom", *symptom[1:3], "node=n2", *CAUSE)
        assert names("--inhibited") == set()
        amtool("alert", "add", "alertname=HwFaultCritical", *ROOT_LABELS, *CAUSE)
        muted = {"HwFaultSymptom", "HwGpuLost"}
        wait_for(lambda: names("--inhibited") == muted or None, "the symptoms to be muted")
        assert {"HwFaultCritical", "HwGpuHot"} <= names("--active")
