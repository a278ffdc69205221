"""Alerts and recording rules, tried by promtool."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.collectors.everything import rule_book
from exporter.web.answer import PageRequest
from exporter.web.runbooks import runbook_answer
from tests.deploy.alert_cases import (
    AFTER,
    BEFORE,
    CASES,
    DURING,
    SHORT,
    Case,
    fault,
    gauge,
)
from tests.fakes.manifests import ROOT, document
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.prometheus import RULES
from tests.fakes.promtool import Series, gives, needs_promtool, run, samples, trial, tried, written
from tests.program import Program
from tools.alerting.links import in_command
from tools.alerting.rules import alert_name
from tools.alerting.sentences import advice, sentence

PAGES = ROOT / "tests/golden/pages"
END = BEFORE + DURING + AFTER - 1
BEGINS, BROKEN, CLEAR = SHORT[0], SHORT[0] + 2, sum(SHORT) - 1
"""Minutes of a fault: when it begins, when its alert must fire, when it must have cleared."""
SEVERITIES = {"critical", "warning", "info"}


def _rules(name: str, group: str = "") -> list[dict[str, Any]]:
    return [
        rule
        for it in document(RULES / name)["groups"]
        for rule in it["rules"]
        if it["name"].startswith(group)
    ]


ALERTS = _rules("alerts.yml")
RECORDED = _rules("recording.yml")
DOCS = "https://github.com/hw-exporter/hw-exporter/blob/main/docs/runbooks/alerts.md#"
ACROSS_NODES = {rule["alert"] for rule in _rules("alerts.yml", "hw-clusters")}
ELSEWHERE = {"HwExporterDown", "HwNodeGone", *ACROSS_NODES}
"""No exporter answers that could show the runbook."""

RULES_BOOK = rule_book().rules


def _alone(alert: str, folder: Path) -> Path:
    """A rule file with this alert and the rules it needs, so that a case takes milliseconds."""
    (rule,) = [rule for rule in ALERTS if rule["alert"] == alert]
    needed: list[dict[str, Any]] = []
    for recorded in reversed(RECORDED):  # a rule needs only rules before it
        if any(recorded["record"] in it["expr"] for it in (rule, *needed)):
            needed.insert(0, recorded)
    file = folder / f"{alert}.rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "alone", "rules": [*needed, rule]}]}))
    return file


def _firing(alert: str, minute: int, *, number: int) -> dict[str, Any]:
    """That so many alerts whose names match fire at this minute; of all for an empty name."""
    named = f'alertname=~"{alert or ".*"}",'
    return gives(f'count(ALERTS{{{named}alertstate="firing"}}) or vector(0)', minute, number)


def _life_of(case: Case) -> dict[str, Any]:
    """The alert is silent before, fires, and is silent after."""
    return trial(
        case.series,
        _firing(case.alert, BEFORE - 1, number=0),
        _firing(case.alert, case.fires_at, number=1),
        _firing(case.alert, END, number=0),
        name=case.alert,
    )


@needs_promtool
@pytest.mark.parametrize("name", ["alerts.yml", "recording.yml"])
def test_rules_are_well_formed(name: str) -> None:
    """The file is accepted by promtool."""
    subprocess.run(["promtool", "check", "rules", RULES / name], check=True)


@needs_promtool
def test_every_alert_fires_and_clears(tmp_path: Path) -> None:
    """Each alert is silent before its trouble, fires in it, and clears after it."""
    files = [
        written(tmp_path / f"{number}.yml", [_alone(case.alert, tmp_path)], [_life_of(case)])
        for number, case in enumerate(CASES)
    ]
    run(*files)


def test_every_alert_has_a_case() -> None:
    """Each rule has one alert, and each alert by hand one case, with all an on-call needs."""
    names = [rule["alert"] for rule in ALERTS]
    assert len(set(names)) == len(names)
    of_rules = {alert_name(rule.id) for rule in RULES_BOOK}
    assert {case.alert for case in CASES} | of_rules | {"HwCustomFault"} == set(names)
    for rule in ALERTS:
        assert rule["labels"]["severity"] in SEVERITIES | {"{{ $labels.severity }}"}
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        is_up = rule["alert"] not in ELSEWHERE
        start = "http://{{ $labels.instance }}/runbooks/" if is_up else DOCS
        assert rule["annotations"]["runbook_url"].startswith(start)
        where = "cluster" if rule["alert"] in ACROSS_NODES else "node"
        assert re.match(rf"{{{{ (?:with )?\$labels\.{where} }}}}", rule["annotations"]["summary"])


def test_no_text_holds_a_reading() -> None:
    """Sentences have names in them and no readings, and nothing of a template is left over."""
    for rule in RULES_BOOK:
        for text in (sentence(rule), advice(rule)):
            assert len(text) > 10, rule.id
            named = re.sub(r"\{\{ \$labels\.hw_(name|id) \}\}", "", text)
            named = named.replace(in_command("hw_name"), "")
            assert not re.search(r"[{}]", named), rule.id
            assert not re.search(r"\b(?:is|are) ?[:;,]| [:;,.](?: |$)|  ", text), rule.id
            assert not re.search(r"\b(?:for|by|at|than|of|with|and|to|last) ?[.,]?$", text), rule.id


@needs_promtool
def test_the_alert_of_each_rule_fires_for_a_root_only(tmp_path: Path) -> None:
    """Silent before, firing with the fault's severity, silent after; silent for a symptom."""
    every = _life_of_rules([fault(rule.id, rule.severity) for rule in RULES_BOOK], fires=1)
    symptoms = [fault(rule.id, rule.severity, cause="elsewhere") for rule in RULES_BOOK]
    tried(tmp_path, every, _life_of_rules(symptoms, fires=0))


