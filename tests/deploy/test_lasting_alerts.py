"""An alert ends with its trouble: not after hours, and not with a restart of Prometheus."""

from pathlib import Path

import yaml

from tests.deploy.alert_cases import always, gauge
from tests.fakes.manifests import ROOT
from tests.fakes.promtool import needs_promtool, run, written
from tools.alerting.rules import alerts_by_hand

RULES = ROOT / "deploy/prometheus"
HOURS = 13
TARGET = 'job="hw-exporter",instance="10.0.0.1:8080"'


@needs_promtool
def test_a_node_that_is_down_for_hours_stays_the_same_alert(tmp_path: Path) -> None:
    """It has the name of the node when Prometheus no longer finds it, where its address differs."""
    minutes = 60 * HOURS
    series = (
        gauge(f"up{{{TARGET}}}", 1, 0, 0, (60, minutes, 1)),
        gauge(f'hw_node_info{{{TARGET},node="n1"}}', 1, None, None, (60, minutes, 1)),
        always('up{job="hw-exporter",instance="10.0.0.2:8080"}', 1),
    )
    labels = f'alertname="HwExporterDown",alertstate="firing",{TARGET},node="n1"'
    lasts = {"labels": f'ALERTS{{{labels},severity="warning"}}', "value": 1}
    test = {
        "interval": "1m",
        "input_series": [{"series": it.series, "values": it.values} for it in series],
        "promql_expr_test": [
            {
                "expr": 'ALERTS{alertname="HwExporterDown"}',
                "eval_time": f"{minute}m",
                "exp_samples": [lasts] if minute > 60 else [],
            }
            for minute in (59, 66, 6 * 60, 8 * 60, HOURS * 60)
        ],
    }
    groups = yaml.safe_load((RULES / "alerts.yml").read_text())["groups"]
    rules = tmp_path / "rules.yml"
    rules.write_text(
        yaml.safe_dump({"groups": [it for it in groups if it["name"] == "hw-by-hand"]})
    )
    run(written(tmp_path / "tests.yml", [rules], [test]))


def test_a_restart_of_prometheus_ends_no_alert() -> None:
    """Each waits briefly, so that it fires again in time, or so long that Prometheus keeps it."""
    waits = {alert.name: alert.wait for alert in alerts_by_hand()}
    assert {name for name, wait in waits.items() if wait not in {"", "2m", "10m"}} == set()
