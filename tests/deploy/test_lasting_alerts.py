"""Alerts that last for hours, over a restart of Prometheus, and that do not settle."""

from pathlib import Path

from tests.deploy.alert_cases import always, gauge
from tests.fakes.promtool import Series, gives, needs_promtool, only, trial, tried
from tools.alerting.rules import alerts_by_hand

HOURS = 13
BY_HAND = ("hw-by-hand",)
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
    alert = 'ALERTS{alertname="HwExporterDown"}'
    labels = f'alertname="HwExporterDown",alertstate="firing",{TARGET},node="n1"'
    lasts = f'ALERTS{{{labels},severity="warning"}}'
    expected = (
        gives(alert, minute, 1 if minute > 60 else None, lasts)
        for minute in (59, 66, 6 * 60, 8 * 60, HOURS * 60)
    )
    tried(tmp_path, trial(series, *expected), rules=[only(BY_HAND, tmp_path)])


@needs_promtool
def test_a_node_that_never_answered_has_its_address_as_name(tmp_path: Path) -> None:
    """With IPv6 too, where the address has colons: else a whole cluster is one node."""
    of_instances = {"n1:8080": "n1", "10.0.0.1:8080": "10.0.0.1", "[fd00::5]:8080": "fd00::5"}
    down = 'count by (node) (ALERTS{alertname="HwExporterDown"}) == 1'
    tests = (
        trial((always(f'up{{job="hw-exporter",instance="{it}"}}', 0),), gives(down, 9, 1, node))
        for it, node in ((it, f'{{node="{name}"}}') for it, name in of_instances.items())
    )
    tried(tmp_path, *tests, rules=[only(BY_HAND, tmp_path)])


@needs_promtool
def test_a_pod_that_does_not_answer_is_in_service_discovery(tmp_path: Path) -> None:
    """Its target has the address of the pod; HwNodeGone is about nodes without a target."""
    series = (
        gauge(f"up{{{TARGET}}}", 1, 0, 1),
        gauge(f'hw_node_info{{{TARGET},node="n1"}}', 1, None, 1),
        always('kube_node_info{node="n1"}', 1),
        always('kube_node_spec_unschedulable{node="n1"}', 0),
    )
    firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
    expected = (gives(firing, minute, 1, '{alertname="HwExporterDown"}') for minute in (75, 100))
    tried(tmp_path, trial(series, *expected), rules=[only(BY_HAND, tmp_path)])


def test_a_restart_of_prometheus_ends_no_alert() -> None:
    """Each waits briefly, so that it fires again in time, or so long that Prometheus keeps it."""
    waits = {alert.name: alert.wait for alert in alerts_by_hand()}
    assert {name for name, wait in waits.items() if wait not in {"", "2m", "10m"}} == set()


@needs_promtool
def test_only_a_root_that_notifies_flaps(tmp_path: Path) -> None:
    """What is info, silenced or follows from another fault sends nothing when it flaps either.

    Nor what flaps while another alert tells of the component.
    """
    beside = 'node="n1",hw_type="npu",hw_id="2"'
    series = [
        always(f'hw_fault_active{{{beside},fault="npu_errors",severity="warning"}}', 1),
        Series(f'hw_incident_info{{{beside},fault="npu_errors"}}', " ".join(["_ 1"] * 60)),
        Series(f'hw_fault_active{{{beside},fault="npu_off",severity="warning"}}', "1 0 " * 60),
        Series(f'hw_incident_info{{{beside},fault="npu_off"}}', "1 _ " * 60),
    ]
    for name, severity, families in (
        ("root", "warning", ("hw_incident_info",)),
        ("info", "info", ("hw_incident_info",)),
        ("silenced", "warning", ("hw_incident_info", "hw_fault_silenced")),
        ("symptom", "warning", ()),
    ):
        labels = f'node="n1",fault="npu_{name}",hw_type="npu",hw_id="1"'
        active = f'hw_fault_active{{{labels},severity="{severity}",hw_name="NPU"}}'
        series.append(Series(active, " ".join(["1 0"] * 60)))
        series += (Series(f"{it}{{{labels}}}", " ".join(["1 _"] * 60)) for it in families)
    flapping = 'count by (fault) (ALERTS{alertname="HwFaultFlapping"})'
    expected = (gives(flapping, minute, 1, '{fault="npu_root"}') for minute in (90, 91))
    tried(tmp_path, trial(series, *expected), rules=[only(BY_HAND, tmp_path)])
