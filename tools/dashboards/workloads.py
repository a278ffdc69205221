"""The dashboard of who uses the GPUs."""

from tools.dashboards.document import Dashboard, Row
from tools.dashboards.fault_panels import NO_MARKS
from tools.dashboards.panels import Column
from tools.dashboards.parts import (
    CLUSTER_COLUMN,
    CLUSTERS,
    GPU_COLUMN,
    NAMESPACES,
    NODE_COLUMN,
    NODES,
    ODD,
    ON,
    SELECTOR,
    W,
    fresh,
    lines,
    now,
    rate,
    table,
)

PLACE = "cluster, node, gpu_index, gpu_uuid, namespace, pod, container"
WORKLOAD_NAME = "{{namespace}} {{pod}} {{container}}"
WHO = "cluster, namespace, pod, container"
WORKLOAD_COLUMNS = (
    Column("namespace", "Namespace"),
    Column("pod", "Pod"),
    Column("container", "Container, unit or command"),
)
IDLE = ((1800, "orange"), (7200, "red"))
POWER = fresh(rate("hw_gpu_workload_energy_joules_total", W))
NOBODY = "no workload on a GPU"


def _top(function: str, expr: str, end: str) -> str:
    """By workload, the ten highest at the end of the time shown."""
    return f"{function} by ({WHO}) ({expr}) and on ({WHO}) topk(10, {function} by ({WHO}) ({end}))"


def _ten(function: str, family: str) -> str:
    series = fresh(f"{family}{{{W}}}")
    return _top(function, series, SELECTOR.sub(r"\g<0> @ end()", series))


def _ten_rates(family: str) -> str:
    rates = fresh(rate(family, W))
    return _top("sum", rates, SELECTOR.sub(r"\g<0> @ end()", rates))


