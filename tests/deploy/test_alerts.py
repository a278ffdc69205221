"""Alerts and recording rules, tried by promtool."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy.alert_cases import AFTER, BEFORE, CASES, DURING, Case, Series
from tests.fakes.manifests import ROOT
from tests.fakes.nvml_library import NvmlLibrary
from tests.program import Program

RULES = ROOT / "deploy/prometheus"
PAGES = ROOT / "tests/golden/pages"
END = BEFORE + DURING + AFTER - 1
SEVERITIES = {"critical", "warning", "info"}

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed"
)


def _rules(name: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((RULES / name).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


ALERTS = _rules("alerts.yml")


def _alone(alert: str, folder: Path) -> Path:
    """A rule file with this alert and what it may need, so that a case takes milliseconds."""
    groups = yaml.safe_load((RULES / "recording.yml").read_text())["groups"]
    needed = [group for group in groups if group["name"] == "hw-faults-recording"]
    rules = [rule for rule in ALERTS if rule["alert"] == alert]
    file = folder / f"{alert}.rules.yml"
    file.write_text(yaml.safe_dump({"groups": [*needed, {"name": "alone", "rules": rules}]}))
    return file


def _promtool(folder: Path, tests: Iterable[dict[str, Any]]) -> None:
    """Run unit tests of all our rules; what fails is in the message."""
    files = [RULES / "alerts.yml", RULES / "recording.yml"]
    _run(_written(folder / "tests.yml", files, tests))


def _written(file: Path, rules: Iterable[Path], tests: Iterable[dict[str, Any]]) -> Path:
    names = [str(name) for name in rules]
    document = {"rule_files": names, "evaluation_interval": "1m", "tests": list(tests)}
    file.write_text(yaml.safe_dump(document))
    return file


def _run(*files: Path) -> None:
    done = subprocess.run(
        ["promtool", "test", "rules", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def _input(series: Iterable[Series]) -> list[dict[str, str]]:
    return [{"series": item.series, "values": item.values} for item in series]


def _firing(alert: str, minute: int, *, number: int) -> dict[str, Any]:
    """That so many alerts of this name fire at this minute."""
    return _firing_like(alert or ".*", minute, number=number)


def _firing_like(pattern: str, minute: int, *, number: int) -> dict[str, Any]:
    """The same for all alerts whose names match."""
    named = f'alertname=~"{pattern}",'
    return {
        "expr": f'count(ALERTS{{{named}alertstate="firing"}}) or vector(0)',
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": "{}", "value": number}],
    }


def _life_of(case: Case) -> dict[str, Any]:
    """The alert is silent before, fires, and is silent after."""
    return {
        "name": case.alert,
        "interval": "1m",
        "input_series": _input(case.series),
        "promql_expr_test": [
            _firing(case.alert, BEFORE - 1, number=0),
            _firing(case.alert, case.fires_at, number=1),
            _firing(case.alert, END, number=0),
        ],
    }


@needs_promtool
@pytest.mark.parametrize("name", ["alerts.yml", "recording.yml"])
def test_rules_are_well_formed(name: str) -> None:
    """The file is accepted by promtool."""
    subprocess.run(["promtool", "check", "rules", RULES / name], check=True)


@needs_promtool
def test_every_alert_fires_and_clears(tmp_path: Path) -> None:
    """Each alert is silent before its trouble, fires in it, and clears after it."""
    files = [
        _written(tmp_path / f"{number}.yml", [_alone(case.alert, tmp_path)], [_life_of(case)])
        for number, case in enumerate(CASES)
    ]
    _run(*files)


def test_every_alert_has_a_case() -> None:
    """There are at least forty alerts, each tried, each with everything an on-call person needs."""
    names = [rule["alert"] for rule in ALERTS]
    assert len(names) >= 40
    assert len(set(names)) == len(names)
    assert {case.alert for case in CASES} == set(names)
    for rule in ALERTS:
        assert rule["labels"]["severity"] in SEVERITIES
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert rule["annotations"]["runbook_url"] == f"docs/alerts.md#{rule['alert'].lower()}"


@needs_promtool
def test_texts_name_the_hardware(tmp_path: Path) -> None:
    """Labels and texts say which GPU of which node, and for a fault what caused it."""
    (fault,) = [case for case in CASES if case.alert == "HwFaultSymptom"]
    (lost,) = [case for case in CASES if case.alert == "HwGpuLost"]
    _promtool(
        tmp_path,
        [
            {
                "interval": "1m",
                "input_series": _input(case.series),
                "alert_rule_test": [
                    {
                        "eval_time": f"{case.fires_at}m",
                        "alertname": case.alert,
                        "exp_alerts": [alert],
                    }
                ],
            }
            for case, alert in ((fault, _expected_symptom()), (lost, _expected_lost()))
        ],
    )


def _expected_symptom() -> dict[str, Any]:
    labels = {
        "severity": "info",
        "role": "symptom",
        "node": "n1",
        "fault": "gpu_idle",
        "hw_type": "gpu",
        "hw_id": "GPU-1",
        "hw_name": "GPU 0",
        "cause": "gpu_lost",
        "cause_hw_type": "gpu",
        "cause_hw_id": "GPU-1",
    }
    return {
        "exp_labels": labels,
        "exp_annotations": {
            "summary": "gpu_idle on n1, because of gpu_lost",
            "description": (
                "A symptom: its cause is gpu_lost of gpu GPU-1, which has an alert of its own. "
                "The shipped Alertmanager configuration mutes it while that one fires."
            ),
            "runbook_url": "docs/alerts.md#hwfaultsymptom",
        },
    }


def _expected_lost() -> dict[str, Any]:
    (rule,) = [rule for rule in ALERTS if rule["alert"] == "HwGpuLost"]
    labels = {
        "severity": "critical",
        "node": "n1",
        "gpu_index": "0",
        "gpu_name": "NVIDIA H100",
        "gpu_uuid": "GPU-1",
        "hw_type": "gpu",
        "hw_id": "GPU-1",
    }
    texts = {**rule["annotations"], "summary": "Lost gpu 0 (NVIDIA H100) on n1"}
    return {"exp_labels": labels, "exp_annotations": texts}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _series_of(page: str, values: str) -> list[Series]:
    """Every sample of a page as a series; `{}` in `values` is where its value goes."""
    return _series_in((PAGES / page).read_text(), values)


def _series_in(text: str, values: str) -> list[Series]:
    found = []
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={_quoted(text)}" for name, text in sample.labels.items())
            found.append(
                Series(f"{sample.name}{{{labels}}}", values.replace("{}", f"{sample.value:f}"))
            )
    return found


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
    test = {
        "interval": "1m",
        "input_series": _input(_series_in(text, "{}x90")),
        "promql_expr_test": [_firing_like("HwGpu.*", minute, number=0) for minute in (10, 90)],
    }
    _promtool(tmp_path, [test])


@needs_promtool
@pytest.mark.parametrize("page", ["cpu_only.prom", "driver_gone.prom", "gpus_by_nvml.prom"])
def test_nothing_fires_on_a_healthy_node(page: str, tmp_path: Path) -> None:
    """A node without GPUs and one with healthy GPUs raise no alert in three hours."""
    test = {
        "interval": "1m",
        "input_series": _input(_series_of(page, "{}x180")),
        "promql_expr_test": [_firing("", minute, number=0) for minute in (10, 100, 180)],
    }
    _promtool(tmp_path, [test])


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
    test = {
        "interval": "1m",
        "input_series": _input(series),
        "promql_expr_test": [_firing("", minute, number=0) for minute in (35, 65, 125, 170)],
    }
    _promtool(tmp_path, [test])


def test_runbooks_describe_every_alert() -> None:
    """docs/alerts.md has one heading for each alert, and no other."""
    text = (ROOT / "docs/alerts.md").read_text()
    assert re.findall(r"^### (\S+)$", text, re.MULTILINE) == [rule["alert"] for rule in ALERTS]


def test_texts_point_to_pages_that_exist() -> None:
    """Every page that an alert's text sends somebody to is there."""
    named = set(
        re.findall(r"\bdocs/[\w./]*\w", (ROOT / "deploy/prometheus/alerts.yml").read_text())
    )
    assert {name for name in named if not (ROOT / name).exists()} == set()
