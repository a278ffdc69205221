"""The dashboards as files: complete, and about metrics that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.exposition import FAMILIES, LIVE_FAMILIES
from tests.fakes.manifests import ROOT

FILES = sorted((ROOT / "dashboards").glob("*.json"))
KNOWN = {*(family.name for family in FAMILIES), *(family.name for family in LIVE_FAMILIES)}
METRIC = re.compile(r"\bhw_[a-z0-9_]+\b")
NOT_METRICS = {"hw_type", "hw_id", "hw_name", "hw_state", "hw_limit_type"}
RECORDED = re.compile(r"\b[a-z_]+:hw_[a-z0-9_]+:[a-z0-9_]+\b")
SOURCES = (
    *FILES,
    ROOT / "deploy/prometheus/alerts.yml",
    ROOT / "deploy/prometheus/recording.yml",
)


def _pages() -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in FILES]


def _expressions(file: Path) -> list[str]:
    if file.suffix == ".yml":
        groups = yaml.safe_load(file.read_text())["groups"]
        return [rule["expr"] for group in groups for rule in group["rules"]]
    page = json.loads(file.read_text())
    lists = [item["query"]["query"] for item in page["templating"]["list"][1:]]
    targets = [target for panel in page["panels"] for target in panel.get("targets", ())]
    return [*lists, *(target["expr"] for target in targets)]


def _recorded() -> set[str]:
    groups = yaml.safe_load((ROOT / "deploy/prometheus/recording.yml").read_text())["groups"]
    return {rule["record"] for group in groups for rule in group["rules"]}


def test_there_are_six() -> None:
    """Cluster, node, GPU, workload, faults and exporter, each with a name of its own."""
    uids = [page["uid"] for page in _pages()]
    assert sorted(uids) == [
        "hw-cluster",
        "hw-exporter",
        "hw-faults",
        "hw-gpu",
        "hw-node",
        "hw-workload",
    ]
    assert [file.stem for file in FILES] == sorted(uids)


@pytest.mark.parametrize("page", _pages(), ids=lambda page: page["uid"])
def test_any_grafana_can_provision_it(page: dict[str, Any]) -> None:
    """No data source is built in, panels have numbers of their own and do not overlap."""
    assert page["templating"]["list"][0]["type"] == "datasource"
    numbers = [panel["id"] for panel in page["panels"]]
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
    text = re.sub(r'"[^"]*"', '""', "\n".join(_expressions(file)))
    recorded = set(RECORDED.findall(text))
    assert recorded <= _recorded()
    named = set(METRIC.findall(RECORDED.sub("", text))) - NOT_METRICS
    assert named
    assert named - KNOWN == set()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_every_expression_is_well_formed(tmp_path: Path) -> None:
    """Each expression of each panel is accepted by promtool."""
    expressions = [
        expression
        for file in FILES
        for expression in _expressions(file)
        if not expression.startswith("label_values(")
    ]
    rules = [{"record": f"x:y{n}", "expr": text} for n, text in enumerate(expressions)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    subprocess.run(["promtool", "check", "rules", file], check=True, capture_output=True)
