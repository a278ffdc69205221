"""No rule is refused, whichever nodes, labels and faults there are at the same time.

Prometheus refuses a whole rule when one of its nodes makes two series equal or a match ambiguous:
one odd node would silence the rule for the cluster.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.fakes.manifests import ROOT
from tests.fakes.prometheus import RULES
from tests.fakes.promtool import Series, gives, needs_promtool, samples, trial, tried

PAGE = ROOT / "tests/golden/pages/node_of_gpus.prom"
NODES = 4
ODD = {
    "other exporter": {
        "instance": "n0:9090",
        "driver_version": "9",
        "kernel": "9",
        "gpu_type": "Z",
    },
    "other job": {"job": "b/hw-exporter", "hw_name": "other"},
    "other cluster": {"cluster": "b"},
    "other rack": {"rack": "r9"},
    "no rack": {"cluster": "", "rack": ""},
}
"""What a second series of node n0 differs by: an upgrade, a relabelling, two service monitors."""

_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_PHASES = "{0}x10 _x10 {0}x10"


def _node(number: int, **labels: str) -> dict[str, str]:
    own = {"cluster": "a", "rack": f"r{number // 2}", "job": "hw-exporter"}
    return own | {"instance": f"n{number}:8080", "node": f"n{number}"} | labels


def _faults() -> Iterator[tuple[str, dict[str, str]]]:
    """Three GPUs with two symptoms each, of one cause; a symptom with two causes."""
    port = {"hw_type": "pcie", "hw_id": "p1"}
    cause = {"cause": "pcie_link_down", "cause_hw_type": "pcie", "cause_hw_id": "p1"}
    yield from _fault({"fault": "pcie_link_down", **port}, cause)
    yield "hw_incident_info", {"fault": "pcie_link_down", **port, "summary": "", "details": ""}
    for gpu in range(3):
        for fault in ("gpu_lost", "nvlink_down", "gpu_app_fault"):
            yield from _fault({"fault": fault, "hw_type": "gpu", "hw_id": f"GPU-{gpu}"}, cause)
    second = {**cause, "cause": "gpu_power_brake"}
    lost = {"fault": "gpu_lost", "hw_type": "gpu", "hw_id": "GPU-0"}
    yield "hw_fault_root_cause", {**lost, **second}


def _fault(fault: dict[str, str], cause: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    yield "hw_fault_active", {**fault, "severity": "critical", "hw_name": fault["hw_id"]}
    yield "hw_fault_since_timestamp_seconds", fault
    yield "hw_fault_root_cause", {**fault, **cause}


def _cluster() -> dict[str, float]:
    """All series of four ill nodes with pods, of which one is there in five other ways too."""
    page = samples(PAGE.read_text())
    found = {}
    for number in range(NODES):
        rows = [
            *(
                (name.partition("{")[0], dict(_LABEL.findall(name)), it)
                for name, it in page.items()
            ),
            *((name, labels, 1.0) for name, labels in _faults()),
            (
                "hw_gpu_workload_info",
                {"namespace": "ml", "pod": f"t-{number}", "gpu_uuid": "1"},
                1.0,
            ),
            ("up", {}, 1.0),
        ]
        for name, labels, value in rows:
            here = labels | _node(number)
            found[_series(name, here)] = value
            if number == 0:
                found |= {_series(name, _odd(here, name, odd)): value for odd in ODD.values()}
    return found


def _odd(labels: dict[str, str], name: str, changed: dict[str, str]) -> dict[str, str]:
    if name == "up":
        labels = {key: it for key, it in labels.items() if key != "node"}
    own = {"cluster", "rack", "job", "instance"}
    return labels | {key: it for key, it in changed.items() if key in own or key in labels}


def _series(name: str, labels: dict[str, str]) -> str:
    return name + "{" + ",".join(f'{key}="{text}"' for key, text in sorted(labels.items())) + "}"


@needs_promtool
@pytest.mark.parametrize(
    "files",
    [
        ("recording.yml", "alerts.yml"),
        ("recording.yml", "clusters.yml"),
        ("compat-node.yml",),
        ("compat-dcgm.yml",),
    ],
    ids=" ".join,
)
def test_no_rule_is_refused(files: tuple[str, ...], tmp_path: Path) -> None:
    """Each rule evaluates with causes and symptoms, while nodes are there in six ways, and not."""
    series = [Series(name, _PHASES.format(f"{value:g}")) for name, value in _cluster().items()]
    active = "count(hw_fault_active) > bool 0 or vector(0)"
    expected = (gives(active, minute, here) for minute, here in ((9, 1), (19, 0), (29, 1)))
    tried(tmp_path, trial(series, *expected), rules=[RULES / name for name in files])


@needs_promtool
@pytest.mark.parametrize(("before", "after"), [(4, 3), (3, 4)])
def test_time_of_cpus_does_not_jump_with_their_number(
    before: int, after: int, tmp_path: Path
) -> None:
    """node_exporter's name never says that CPUs worked longer than time went by."""
    series = [
        Series('hw_cpu_seconds_total{node="n",mode="user"}', "100000+60x20"),
        Series('hw_cpu_threads{node="n"}', f"{before}x9 {after}x10"),
    ]
    test = trial(series, gives("sum(rate(node_cpu_seconds_total[5m])) <= bool 1", 12, 1))
    tried(tmp_path, test, rules=[RULES / "compat-node.yml"])


@needs_promtool
def test_a_refused_rule_is_noticed(tmp_path: Path) -> None:
    """The test above fails when a rule makes two series one."""
    expr = 'label_replace(hw_fault_active, "fault", "", "", "")'
    rules = tmp_path / "rules.yml"
    rules.write_text(
        yaml.safe_dump({"groups": [{"name": "x", "rules": [{"record": "x", "expr": expr}]}]})
    )
    test = trial(Series(f'hw_fault_active{{fault="{it}"}}', "1x5") for it in "ab")
    with pytest.raises(AssertionError, match="same labelset"):
        tried(tmp_path, test, rules=[rules])
