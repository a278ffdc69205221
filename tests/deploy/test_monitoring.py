"""The whole way: the program, a real Prometheus, our rules, our dashboards, our Alertmanager."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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


SPEED, START = 10, 800
"""The script ten times as fast, from half a minute before a GPU falls off the bus."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that scrapes the simulated node, long enough to have rates."""
    folder = tmp_path_factory.mktemp("watched")
    script = (f"--speed={SPEED}", f"--start={START}")
    demo = (sys.executable, "-m", "exporter", "demo", "--whole-node", *script)
    quick = {"APP__METRICS__COLLECT_INTERVAL_SECS": "0.5"}
    with Program(folder / "program", environment=quick, command=demo) as program:
        program.page_with("hw_gpu_up")
        target = f"127.0.0.1:{program.port}"
        with prometheus(folder / "prometheus", [target]) as found:
            scraped = "count_over_time(hw_gpu_up[1m]) > 4"
            wait_for(lambda: found.query(scraped) or None, "five scrapes")
            yield found


def _expressions(file: Path) -> Iterator[tuple[str, str]]:
    """Title and expression of every query, with the variables replaced as for everything."""
    for panel in json.loads(file.read_text())["panels"]:
        for target in panel.get("targets", ()):
            expression = re.sub(r"\$(node|gpu|namespace)\b", ".*", target["expr"])
            yield panel["title"], expression.replace("[10m]", "[1m]").replace("[5m]", "[1m]")


@needs_prometheus
@pytest.mark.parametrize("file", DASHBOARDS, ids=lambda path: path.stem)
def test_every_panel_has_data(file: Path, server: Prometheus) -> None:
    """Prometheus parses every expression, and answers it with data of the node."""
    empty = []
    for title, expression in _expressions(file):
        found = server.query(expression)
        if not found and title not in PANELS_WITHOUT_DATA:
            empty.append((title, expression))
    assert not empty


@needs_prometheus
def test_an_incident_fires_and_clears(server: Prometheus) -> None:
    """A GPU that falls off the bus fires its alert and that of its fault; the first clears."""

    def firing(alert: str) -> list[dict[str, Any]] | None:
        return server.query(f'ALERTS{{alertname="{alert}",alertstate="firing"}}') or None

    (lost,) = wait_for(lambda: firing("HwGpuLost"), "the alert", 30)
    assert lost["metric"]["gpu_index"] == "5"
    (fault,) = wait_for(lambda: firing("HwFaultCritical"), "the fault's alert", 30)
    assert fault["metric"]["hw_id"] == lost["metric"]["gpu_uuid"]
    assert fault["metric"]["cause"] == fault["metric"]["fault"]
    wait_for(lambda: firing("HwGpuLost") is None or None, "the alert to clear", 60)


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