def _life_of_rules(faults: Iterable[tuple[Series, ...]], *, fires: int) -> dict[str, Any]:
    return trial(
        (item for each in faults for item in each),
        _firing("", BEGINS - 1, number=0),
        *(_firing(alert_name(rule.id), BROKEN, number=fires) for rule in RULES_BOOK),
        _firing("", BROKEN, number=fires * len(RULES_BOOK)),
        _firing("", CLEAR, number=0),
    )


@needs_promtool
def test_a_rule_of_the_user_has_an_alert(tmp_path: Path) -> None:
    """A fault of no shipped rule fires the alert for such rules, with its severity."""
    test = trial(
        fault("npu_hot", "warning"),
        _firing("HwCustomFault", BROKEN, number=1),
        _firing("", BROKEN, number=1),
        _firing("", CLEAR, number=0),
    )
    tried(tmp_path, test)


@needs_promtool
def test_a_node_that_was_drained_and_deleted_is_not_missed(tmp_path: Path) -> None:
    """Neither a node that Kubernetes no longer has nor one that is cordoned has gone."""
    series: list[Series] = []
    for node, info, cordoned in (("n1", None, None), ("n2", 1, 1)):
        scraped = f'job="hw-exporter",instance="{node}:8080",node="{node}"'
        unschedulable = f'kube_node_spec_unschedulable{{node="{node}"}}'
        series += (
            gauge(f"hw_node_info{{{scraped}}}", 1, None, None),
            gauge(f'kube_node_info{{node="{node}"}}', 1, info, info),
            gauge(unschedulable, 0, cordoned, cordoned),
        )
    silent = (_firing("", BEFORE + minute, number=0) for minute in (5, 20, 40, 100))
    tried(tmp_path, trial(series, *silent))


@needs_promtool
def test_texts_name_the_hardware(tmp_path: Path) -> None:
    """An alert says what is broken, where, since when, what follows from it, and what to do."""
    (symptom,) = [fault("nvlink_errors", "warning", cause="gpu_lost")]
    told = (
        'hw_incident_info{node="n1",fault="gpu_lost",hw_type="gpu",hw_id="GPU-1",'
        'summary="GPU 0 is lost, because the port is down",'
        'details="Affects GPU 0; pod ml/train-0. Since 1 Jan 01:00 UTC. Reseat it."}'
    )
    labels = {
        "severity": "critical",
        "node": "n1",
        "fault": "gpu_lost",
        "hw_type": "gpu",
        "hw_id": "GPU-1",
        "hw_name": "GPU 0",
    }
    texts = {
        "summary": "n1: GPU 0 is lost, because the port is down",
        "description": (
            "Affects GPU 0; pod ml/train-0. Since 1 Jan 01:00 UTC. Reseat it. "
            "Evidence and consequences: hw-exporter why GPU-1 on the node, or http:///why?hw_id=GPU-1"
        ),
        "runbook_url": "http:///runbooks/gpu_lost",
    }
    told_alert = {
        "eval_time": f"{BROKEN}m",
        "alertname": "HwGpuLost",
        "exp_alerts": [{"exp_labels": labels, "exp_annotations": texts}],
    }
    series = (*fault("gpu_lost", "critical")[:2], *symptom, gauge(told, None, 1, None, SHORT))
    tried(tmp_path, trial(series, alert_rule_test=[told_alert]))


