"""The dashboards as files: complete, and about metrics that exist."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.collectors.everything import FAMILIES, NAMES
from exporter.exposition.family import MetricType
from tests.deploy.dashboards import DASHBOARDS, panels_of
from tests.fakes.manifests import ROOT, document
from tests.fakes.promtool import METRIC, needs_promtool

FILES = sorted((ROOT / "dashboards").glob("*.json"))
HISTOGRAMS = [row.name for row in FAMILIES if row.type is MetricType.HISTOGRAM]
KNOWN = {
    *NAMES,
    *(f"{name}_{part}" for name in HISTOGRAMS for part in ("bucket", "count", "sum")),
}
NOT_METRICS = {"hw_type", "hw_id", "hw_name", "hw_state", "hw_limit_type"}
INTERVAL = re.compile(r"\$__\w+")
RECORDED = re.compile(r"\b[a-z_]+:hw_[a-z0-9_]+:[a-z0-9_]+\b")
SOURCES = (
    *FILES,
    ROOT / "deploy/prometheus/alerts.yml",
    ROOT / "deploy/prometheus/recording.yml",
)


EACH_PAGE = pytest.mark.parametrize("page", DASHBOARDS.values(), ids=DASHBOARDS)


def _expressions(file: Path) -> list[str]:
    if file.suffix == ".yml":
        groups = document(file)["groups"]
        return [rule["expr"] for group in groups for rule in group["rules"]]
    page = json.loads(file.read_text())
    lists = [item["query"]["query"] for item in page["templating"]["list"][1:]]
    targets = [target for panel in panels_of(page) for target in panel["targets"]]
    marks = [item["expr"] for item in page["annotations"]["list"]]
    return [*lists, *marks, *(target["expr"] for target in targets)]


def _recorded() -> set[str]:
    groups = document(ROOT / "deploy/prometheus/recording.yml")["groups"]
    return {rule["record"] for group in groups for rule in group["rules"]}


def test_there_are_six() -> None:
    """Cluster, node, GPU, workload, faults and exporter, each with a name of its own."""
    names = ["hw-cluster", "hw-exporter", "hw-faults", "hw-gpu", "hw-node", "hw-workload"]
    assert {name: page["uid"] for name, page in DASHBOARDS.items()} == {it: it for it in names}


def test_the_page_of_all_nodes_asks_for_recorded_series_only() -> None:
    """No expression, list or mark of the cluster's dashboard reads a family of each node."""
    expressions = _expressions(ROOT / "dashboards/hw-cluster.json")
    named = [METRIC.findall(RECORDED.sub("", text)) for text in expressions]
    assert len(expressions) > 30
    assert {name for names in named for name in names} <= NOT_METRICS
    assert {name for text in expressions for name in RECORDED.findall(text)} <= _recorded()


@EACH_PAGE
def test_any_grafana_can_provision_it(page: dict[str, Any]) -> None:
    """No data source is built in, panels have numbers of their own and do not overlap."""
    assert page["templating"]["list"][0]["type"] == "datasource"
    each = [it for panel in page["panels"] for it in (panel, *panel.get("panels", ()))]
    numbers = [panel["id"] for panel in each]
    assert len(set(numbers)) == len(numbers)
    taken: set[tuple[int, int]] = set()
    for panel in page["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${datasource}"
            assert panel["targets"]


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.name)
def test_every_metric_named_exists(file: Path) -> None:
    """Dashboards, alerts and recording rules name families and recorded series that there are."""
    text = re.sub(r'"[^"]*"|\b(by|on|group_left) \([^)]*\)', '""', "\n".join(_expressions(file)))
    recorded = set(RECORDED.findall(text))
    assert recorded <= _recorded()
    named = set(METRIC.findall(RECORDED.sub("", text))) - NOT_METRICS
    assert named | recorded
    assert named - KNOWN == set()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nodes_of_one_name_in_two_clusters_are_two(file: Path) -> None:
    """What is summed or joined by node is so by its cluster too, or errors of both are one sum."""
    text = "\n".join(_expressions(file))
    named = [set(labels.split(", ")) for labels in re.findall(r"\b(?:by|on) \(([^)]+)\)", text)]
    assert [labels for labels in named if "node" in labels and "cluster" not in labels] == []