PART_OF_A_GPU = " or ".join(
    f"max by ({PLACE}) (hw_gpu_workload_{name}{{{W}}})"
    for name in ("replicas", "quota_memory_bytes", "quota_sm_percent")
)
NOW = Row(
    "GPU allocation and idle GPUs",
    (
        table(
            "Workloads by longest idle allocation",
            (
                Column("E", "Longest idle", "s", width=160, decimals=1, limits=IDLE),
                CLUSTER_COLUMN,
                *WORKLOAD_COLUMNS,
                Column("A", "GPUs", width=80),
                Column("B", "Processes", width=100),
                Column("C", "GPU memory", "bytes", width=120),
                Column("D", "Utilization, mean", "percent", most=100),
                Column("F", "Power", "watt", width=100),
            ),
            f"count by ({WHO}) (hw_gpu_workload_info{{{W}}})",
            f"sum by ({WHO}) ({fresh(f'hw_gpu_workload_processes{{{W}}}')})",
            f"sum by ({WHO}) ({fresh(f'hw_gpu_workload_memory_used_bytes{{{W}}}')})",
            f"avg by ({WHO}) ({fresh(f'hw_gpu_workload_sm_utilization_percent{{{W}}}')})",
            f"max by ({WHO}) ({fresh(f'hw_gpu_idle_allocated_seconds{{{W}}}')})",
            f"sum by ({WHO}) ({POWER})",
            empty=NOBODY,
            sort="-Longest idle",
        ),
        now(
            "GPUs allocated",
            f"count(count by (cluster, node, gpu_uuid) (hw_gpu_workload_info{{{W}}}))",
        ),
        now(
            "Idle for 30 minutes",
            "count(count by (cluster, node, gpu_uuid)"
            f" (hw_gpu_idle_allocated_seconds{{{W}}} > 1800)) or vector(0)",
            limits=ODD,
            help="GPUs allocated to a workload that has not used them for 30 minutes or more.",
        ),
        now("Workloads", f"count(count by ({WHO}) (hw_gpu_workload_info{{{W}}}))"),
        now(
            "Power by workloads",
            f"sum({POWER})",
            "watt",
        ),
        now(
            "Orphaned GPU memory",
            f"sum(hw_gpu_orphan_memory_used_bytes{{{ON}}}) or vector(0)",
            "bytes",
            limits=((1, "orange"),),
            help="GPU memory of processes that no longer exist or whose pod is gone.",
        ),
        now(
            "Processes attributed",
            f"avg(hw_exporter_attribution_ratio{{{ON}}})",
            "percentunit",
            help="Share of GPU processes attributed to a workload; docs/workloads.md lists"
            " the reasons if not all are.",
        ),
    ),
)
TIME = Row(
    "Over time: the ten highest at the end",
    (
        lines(
            "GPU utilization, mean of the allocated GPUs",
            "percent",
            (_ten("avg", "hw_gpu_workload_sm_utilization_percent"), WORKLOAD_NAME),
            empty=NOBODY,
            most=100,
        ),
        lines(
            "GPU memory",
            "bytes",
            (_ten("sum", "hw_gpu_workload_memory_used_bytes"), WORKLOAD_NAME),
            empty=NOBODY,
        ),
        lines(
            "Idle allocation",
            "s",
            (_ten("max", "hw_gpu_idle_allocated_seconds"), WORKLOAD_NAME),
            empty=NOBODY,
            limits=IDLE[:1],
        ),
        lines(
            "Power",
            "watt",
            (_ten_rates("hw_gpu_workload_energy_joules_total"), WORKLOAD_NAME),
            empty=NOBODY,
        ),
    ),
)
PLACES = Row(
    "Placement",
    (
        table(
            "Workloads by GPU",
            (
                CLUSTER_COLUMN,
                NODE_COLUMN,
                GPU_COLUMN,
                *WORKLOAD_COLUMNS,
                Column("B", "GPU memory", "bytes", width=120),
                Column("C", "Utilization", "percent", most=100),
                Column("D", "Idle for", "s", width=130, decimals=1, limits=IDLE),
            ),
            f"max by ({PLACE}) (hw_gpu_workload_info{{{W}}})",
            f"max by ({PLACE}) ({fresh(f'hw_gpu_workload_memory_used_bytes{{{W}}}')})",
            f"max by ({PLACE}) ({fresh(f'hw_gpu_workload_sm_utilization_percent{{{W}}}')})",
            f"max by ({PLACE}) ({fresh(f'hw_gpu_idle_allocated_seconds{{{W}}}')})",
            empty=NOBODY,
            sort="Node",
            height=12,
        ),
        table(
            "Quotas of shared GPUs",
            (
                CLUSTER_COLUMN,
                NODE_COLUMN,
                GPU_COLUMN,
                *WORKLOAD_COLUMNS,
                Column("A", "Replicas", width=80),
                Column("B", "GPU memory", "bytes", width=120),
                Column("C", "Memory quota", "bytes", width=120),
                Column("D", "SM quota", "percent", most=100),
            ),
            f"max by ({PLACE}) (hw_gpu_workload_replicas{{{W}}})",
            f"max by ({PLACE}) (hw_gpu_workload_memory_used_bytes{{{W}}}) and ({PART_OF_A_GPU})",
            f"max by ({PLACE}) (hw_gpu_workload_quota_memory_bytes{{{W}}})",
            f"max by ({PLACE}) (hw_gpu_workload_quota_sm_percent{{{W}}})",
            help="Workloads on shared GPUs: replicas, CUDA MPS, HAMi, MIG; docs/sharing.md.",
            empty="no GPU is shared",
        ),
        table(
            "Why processes could not be attributed",
            (
                CLUSTER_COLUMN,
                Column("reason", "Reason"),
                Column("Value", "Nodes", width=100),
            ),
            f"count by (cluster, reason) (hw_exporter_attribution_info{{{ON}}})",
            help="ok: all processes are attributed; docs/workloads.md explains the other reasons.",
            empty="no node with a GPU",
            height=5,
        ),
    ),
)

WORKLOAD = Dashboard(
    "workload",
    "Workloads",
    "GPU usage, idle allocations and energy by workload.",
    (CLUSTERS, NODES, NAMESPACES),
    (NOW, TIME, PLACES),
    NO_MARKS,
)
