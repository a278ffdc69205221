"""The whole way: the program, a real Prometheus, our rules, our dashboards, our Alertmanager."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.dashboards import DASHBOARDS, filled, panels_of
from tests.fakes.prometheus import Prometheus, alertmanager, needs, prometheus
from tests.program import ROOT, Program, wait_for

PANELS_WITHOUT_DATA = {
    # These are empty on a node without that trouble, or without that hardware.
    "Anomaly score",
    "Away from siblings",
    "Quotas of shared GPUs",
    "Bytes given to NCCL by workload, ten highest",
    "Calls into CUDA and NCCL, 99th percentile, ten slowest",
    "Calls of chosen functions, ten most called",
    "Disk latency of the device, 99th percentile",
    "TCP retransmits by workload, ten highest",
    "Degraded and failed components",
    "Components with each fault",
    "Critical faults and warnings over time",
    "EDAC memory errors in 10 minutes",
    "XID errors, latest first",
    "Errors, drops and retransmissions",
    "Hardware and probe events by type",
    "Components by active fault",
    "New faults",
    "InfiniBand and RDMA errors per second",
    "InfiniBand traffic",
    "Kernel log events by kind",
    "PCIe links below maximum",
    "ECC errors",
    "NVLink errors",
    "Missing nodes: reporting an hour ago, not now",
    "PCIe AER errors in 10 minutes",
    "PCIe replays",
    "PCIe received",
    "PCIe sent",
    "Root causes",
    "Absent sources",
    "Failing sources",
    "Symptoms and their root causes",
    "Ten hottest sensors",
    "Throttled: share of time by reason",
}

needs_prometheus = needs("prometheus")

SPEED, START = 10, 800
"""The script ten times as fast, from half a minute before a GPU falls off the bus."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that scrapes the simulated node, long enough to have rates."""
    folder = tmp_path_factory.mktemp("watched")
    script = (f"--speed={SPEED}", f"--start={START}")
    demo = (sys.executable, "-m", "exporter", "demo", "--whole-node", *script)
    quick = {"APP__METRICS__COLLECT_INTERVAL_SECS": "0.5", "APP__KERNEL_LOG__ENABLED": "true"}
    with Program(folder / "program", environment=quick, command=demo) as program:
        program.page_with("hw_gpu_up")
        target = f"127.0.0.1:{program.port}"
        with prometheus(folder / "prometheus", [target]) as found:
            scraped = "count_over_time(hw_gpu_up[1m]) > 4"
            wait_for(lambda: found.query(scraped), "five scrapes")
            yield found


def _variables(server: Prometheus, page: dict[str, Any]) -> dict[str, str]:
    """Return what each variable stands for: all where that is its default, else one value."""
    chosen = {"__interval": "5s", "__range": "60s", "__rate_interval": "20s"}
    for variable in page["templating"]["list"][1:]:
        if variable.get("current", {}).get("value") == "$__all":
            chosen[variable["name"]] = variable["allValue"]
            continue
        query = filled(variable["query"]["query"], chosen)
        found = re.fullmatch(r"label_values\((.*), (\w+)\)", query)
        assert found, query
        values = server.ask(f"label/{found[2]}/values", **{"match[]": found[1]})
        chosen[variable["name"]] = next(iter(values), "")
    return chosen


@needs_prometheus
@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_panel_has_data(name: str, server: Prometheus) -> None:
    """Prometheus answers every expression, and every panel has data of the node."""
    page = DASHBOARDS[name]
    chosen = _variables(server, page)
    empty = {
        panel["title"]
        for panel in panels_of(page)
        if not any(server.query(filled(target["expr"], chosen)) for target in panel["targets"])
    }
    assert empty - PANELS_WITHOUT_DATA == set()


@needs("amtool", "prometheus-alertmanager")
def test_faults_of_a_node_that_is_gone_are_muted(tmp_path: Path) -> None:
    """When a node does not answer, what was said of it before is muted, that of others not."""
    with alertmanager(tmp_path) as url:

        def amtool(*words: str) -> str:
            command = ["amtool", f"--alertmanager.url={url}", *words]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout

        def names(*words: str) -> set[str]:
            listed = json.loads(amtool("alert", "query", "--output=json", *words))
            return {item["labels"]["alertname"] for item in listed}

        amtool("check-config", str(ROOT / "deploy/prometheus/alertmanager.yml"))
        amtool("alert", "add", "alertname=HwGpuLost", "node=n1", "severity=critical")
        amtool("alert", "add", "alertname=HwGpuOverheat", "node=n2", "severity=warning")
        assert names("--inhibited") == set()
        amtool("alert", "add", "alertname=HwExporterDown", "node=n1", "severity=warning")
        wait_for(lambda: names("--inhibited") == {"HwGpuLost"}, "the fault to be muted")
        assert {"HwExporterDown", "HwGpuOverheat"} <= names("--active")