def _series_of(page: str, values: str) -> list[Series]:
    """Every sample of a page, of a node of its own, as a series; its value goes to `{}`."""
    text = (PAGES / page).read_text().replace('node="node', f'node="{page} node')
    return _series_in(text, values)


def _series_in(text: str, values: str) -> list[Series]:
    return [
        Series(series, values.replace("{}", f"{value:f}"))
        for series, value in samples(text).items()
    ]


@needs_promtool
def test_nothing_fires_for_gpus_cut_into_instances(nvml: NvmlLibrary, tmp_path: Path) -> None:
    """GPUs in MIG mode, which say less, raise no alert."""
    owner = f"compute_processes = {os.getpid()}:1048576"
    owned = (f"device.{card}.{owner}" for card in range(8))
    whole = "device.1.remapped_rows.pending = 0"  # the capture has a card that waits for a reset
    nvml.say(*owned, whole, capture="a100_mig.scenario")
    markers = {"gpu": {"driver_markers": [str(nvml.scenario)]}}
    with Program(tmp_path / "program", markers, environment=nvml.environment) as program:
        text = program.page_with("hw_gpu_mig_info").text
    silent = (_firing("HwGpu.*", minute, number=0) for minute in (10, 90))
    tried(tmp_path, trial(_series_in(text, "{}x90"), *silent))


@needs_promtool
def test_nothing_fires_on_healthy_nodes(tmp_path: Path) -> None:
    """Nodes without GPUs, without a driver and with healthy GPUs raise no alert in three hours."""
    pages = ("cpu_only.prom", "driver_gone.prom", "gpus_by_nvml.prom")
    series = [item for page in pages for item in _series_of(page, "{}x180")]
    silent = (_firing("", minute, number=0) for minute in (10, 100, 180))
    tried(tmp_path, trial(series, *silent))


@needs_promtool
def test_nothing_fires_when_the_exporter_restarts(tmp_path: Path) -> None:
    """Gaps and counters that begin again, every half hour, raise no alert."""
    gauges, counters = "{}x28 _ {}x28 _ " * 3, "{}x28 _ 0x28 _ " * 3
    series = [
        Series(
            item.series,
            (counters if "_total{" in item.series else gauges).replace("{}", item.values),
        )
        for item in _series_of("gpus_by_nvml.prom", "{}")
    ]
    silent = (_firing("", minute, number=0) for minute in (35, 65, 125, 170))
    tried(tmp_path, trial(series, *silent))


def test_the_page_names_every_alert() -> None:
    """docs/alerts.md has a row for the alert of each rule, and a paragraph for each by hand."""
    text = (ROOT / "docs/alerts.md").read_text()
    rows = re.findall(r"^(?:\| \[?|### )(Hw\w+)", text, re.MULTILINE)
    assert rows == [rule["alert"] for rule in ALERTS]


def test_every_link_opens() -> None:
    """The runbook of each alert is a page of the exporter, or a section of the published one."""
    for rule in ALERTS:
        url = rule["annotations"]["runbook_url"]
        name = url.rpartition("/")[2]
        if url.startswith(DOCS):
            assert f"## {rule['alert']}\n" in (ROOT / "docs/runbooks/alerts.md").read_text()
            assert name == f"alerts.md#{rule['alert'].lower()}"
        elif rule["alert"] != "HwCustomFault":  # a rule of the user has the runbook it names
            assert runbook_answer(PageRequest(f"/runbooks/{name}")).status == 200, name


def test_texts_point_to_pages_that_exist() -> None:
    """Every page that an alert's text sends somebody to is there."""
    named = set(
        re.findall(r"\bdocs/[\w./]*\w", (ROOT / "deploy/prometheus/alerts.yml").read_text())
    )
    assert {name for name in named if not (ROOT / name).exists()} == set()
