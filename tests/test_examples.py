"""The files in examples/ do what they say."""

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from examples.collector import COLLECTOR, Entropy
from exporter.collectors.everything import EVERYTHING, NAMES
from exporter.collectors.external_probes.lines import LineReader
from exporter.collectors.external_probes.values import ProbeMetric
from exporter.commands.faults import NPD_EXIT_CODES
from exporter.commands.rules import replayed
from exporter.config import Config
from exporter.kubernetes.conditions import GPU_HEALTHY, OURS, NodeCondition
from exporter.kubernetes.labels import labels
from exporter.reading.files import FileSource
from tests.fakes.source_context import source_context
from tests.fakes.waiting import is_readable
from tests.program import ROOT
from tools.bad_values import word_of

EXAMPLES = ROOT / "examples"


def test_the_rule_holds_in_its_recording_and_clears() -> None:
    """It is without a mistake, active after five minutes, and tells its own action."""
    book = EVERYTHING.rule_book((str(EXAMPLES / "rule.toml"),))
    assert not book.mistakes
    lines = (EXAMPLES / "recording.jsonl").read_text("utf-8").splitlines()
    found = [(at, fault) for at, it in replayed(lines, book) for fault in it.active]
    assert {fault.rule for _, fault in found} == {"memory_dirty"}
    assert 300 <= found[0][0] < 400
    assert found[-1][0] < 1200
    assert found[0][1].advice == "Find the program that writes most with `pidstat -d 1`."


@pytest.mark.system
def test_the_probe_prints_a_metric() -> None:
    """Its first line is a metric with a name that is not taken."""
    with subprocess.Popen([sys.executable, EXAMPLES / "probe.py"], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        line = run.stdout.readline() if is_readable(run.stdout, 30) else b""
        run.kill()
    reader = LineReader("example", NAMES.__contains__, lambda: 0.0)
    record = reader.parse(json.loads(line))
    assert isinstance(record, ProbeMetric)
    assert record.name == "hw_entropy_available"


def test_the_collector_reads_its_file(tmp_path: Path) -> None:
    """Its families say what the kernel says, under names that are free."""
    file = tmp_path / "sys/kernel/random/entropy_avail"
    file.parent.mkdir(parents=True)
    file.write_text("256\n")
    config = Config()
    roots = replace(config.sources, proc_root=str(tmp_path))
    context = source_context(replace(config, sources=roots))
    (row,) = COLLECTOR.sources
    source = row.build(context)
    assert isinstance(source, FileSource)
    assert asyncio.run(source.read()).value == Entropy(256)
    assert [family.name for family in COLLECTOR.families] == ["hw_entropy_available"]
    assert word_of(COLLECTOR.families[0]) == "none: the kernel refills it"
    assert not NAMES & {family.name for family in COLLECTOR.families}


def test_the_panel_shows_metrics_that_exist() -> None:
    """Each name in its queries is a family of ours."""
    panel = json.loads((EXAMPLES / "panel.json").read_text("utf-8"))
    named = {name for it in panel["targets"] for name in re.findall(r"hw_\w+", it["expr"])}
    assert named
    assert named <= NAMES


def test_the_taint_follows_the_label_that_is_written() -> None:
    """The rule of node-feature-discovery names a label and a value of our file, and taints."""
    (rule,) = yaml.safe_load((EXAMPLES / "nfd_taint.yaml").read_text())["spec"]["rules"]
    (feature,) = rule["matchFeatures"]
    ((label, matched),) = feature["matchExpressions"].items()
    ill = NodeCondition(GPU_HEALTHY, "False", "GpuLost", "")
    assert feature["feature"] == "local.label"
    assert f"{label}={matched['value'][0]}" in labels((ill,), "").splitlines()
    (taint,) = rule["taints"]
    assert taint["key"].startswith("feature.node.kubernetes.io/")


_CONDITION = re.compile(r"\b(\w+Healthy)\b")
_UNHEALTHY = re.compile(r"\w+Healthy=False,|status: \"False\"|c\.status == \"False\"")


@pytest.mark.parametrize("name", ["draino.yaml", "nvsentinel.yaml", "machine_health_check.yaml"])
def test_consumers_act_on_our_conditions(name: str) -> None:
    """Each names conditions that are set, and acts while they are False."""
    text = (EXAMPLES / "consumers" / name).read_text()
    assert yaml.safe_load(text)
    assert set(_CONDITION.findall(text)) <= set(OURS)
    assert len(_UNHEALTHY.findall(text)) == len(_CONDITION.findall(text))


def test_the_deployment_of_draino_fits_its_schema() -> None:
    """Kubernetes knows every field."""
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    deployment = yaml.safe_load((EXAMPLES / "consumers/draino.yaml").read_text())
    kubernetes_validate.validate(deployment, "1.33", strict=True)


def test_node_problem_detector_runs_a_command_that_exists() -> None:
    """Its arguments are those of the command line, its output fits, and a warning is a problem."""
    plugin = json.loads((EXAMPLES / "consumers/node_problem_detector.json").read_text())
    (rule,) = plugin["rules"]
    assert f"`{' '.join(rule['args'])}`" in (ROOT / "docs/cli.md").read_text()
    assert plugin["pluginConfig"]["max_output_length"] == 80
    (condition,) = plugin["conditions"]
    assert condition["type"] == rule["condition"]
    assert NPD_EXIT_CODES["warning"] == NPD_EXIT_CODES["critical"]
    assert "warning" in condition["message"]
    assert "Critical" not in rule["reason"]
