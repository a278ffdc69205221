"""What is broken and why: the panels about faults that several dashboards share."""

from dataclasses import replace
from typing import Any

from tools.dashboards.document import Marks
from tools.dashboards.panels import Column, Panel, Query, Words
from tools.dashboards.parts import (
    BAD,
    CAUSE_COLUMN,
    CLUSTER_COLUMN,
    EACH_FAULT,
    EACH_GPU,
    FAULT_COLUMN,
    GPU_COLUMN,
    NODE_COLUMN,
    OLD,
    ON,
    SILENT,
    TO_GPU_HERE,
    G,
    fresh,
    now,
    table,
)

SEVERITIES: Words = ((3, "critical", "red"), (2, "warning", "orange"), (1, "info", "blue"))
OVER_TIME: Words = (*SEVERITIES, (0, "cleared", "dark-green"))
STATES: Words = (
    *((4, "failed", "red"), (3, "degraded", "orange"), (2, "needs attention", "orange")),
    *((1, "stale", "orange"), (0, "ok", "green")),
)
Columns = tuple[Column, ...]
ANSWERS: Words = ((1, "yes", "green"), (0, "LOST", "red"))
COMPONENT = "cluster, node, cause_hw_type, cause_hw_id"


def _ranked(selector: str, *, is_active: bool = True) -> str:
    """Every fault with its severity as a number: 3 critical, 2 warning, 1 info."""
    active = " == 1" if is_active else ""
    return " or ".join(
        f'{rank} * (hw_fault_active{{{selector},severity="{severity}"}}{active})'
        for rank, severity, _ in SEVERITIES
    )


def _renamed(expr: str, **labels: str) -> str:
    """Return the series with labels copied from others."""
    for target, source in labels.items():
        expr = f'label_replace({expr}, "{target}", "$1", "{source}", "(.*)")'
    return expr


def _explained(selector: str) -> str:
    """For every fault that is a root: how many it explains, itself among them."""
    counted = f"count by ({COMPONENT}, cause) (hw_fault_root_cause{{{selector}}})"
    roots = _renamed(counted, fault="cause", hw_type="cause_hw_type", hw_id="cause_hw_id")
    return f"max by ({EACH_FAULT}) ({roots})"


def _since(selector: str) -> str:
    return f"max by ({EACH_FAULT}) (time() - hw_fault_since_timestamp_seconds{{{selector}}})"


WHERE = (CLUSTER_COLUMN, NODE_COLUMN)


def root_causes(
    selector: str = ON, *, where: Columns = WHERE, width: int = 24, height: int = 8
) -> Panel:
    """Return a table of what has to be repaired."""
    explained = _explained(selector)
    ranked = f"({_ranked(selector)}) and on ({EACH_FAULT}) {explained}"
    return table(
        "Root causes",
        (
            Column("A", "Severity", width=90, words=SEVERITIES),
            *where,
            Column("hw_name", "Component"),
            FAULT_COLUMN,
            Column("B", "Symptoms", width=120),
            Column("C", "For", "s", width=100, decimals=1),
        ),
        f"max by ({EACH_FAULT}, hw_name) ({ranked})",
        f"({explained} - 1) and on ({EACH_FAULT}) hw_fault_active{{{selector}}} == 1",
        f"{_since(selector)} and on ({EACH_FAULT}) {explained}",
        help="Active root causes, and the number of faults that follow from each. Click a"
        " fault to open its runbook.",
        empty="no active faults",
        sort="-Severity",
        width=width,
        height=height,
    )


def symptoms(
    selector: str = ON, *, where: Columns = WHERE, width: int = 24, height: int = 8
) -> Panel:
    """Return a table of what follows from root causes."""
    is_root = f"unless on ({EACH_FAULT}) {_explained(selector)}"
    causes = f"(hw_fault_root_cause{{{selector}}} {is_root})"
    active = f"hw_fault_active{{{selector}}}"
    names = _renamed(active, cause_hw_type="hw_type", cause_hw_id="hw_id", cause_name="hw_name")
    joined = (
        f"{causes} * on ({COMPONENT}) group_left (cause_name)"
        f" topk by ({COMPONENT}) (1, {names} >= bool 0)"
    )
    kept = f"{EACH_FAULT}, cause, cause_name"
    return table(
        "Symptoms and their root causes",
        (
            Column("A", "Severity", width=90, words=SEVERITIES),
            *where,
            Column("hw_name", "Component"),
            FAULT_COLUMN,
            CAUSE_COLUMN,
            Column("cause_name", "On"),
            Column("C", "For", "s", width=100, decimals=1),
        ),
        f"max by ({EACH_FAULT}, hw_name) (({_ranked(selector)}) {is_root})",
        f"max by ({kept}) ({joined} or on ({EACH_FAULT}) {causes})",
        f"{_since(selector)} {is_root}",
        help="Active faults that another fault explains, with their root cause.",
        empty="no symptoms",
        sort="-Severity",
        width=width,
        height=height,
    )


