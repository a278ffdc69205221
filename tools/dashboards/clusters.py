"""The dashboard of all nodes."""

from tools.dashboards.document import Dashboard, Row
from tools.dashboards.fault_panels import (
    NO_MARKS,
    count_of,
    missing_nodes,
    root_causes,
    symptoms,
    unhealthy_nodes,
)
from tools.dashboards.panels import Column
from tools.dashboards.parts import (
    BAD,
    CLUSTER_COLUMN,
    CLUSTERS,
    FULL,
    HOT,
    INSTANCE,
    NO_FILESYSTEMS,
    NODE_COLUMN,
    NODES,
    ON,
    bars,
    highest,
    lines,
    now,
    table,
)

HEALTHY = ((1, "yes", "green"), (0, "NO", "red"))
SPREAD = ((0.5, "median"), (0.95, "95th percentile"))
RECORDED = (
    "node:hw_cpu_usage_percent:max",
    "node:hw_faults:max",
    "node:hw_gpu_backend_info:max",
    "node:hw_gpu_count:max",
    "node:hw_gpu_used_count:max",
    "node:hw_memory_usage_percent:max",
    "node:hw_node_healthy:min",
    "node:hw_node_info:max",
    "node:hw_node_uptime_seconds:max",
    "node_fault:hw_fault_active:max",
    "node_fault:hw_fault_root_cause:max",
    "node_fault:hw_fault_since_timestamp_seconds:min",
    "node_gpu:hw_gpu_type_count:max",
)
"""What this page asks in place of the families of all nodes: few series, also above shards."""

NO_GPU = "no GPU on this node"


def _spread(family: str) -> tuple[tuple[str, str], ...]:
    quantiles = ((f"quantile({share}, {family}{{{ON}}})", name) for share, name in SPREAD)
    return (*quantiles, (f"max({family}{{{ON}}})", "highest"))


