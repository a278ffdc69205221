"""For each alert written by hand, series under which it is silent, fires, and clears.

Every case has three phases: an hour before, an hour and a half in which the trouble lasts, and four
hours after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.fakes.promtool import Series

BEFORE, DURING, AFTER = PHASES = 60, 92, 240
"""The length of each phase in minutes."""

SHORT = 5, 5, 10
"""Phases of a fault: its alert waits for less than a minute and goes on for five after it."""

UP = 'up{job="hw-exporter",instance="n1:8080"}'
INFO = 'hw_node_info{job="hw-exporter",instance="n1:8080",node="n1"}'


@dataclass(frozen=True, slots=True)
class Case:
    """An alert, its series, and the minute at which it must fire."""

    alert: str
    series: tuple[Series, ...]
    fires_at: int = BEFORE + DURING - 1


def gauge(
    series: str,
    before: float | None,
    during: float | None,
    after: float | None,
    lengths: tuple[int, int, int] = PHASES,
) -> Series:
    """A series that has one value in each phase; None where it is absent."""
    phases = zip((before, during, after), lengths, strict=True)
    return Series(series, " ".join(_level(value, minutes) for value, minutes in phases))


def always(series: str, value: float) -> Series:
    """A series that does not change."""
    return gauge(series, value, value, value)


def counter(series: str, rises_by: float) -> Series:
    """A counter that rises by so much a minute during the trouble, and otherwise rests."""
    during = f"0+{rises_by:g}x{DURING - 1}"
    return Series(series, f"0x{BEFORE - 1} {during} {rises_by * DURING:g}x{AFTER - 1}")


def _level(value: float | None, minutes: int) -> str:
    return f"_x{minutes}" if value is None else f"{value:g}x{minutes - 1}"


def _on(alert: str, series: str, good: float | None, bad: float) -> Case:
    """An alert about one gauge that is good or bad."""
    return Case(alert, (gauge(series, good, bad, good),))


def _rises(alert: str, series: str, by: float) -> Case:
    """An alert about one counter that rises."""
    return Case(alert, (counter(series, by),))


def fault(rule: str, severity: str, cause: str = "") -> tuple[Series, ...]:
    """A fault of one component, as the root of itself or explained by another fault.

    Only a root has the text of an incident.
    """
    labels = f'node="n1",fault="{rule}",hw_type="gpu",hw_id="GPU-1"'
    root = f'cause="{cause or rule}",cause_hw_type="gpu",cause_hw_id="GPU-1"'
    active = f'hw_fault_active{{{labels},severity="{severity}",hw_name="GPU 0"}}'
    told = gauge(f'hw_incident_info{{{labels},summary="",details=""}}', None, 1, None, SHORT)
    return (
        gauge(active, None, 1, 0, SHORT),
        gauge(f"hw_fault_root_cause{{{labels},{root}}}", None, 1, None, SHORT),
        *(() if cause else (told,)),
    )


def _targets() -> Iterator[Case]:
    yield Case("HwExporterDown", (gauge(UP, 1, 0, 1), gauge(INFO, 1, None, 1)))
    wanted = gauge('kube_node_spec_unschedulable{node="n1"}', 0, 0, 0)
    known = (always('kube_node_info{node="n1"}', 1), wanted)
    yield Case("HwNodeGone", (gauge(INFO, 1, None, 1), *known))


def _exporter() -> Iterator[Case]:
    flapping = " ".join([f"0x{BEFORE - 1}", *["0 1 0 0"] * (DURING // 4), f"0x{AFTER - 1}"])
    labels = 'node="n1",fault="gpu_lost",hw_type="gpu",hw_id="GPU-1"'
    active = f'hw_fault_active{{{labels},severity="warning",hw_name="GPU 0"}}'
    told = always(f'hw_incident_info{{{labels},summary="",details=""}}', 1)
    yield Case("HwFaultFlapping", (Series(active, flapping), told))
    unjudged = 'hw_fault_transitions_total{node="n1",fault="gpu_lost",state="unjudged"}'
    yield _rises("HwFaultUnknown", unjudged, 1)
    yield _on("HwExporterSnapshotOld", 'hw_exporter_snapshot_age_seconds{node="n1"}', 10, 300)
    dropped = 'hw_exporter_dropped_series_total{node="n1",family="hw_gpu_workload_info"}'
    yield _rises("HwExporterSeriesDropped", dropped, 1)
    yield _on("HwExporterProbeDown", 'hw_exporter_probe_up{node="n1",probe="npu"}', 1, 0)
    skipped = 'hw_exporter_rules_skipped{node="n1",reason="bad"}'
    yield _on("HwExporterRulesSkipped", skipped, 0, 2)
    refused = 'hw_exporter_http_connections_refused_total{node="n1"}'
    yield _rises("HwExporterConnectionsRefused", refused, 5)
    forged = 'hw_kernel_log_rejected_records_total{node="n1",reason="user_record"}'
    yield _rises("HwKernelLogForged", forged, 60)


def of_node(node: str, rack: str = "r1") -> str:
    """The labels of a node."""
    return f'cluster="a",rack="{rack}",node="{node}"'


def began(rule: str, node: str, *, at: int = 60 * BEFORE, rack: str = "r1") -> Series:
    """A fault of a node that began at this second, for as long as the trouble lasts."""
    labels = f'{of_node(node, rack=rack)},fault="{rule}",hw_type="x",hw_id="1"'
    return gauge(f"hw_fault_since_timestamp_seconds{{{labels}}}", None, at, None)


def _together() -> Iterator[Case]:
    of_alerts = {
        "HwManyLinksDown": ("ib_port_down", "net_link_down", "ib_port_down"),
        "HwManyNodesHot": ("node_inlet_hot", "gpu_overheat", "cpu_thermal_throttle"),
        "HwManyNodesPowerLimited": ("gpu_power_brake", "power_supply_alarm", "gpu_power_brake"),
    }
    for alert, rules in of_alerts.items():
        yield Case(alert, tuple(began(rule, f"n{n}") for n, rule in enumerate(rules)))
    ups = (f'up{{job="hw-exporter",instance="n{n}:8080"}}' for n in range(3))
    yield Case("HwManyNodesDown", tuple(gauge(up, 1, 0, 1) for up in ups))


OF_ROLLOUT = 'fault="gpu_xid_warning",hw_type="gpu",hw_id="1"'
"""The fault of a node with a bad version."""


def rollout(
    label: str, family: str, *, bad: int, others_bad: int = 0, cause: str = "gpu_xid_warning"
) -> tuple[Series, ...]:
    """Four nodes with a new version and eight with the old one; so many have a fault."""
    found = []
    root = f'cause="{cause}",cause_hw_type="gpu",cause_hw_id="1"'
    for number in range(12):
        node, version = of_node(f"n{number}"), "new" if number < 4 else "old"
        found.append(always(f'{family}{{{node},{label}="{version}"}}', 1))
        has_fault = number < bad or 4 <= number < 4 + others_bad
        labels = f"{node},{OF_ROLLOUT}"
        active = f'hw_fault_active{{{labels},severity="warning"}}'
        found.append(gauge(active, 0, int(has_fault), 0))
        if has_fault:
            found.append(gauge(f"hw_fault_root_cause{{{labels},{root}}}", None, 1, None))
    return tuple(found)


def _across_nodes() -> Iterator[Case]:
    yield Case("HwFaultFollowsDriver", rollout("driver_version", "hw_gpu_backend_info", bad=3))
    yield Case("HwFaultFollowsKernel", rollout("kernel", "hw_node_info", bad=3))
    series: list[Series] = []
    for number in range(3):
        node = of_node(f"n{number}")
        workload = f'{node},namespace="ml",pod="train-{number}",gpu_uuid="1"'
        labels = f'{node},fault="gpu_app_fault",severity="info",hw_type="process",hw_id="1"'
        series += (
            always(f"hw_gpu_workload_info{{{workload}}}", 1),
            gauge(f"hw_fault_active{{{labels}}}", None, 1, None),
        )
    yield Case("HwJobFailsOnManyNodes", tuple(series))


CASES = (*_targets(), *_exporter(), *_together(), *_across_nodes())
"""The alerts that are written by hand; those of rules are tried from the rules."""
