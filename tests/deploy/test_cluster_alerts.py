"""Causes that lie across nodes: when they are told, when not, and what they mute."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.alert_cases import (
    BEFORE,
    DURING,
    OF_ROLLOUT,
    SHORT,
    began,
    fault,
    gauge,
    of_node,
    rollout,
)
from tests.fakes.manifests import ROOT, document
from tests.fakes.prometheus import RULES
from tests.fakes.promtool import Series, gives, needs_promtool, only, trial, tried

LINKS, MINUTE = "ib_port_down", 60


def _silent(name: str, series: Iterable[Series]) -> dict[str, Any]:
    alerts = 'ALERTS{alertname=~"Hw(Many|FaultFollows|JobFails).*"}'
    minutes = (BEFORE + 1, BEFORE + 30, BEFORE + DURING - 1)
    silent = (gives(f"count({alerts}) or vector(0)", minute, 0) for minute in minutes)
    return trial(series, *silent, name=name)


def _silenced(number: int) -> Series:
    labels = f"{of_node(f'n{number}')},{OF_ROLLOUT}"
    return gauge(f"hw_fault_silenced{{{labels}}}", None, 1, None)


@needs_promtool
def test_what_has_nothing_in_common_is_no_cause_across_nodes(tmp_path: Path) -> None:
    """Two nodes, three racks, three hours; faults of both versions, and what follows of others."""
    start = BEFORE * MINUTE
    driver = ("driver_version", "hw_gpu_backend_info")
    tests = [
        _silent("two nodes", (began(LINKS, "n1"), began(LINKS, "n2"))),
        _silent("racks", (began(LINKS, f"n{n}", rack=f"r{n}") for n in range(3))),
        _silent(
            "an hour apart", (began(LINKS, f"n{n}", at=start - 3600 * n - 300) for n in range(3))
        ),
        _silent("both versions", rollout(*driver, bad=3, others_bad=4)),
        _silent("two of the new version", rollout(*driver, bad=2)),
        _silent("what follows of another fault", rollout(*driver, bad=3, cause="gpu_lost")),
        _silent("under maintenance", (*rollout(*driver, bad=3), *map(_silenced, range(3)))),
    ]
    wanted = ("hw-faults-recording", "hw-cluster-recording", "hw-clusters")
    tried(tmp_path, *tests, rules=[only(wanted, tmp_path)])


@pytest.mark.parametrize("name", ["HwManyLinksDown", "HwManyNodesHot", "HwManyNodesPowerLimited"])
def test_a_cause_across_nodes_mutes_what_it_is_made_of(name: str) -> None:
    """The faults that Alertmanager mutes are those that the alert counts."""
    clusters = document(ROOT / "tools/alerting/clusters.yml")
    (faults,) = (it["together"]["faults"] for it in clusters if it["alert"] == name)
    inhibited = document(RULES / "alertmanager.yml")["inhibit_rules"]
    source = [f'alertname = "{name}"']
    (rule,) = (it for it in inhibited if it["source_matchers"] == source)
    assert rule["target_matchers"] == [f'fault =~ "{"|".join(faults)}"']
    assert rule["equal"] == ["cluster", "rack"]


def test_a_critical_alert_mutes_the_warning_of_the_same_fault_only() -> None:
    """Both have the labels by which an alert finds its incident; alerts without them never meet."""
    groups = document(RULES / "alerts.yml")["groups"]
    exprs = [
        it["expr"] for group in groups for it in group["rules"] if "hw_fault_active" in it["expr"]
    ]
    inhibited = document(RULES / "alertmanager.yml")["inhibit_rules"]
    (rule,) = (it for it in inhibited if 'severity = "critical"' in it["source_matchers"])
    assert rule["target_matchers"] == ['severity = "warning"', 'fault != ""']
    assert 'fault != ""' in rule["source_matchers"]
    joined = f"and on ({', '.join(rule['equal'])}) hw_incident_info"
    assert sum(joined in expr for expr in exprs) > len(exprs) / 2


@needs_promtool
def test_nodes_of_two_clusters_may_have_the_same_name(tmp_path: Path) -> None:
    """A silence or a target that is down in one cluster changes nothing for its namesake."""
    rule, broken = "disk_io_errors", SHORT[0] + 2
    labels = f'node="n1",fault="{rule}",hw_type="gpu",hw_id="GPU-1"'
    silenced = f'hw_fault_silenced{{cluster="b",{labels}}}'
    series = [
        *(_in(cluster, it) for cluster in "ab" for it in fault(rule, "critical")),
        gauge(silenced, None, 1, None, SHORT),
        *(_down_since(cluster, at) for cluster, at in (("a", 5), ("b", 10))),
    ]
    alerts = 'ALERTS{alertname="HwDiskIoErrors",alertstate="firing"}'
    text = f'ALERTS{{alertname="HwDiskIoErrors",alertstate="firing",cluster="a",{_OF_ALERT}}}'
    down = "sum by (cluster) (instance:hw_exporter_down:timestamp{%s}) / 60"
    test = trial(
        series,
        gives(alerts, broken, 1, text),
        gives(down % 'cluster="a"', 15, 5, '{cluster="a"}'),
        gives(down % 'cluster="b"', 15, 10, '{cluster="b"}'),
    )
    tried(tmp_path, test)


_OF_ALERT = (
    'fault="disk_io_errors",hw_id="GPU-1",hw_name="GPU 0",hw_type="gpu",node="n1",'
    'severity="critical"'
)


def _in(cluster: str, item: Series) -> Series:
    return Series(item.series.replace("{", f'{{cluster="{cluster}",', 1), item.values)


def _down_since(cluster: str, minute: int) -> Series:
    up = f'up{{cluster="{cluster}",job="hw-exporter",instance="n1"}}'
    return gauge(up, 1, 0, 0, (minute, 20, 1))


def test_a_node_that_is_down_mutes_no_namesake() -> None:
    """Alertmanager groups and inhibits the alerts of a node by its cluster too."""
    config = document(RULES / "alertmanager.yml")
    assert config["route"]["group_by"][:2] == ["cluster", "node"]
    assert all("cluster" in rule["equal"] for rule in config["inhibit_rules"])
