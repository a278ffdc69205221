"""What the dashboards are put together from: variables, selectors, kinds of panels."""

from tools.dashboards import Panel, Query, Variable

NODES = Variable("node", "label_values(hw_node_info, node)")
NODE = Variable("node", "label_values(hw_node_info, node)", is_multi=False)
GPUS = Variable("gpu", 'label_values(hw_gpu_up{node=~"$node"}, gpu_index)')
NAMESPACES = Variable("namespace", "label_values(hw_gpu_workload_info, namespace)")

ON = 'node=~"$node"'
G = 'node=~"$node",gpu_index=~"$gpu"'
W = 'namespace=~"$namespace"'


def now(title: str, expr: str, unit: str = "short", *, warns: bool = False) -> Panel:
    """One number."""
    return Panel(title, (Query(expr),), "stat", unit, 4, warns=warns)


def lines(title: str, unit: str, *queries: tuple[str, str], help: str = "") -> Panel:  # noqa: A002 - Grafana's word
    """Lines over time."""
    return Panel(title, tuple(Query(*query) for query in queries), "timeseries", unit, help=help)


def table(title: str, expr: str, *, width: int = 24) -> Panel:
    """A table of what is there now."""
    return Panel(title, (Query(expr),), "table", width=width)


def each_gpu(title: str, unit: str, family: str, help: str = "") -> Panel:  # noqa: A002 - same
    """Lines over time, one for each GPU."""
    return lines(title, unit, (f"{family}{{{G}}}", "{{node}} gpu {{gpu_index}}"), help=help)