@needs_promtool
def test_every_expression_is_well_formed(tmp_path: Path) -> None:
    """Each expression of each panel is accepted by promtool."""
    expressions = [
        INTERVAL.sub("5m", expression)
        for file in FILES
        for expression in _expressions(file)
        if not expression.startswith("label_values(")
    ]
    rules = [{"record": f"x:y{n}", "expr": text} for n, text in enumerate(expressions)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    subprocess.run(["promtool", "check", "rules", file], check=True, capture_output=True)


@EACH_PAGE
def test_every_page_begins_with_what_matters(page: dict[str, Any]) -> None:
    """The first row says what is broken or idle, and a table of it is on the first screen."""
    first = page["panels"][0]
    assert first["type"] == "row"
    assert not first["collapsed"]
    table = next(panel for panel in page["panels"] if panel["type"] == "table")
    assert table["gridPos"]["y"] <= 5


@EACH_PAGE
def test_variables_narrow_one_another(page: dict[str, Any]) -> None:
    """Cluster, then node, then GPU or namespace: each list offers what those before it allow."""
    before: list[str] = []
    for variable in page["templating"]["list"][1:]:
        if variable["hide"]:
            continue
        used = set(re.findall(r"\$(\w+)", variable["query"]["query"]))
        assert used == set(before)
        before.append(variable["name"])
    assert before[:2] == ["cluster", "node"]


@EACH_PAGE
def test_panels_explain_themselves(page: dict[str, Any]) -> None:
    """Lines have a legend without uuids, and no table shows the time of its own answer."""
    for panel in panels_of(page):
        for target in panel["targets"]:
            if panel["type"] in {"timeseries", "state-timeline", "bargauge"}:
                assert target["legendFormat"]
                assert "uuid" not in target["legendFormat"]
        if panel["type"] == "table":
            hidden = panel["transformations"][-1]["options"]["excludeByName"]
            assert hidden["Time"]


OFF_BY_DEFAULT = {
    r"hw_gpu_pcie_(receive|transmit)_bytes_per_second": "gpu.pcie_throughput",
    "hw_gpu_nvlink_up": "gpu.nvlink_per_link",
    r"hw_gpu_ecc_location_\w+": "gpu.ecc_locations",
    "hw_gpu_sibling_deviation": "detectors.siblings",
    "hw_gpu_anomaly_score": "detectors.anomaly",
    r"hw_(call|nccl|function)_\w+|hw_tcp_retransmits_total|hw_disk_latency_\w+": "ebpf.md",
    r"hw_nvme_\w+": "nvme_health",
    r"hw_filesystem_\w+": "filesystems",
}
"""Families that are absent with a common configuration, and what switches them on."""


@EACH_PAGE
def test_a_panel_that_is_off_by_default_says_what_switches_it_on(page: dict[str, Any]) -> None:
    """Whoever sees an empty panel reads in it which key, component or page fills it."""
    for panel in panels_of(page):
        expressions = " ".join(target["expr"] for target in panel["targets"])
        families = set(METRIC.findall(re.sub(r'"[^"]*"', "", expressions))) & KNOWN
        for pattern, switch in OFF_BY_DEFAULT.items():
            if any(re.fullmatch(pattern, family) for family in families):
                assert switch in panel["fieldConfig"]["defaults"].get("noValue", ""), panel["title"]


@EACH_PAGE
def test_pages_stay_readable_with_a_thousand_nodes(page: dict[str, Any]) -> None:
    """Where all nodes can be chosen, no plot has a line for each: sums, or the highest."""
    nodes = page["templating"]["list"][2]
    if "allValue" not in nodes:
        return
    for panel in panels_of(page):
        if panel["type"] not in {"timeseries", "bargauge", "state-timeline"}:
            continue
        for target in panel["targets"]:
            words = r"topk\(|^(sum|count|max|quantile)\(|by \((fault|kind|event_type|path, code)\)"
            is_recorded = target["expr"].startswith("gpu_name:")
            assert is_recorded or re.search(words, target["expr"]), target["expr"]


@EACH_PAGE
def test_a_fault_leads_to_its_runbook(page: dict[str, Any]) -> None:
    """Wherever a fault is named in a table, a click opens its runbook by an absolute address."""
    for panel in panels_of(page):
        if panel["type"] != "table":
            continue
        titles = panel["transformations"][-1]["options"]["renameByName"]
        for field in {"fault", "cause"} & titles.keys():
            (links,) = (
                it["value"]
                for override in panel["fieldConfig"]["overrides"]
                if override["matcher"]["options"] == titles[field]
                for it in override["properties"]
                if it["id"] == "links"
            )
            assert [it["url"] for it in links] == ["http://${instance}/runbooks/${__value.raw}"]


@EACH_PAGE
def test_tables_are_sorted_by_a_column_that_they_have(page: dict[str, Any]) -> None:
    """A title that changed would leave the order to chance."""
    for panel in panels_of(page):
        if panel["type"] == "table":
            titles = panel["transformations"][-1]["options"]["renameByName"].values()
            assert {it["displayName"] for it in panel["options"]["sortBy"]} <= set(titles)