def faults_over_time(
    selector: str = ON, *, legend: str = "{{node}} ", width: int = 24, height: int = 8
) -> Panel:
    """When which fault held: the worst dozen of each severity."""
    queries = tuple(
        Query(
            f"{rank} * max by ({EACH_FAULT}, hw_name) (hw_fault_active{{{given}}}"
            f" and on ({EACH_FAULT}) topk(12, max_over_time(hw_fault_active{{{given}}}"
            f"[$__range] @ end())))",
            f"{legend}{{{{hw_name}}}}: {{{{fault}}}}",
        )
        for rank, severity, _ in SEVERITIES[:2]
        for given in (f'{selector},severity="{severity}"',)
    )
    return Panel(
        "Critical faults and warnings over time",
        queries,
        "state-timeline",
        width=width,
        height=height,
        help="At most twelve per severity.",
        empty="no faults",
        words=OVER_TIME,
    )


def count_of(severity: str, colour: str, title: str, *, width: int = 4) -> Panel:
    """How many faults of a severity are active, coloured from one on."""
    expr = f'sum(hw_faults{{{ON},severity="{severity}"}})'
    return now(title, expr, limits=((1, colour),), width=width)


def unhealthy_nodes(**more: Any) -> Panel:
    """Return the number of nodes with a critical fault."""
    expr = f"count(hw_node_healthy{{{ON}}} == 0) or vector(0)"
    what = "Nodes with a critical fault."
    return now("Unhealthy nodes", expr, limits=BAD, help=what, **more)


def missing_nodes(**more: Any) -> Panel:
    """Return the number of nodes that have stopped to report."""
    what = "Nodes that reported an hour ago but do not report now."
    return now("Missing nodes", f"count({SILENT}) or vector(0)", limits=BAD, help=what, **more)


def _begins(severity: str) -> str:
    """Where a fault is active that was not half a minute before."""
    active = f'hw_fault_active{{{ON},severity="{severity}"}}'
    return f"{active} == 1 unless {active} offset 30s == 1"


CRITICAL = Marks("Critical faults begin", _begins("critical"), "red")
WARNING = Marks("Warnings begin", _begins("warning"), "orange", is_on=False)
MARKS = (CRITICAL, WARNING)
NO_MARKS = (replace(CRITICAL, is_on=False), WARNING)
"""Of many nodes: too many to look at unless asked for."""


def gpus_table(
    selector: str = G, *, where: Columns = WHERE, width: int = 24, height: int = 9
) -> Panel:
    """One row for each GPU: how it is, and what it does; nothing old of what does not answer."""
    states = " or ".join(
        f'{rank} * (hw_status{{{ON},hw_type="gpu",hw_state=~"{states}"}} == 1)'
        for rank, states in (
            *((4, "failed"), (3, "degraded"), (2, "predicted_failure|needs_cleaning"), (0, "ok")),
        )
    )
    by_uuid = _renamed(f"({states})", gpu_uuid="hw_id")
    held = f'{selector},reason!="gpu_idle"'
    values = (
        f"hw_gpu_utilization_percent{{{selector}}}",
        f"hw_gpu_memory_used_bytes{{{selector}}} / hw_gpu_memory_total_bytes{{{selector}}}",
        f"hw_gpu_temperature_celsius{{{selector}}}",
        f"hw_gpu_power_draw_watts{{{selector}}}",
        f"sum by ({EACH_GPU}) (rate(hw_gpu_throttle_seconds_total{{{held}}}[$__rate_interval]))",
        f"hw_gpu_processes{{{selector}}}",
    )
    return table(
        "GPUs",
        (
            Column("B", "State", width=120, words=STATES),
            *where,
            GPU_COLUMN if where else replace(GPU_COLUMN, link=TO_GPU_HERE),
            Column("A", "Up", width=80, words=ANSWERS, is_loud=False),
            Column("C", "Utilization", "percent", most=100),
            Column("D", "Memory", "percentunit", most=1),
            Column("E", "Temperature", "celsius", width=110, limits=((80, "orange"), (90, "red"))),
            Column("F", "Power", "watt", width=90),
            Column("G", "Throttled", "percentunit", width=130, limits=((0.05, "orange"),)),
            Column("H", "Processes", width=90),
            Column("I", "Last read", "s", width=110, decimals=0, limits=((60, "orange"),)),
        ),
        f"max by ({EACH_GPU}) (hw_gpu_up{{{selector}}})",
        f"max by (cluster, node, gpu_uuid) ({_or_stale(by_uuid)}"
        f" and on (cluster, node, gpu_uuid) hw_gpu_up{{{selector}}})",
        *(f"max by ({EACH_GPU}) ({fresh(f'({value})')})" for value in values),
        f"max by ({EACH_GPU}) (hw_gpu_data_age_seconds{{{selector}}})",
        help="State is the worst state from active faults, or stale while values come from"
        " the cache. A lost or stale GPU shows no values.",
        empty="no GPU on this node",
        sort="-State",
        width=width,
        height=height,
    )


def _or_stale(by_uuid: str) -> str:
    """Return the states by GPU; one that is not read now is not shown as well."""
    same = "on (cluster, node, gpu_uuid)"
    return f"({by_uuid} > 0 or {same} (0 * {OLD} + 1) or {same} {by_uuid})"
