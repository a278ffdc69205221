"""What the dashboards are put together from: variables, selectors, kinds of panels."""

import re
from typing import Any

from tools.dashboards.document import RUNBOOKS, Variable
from tools.dashboards.panels import Column, Limits, Link, Panel, Query

CLUSTERS = Variable("cluster", "label_values(hw_node_info, cluster)")
NODES = Variable("node", 'label_values(hw_node_info{cluster=~"$cluster"}, node)')
NODE = Variable("node", NODES.query, is_multi=False, has_all=False)
GPU_NODES = Variable("node", 'label_values(hw_gpu_up{cluster=~"$cluster"}, node)', has_all=False)
GPUS = Variable(
    "gpu", 'label_values(hw_gpu_up{cluster=~"$cluster",node=~"$node"}, gpu_index)', sort=3
)
INSTANCE = Variable(
    "instance",
    'label_values(hw_node_info{cluster=~"$cluster",node=~"$node"}, instance)',
    is_multi=False,
    has_all=False,
    is_hidden=True,
)
"""An exporter that shows runbooks: each has them all."""

NAMESPACES = Variable(
    "namespace",
    'label_values(hw_gpu_workload_info{cluster=~"$cluster",node=~"$node"}, namespace)',
)

ON = 'cluster=~"$cluster",node=~"$node"'
G = f'{ON},gpu_index=~"$gpu"'
W = f'{ON},namespace=~"$namespace"'
EACH_GPU = "cluster, node, gpu_index, gpu_uuid"
EACH_FAULT = "cluster, node, fault, hw_type, hw_id"
RATE = "[$__rate_interval]"

SILENT = (
    f"(count by (cluster, node) (hw_node_info{{{ON}}} offset 1h)"
    f" unless on (cluster, node) hw_node_info{{{ON}}})"
)
SELECTOR = re.compile(r"\{[^{}]*\}(?:\[[^\]]*\])?")

OLD = f"(hw_gpu_data_stale{{{ON}}} == 1 or hw_gpu_up{{{ON}}} == 0)"
"""GPUs that are lost or served from the cache: what is known of them is not of now."""

KEPT = "${datasource:queryparam}&${cluster:queryparam}&${__url_time_range}"
TO_NODE = Link("Node", f"/d/hw-node?{KEPT}&var-node=${{__value.raw}}")
TO_GPU = Link("GPU", f"/d/hw-gpu?{KEPT}&var-node=${{__data.fields.node}}&var-gpu=${{__value.raw}}")
TO_GPU_HERE = Link("GPU", f"/d/hw-gpu?{KEPT}&${{node:queryparam}}&var-gpu=${{__value.raw}}")

STAT_HEIGHT = 3
NO_FILESYSTEMS = "not read: in Kubernetes, add the component filesystems"
BAD: Limits = ((1, "red"),)
ODD: Limits = ((1, "orange"),)
HOT: Limits = ((80, "orange"), (90, "red"))
FULL: Limits = ((0.85, "orange"), (0.95, "red"))
CLUSTER_COLUMN = Column("cluster", "Cluster", width=120)
GPU_COLUMN = Column("gpu_index", "GPU", width=60, link=TO_GPU)
NODE_COLUMN = Column("node", "Node", width=150, link=TO_NODE)
FAULT_COLUMN = Column("fault", "Fault", link=Link("Runbook", f"{RUNBOOKS}/${{__value.raw}}"))
CAUSE_COLUMN = Column("cause", "Root cause", link=FAULT_COLUMN.link)


def now(title: str, expr: str, unit: str = "none", **more: Any) -> Panel:
    """One number; `more` are further fields of the panel."""
    given = {"width": 4, "height": STAT_HEIGHT, "empty": "none", **more}
    return Panel(title, (Query(expr),), "stat", unit, **given)


def lines(title: str, unit: str, *queries: tuple[str, str], **more: Any) -> Panel:
    """Lines over time, from zero on unless `least` says otherwise."""
    asked = tuple(Query(*query) for query in queries)
    return Panel(title, asked, "timeseries", unit, **{"least": 0, **more})


def table(title: str, columns: tuple[Column, ...], *exprs: str, **more: Any) -> Panel:
    """Return a table of what is there now; a leading minus in `sort` is for the largest first."""
    asked = tuple(Query(expr) for expr in exprs)
    return Panel(title, asked, "table", columns=columns, **{"width": 24, **more})


def bars(title: str, unit: str, expr: str, legend: str, **more: Any) -> Panel:
    """Return a bar for each thing, the longest first."""
    asked = (Query(f"sort_desc({expr})", legend),)
    return Panel(title, asked, "bargauge", unit, **{"width": 8, "least": 0, **more})


def rate(family: str, selector: str = ON) -> str:
    """Return how much a counter grows in a second."""
    return f"rate({family}{{{selector}}}{RATE})"


def fresh(expr: str) -> str:
    """Return the series by GPU without those of GPUs that are lost or served from the cache."""
    return f"({expr} unless on (cluster, node, gpu_uuid) {OLD})"


def grown(family: str, selector: str) -> str:
    """How much a counter grew in each step, its first appearance included.

    `increase` sees nothing of a series that begins with its first error.
    """
    series = f"{family}{{{selector}}}"
    return f"({series} - ({series} offset $__interval or {series} * 0) > 0)"


def highest(count: int, expr: str, by: str) -> str:
    """Return the `count` series of the expression that are highest at the end of the time shown."""
    end = SELECTOR.sub(r"\g<0> @ end()", expr)
    return f"{expr} and on ({by}) topk({count}, {end})"