CLUSTER = Dashboard(
    "cluster",
    "Cluster",
    "All nodes at a glance; needs the recording rules.",
    (CLUSTERS, NODES, INSTANCE),
    (
        Row(
            "Faults and root causes",
            (
                unhealthy_nodes(width=6),
                missing_nodes(width=6),
                count_of("critical", "red", "Critical faults", width=6),
                count_of("warning", "orange", "Warnings", width=6),
                root_causes(width=16, height=6),
                now("GPUs lost", f"sum(node:hw_gpu_lost:count{{{ON}}}) or vector(0)", limits=BAD),
                now(
                    "GPUs in use",
                    f"sum(hw_gpu_used_count{{{ON}}}) / sum(hw_gpu_count{{{ON}}})",
                    "percentunit",
                    empty="no GPU",
                ),
                now("GPUs", f"sum(hw_gpu_count{{{ON}}})", empty="none"),
                now("Nodes", f"count(hw_node_info{{{ON}}})"),
            ),
        ),
        Row(
            "Utilization",
            (
                lines(
                    "CPU usage: spread over the nodes",
                    "percent",
                    *_spread("hw_cpu_usage_percent"),
                    most=100,
                ),
                lines(
                    "GPU utilization, mean of each model",
                    "percent",
                    ("gpu_name:hw_gpu_utilization_percent:avg", "{{gpu_name}}"),
                    help="All nodes, regardless of the selection above.",
                    empty="no GPU",
                    most=100,
                ),
                lines(
                    "Memory usage: spread over the nodes",
                    "percent",
                    *_spread("hw_memory_usage_percent"),
                    most=100,
                ),
                lines(
                    "GPU power, sum of each model",
                    "watt",
                    ("gpu_name:hw_gpu_power_draw_watts:sum", "{{gpu_name}}"),
                    help="All nodes, regardless of the selection above.",
                    empty="no GPU",
                    look="stack",
                ),
            ),
        ),
        Row(
            "Symptoms",
            (
                symptoms(width=16),
                bars(
                    "Components by active fault",
                    "none",
                    f"topk(12, sum by (fault) (hw_fault_active{{{ON}}}) > 0)",
                    "{{fault}}",
                    help="The twelve most frequent.",
                    empty="no active faults",
                ),
            ),
        ),
        Row(
            "GPUs",
            (
                lines(
                    "Ten nodes with the hottest GPU",
                    "celsius",
                    (
                        highest(
                            10,
                            f"node:hw_gpu_temperature_celsius:max{{{ON}}}",
                            "cluster, node",
                        ),
                        "{{node}}",
                    ),
                    help="The ten hottest at the end of the time range.",
                    empty="no GPU",
                    limits=HOT,
                    least=None,
                ),
                lines(
                    "GPUs in use, unused and lost",
                    "short",
                    (f"sum(hw_gpu_used_count{{{ON}}})", "in use"),
                    (f"sum(hw_gpu_count{{{ON}}}) - sum(hw_gpu_used_count{{{ON}}})", "unused"),
                    (f"sum(node:hw_gpu_lost:count{{{ON}}})", "lost"),
                    colours=(("in use", "green"), ("unused", "blue"), ("lost", "red")),
                    empty="no GPU",
                ),
            ),
        ),
        Row(
            "Nodes",
            (
                bars(
                    "Fullest filesystems",
                    "percentunit",
                    f"topk(10, node:hw_filesystem_used:ratio{{{ON}}})",
                    "{{node}} {{mountpoint}}",
                    limits=FULL,
                    most=1,
                    empty=NO_FILESYSTEMS,
                ),
                bars(
                    "Busiest nodes: CPU",
                    "percent",
                    f"topk(10, hw_cpu_usage_percent{{{ON}}})",
                    "{{node}}",
                    limits=HOT,
                    most=100,
                ),
                bars(
                    "Busiest nodes: network, in and out",
                    "Bps",
                    f"topk(10, node:hw_network_bytes:rate5m{{{ON}}})",
                    "{{node}}",
                ),
            ),
        ),
        Row(
            "Inventory",
            (
                table(
                    "Nodes",
                    (
                        Column("B", "Healthy", width=90, words=HEALTHY),
                        CLUSTER_COLUMN,
                        NODE_COLUMN,
                        Column("C", "GPUs", width=70),
                        Column("D", "CPU", "percent", most=100),
                        Column("E", "Memory", "percent", most=100),
                        Column("F", "Uptime", "s", width=110, decimals=1),
                        Column("os", "System", width=150),
                        Column("os_version", "Version", width=80),
                        Column("kernel", "Kernel"),
                        Column("cpu_model", "CPU"),
                    ),
                    "max by (cluster, node, os, os_version, kernel, cpu_model)"
                    f" (hw_node_info{{{ON}}})",
                    f"max by (cluster, node) (hw_node_healthy{{{ON}}})",
                    f"max by (cluster, node) (hw_gpu_count{{{ON}}})",
                    f"max by (cluster, node) (hw_cpu_usage_percent{{{ON}}})",
                    f"max by (cluster, node) (hw_memory_usage_percent{{{ON}}})",
                    f"max by (cluster, node) (hw_node_uptime_seconds{{{ON}}})",
                    sort="Node",
                    height=10,
                ),
                table(
                    "GPU backends and drivers",
                    (
                        Column("backend", "Backend"),
                        Column("reason", "Reason"),
                        Column("driver_version", "Driver"),
                        Column("cuda_version", "CUDA"),
                        Column("Value", "Nodes", width=90),
                    ),
                    "count by (backend, reason, driver_version, cuda_version)"
                    f" (hw_gpu_backend_info{{{ON}}})",
                    width=12,
                    height=6,
                ),
                table(
                    "GPU models",
                    (Column("gpu_type", "Model"), Column("Value", "GPUs", width=90)),
                    f"sum by (gpu_type) (hw_gpu_type_count{{{ON}}})",
                    empty="no GPU",
                    width=12,
                    height=6,
                ),
            ),
            is_folded=True,
        ),
    ),
    NO_MARKS,
    RECORDED,
)
