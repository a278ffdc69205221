"""Cluster and node: the dashboards about machines."""

from tools.dashboard_parts import NODE, NODES, ON, lines, now, table
from tools.dashboards import Dashboard, Panel, Query, Row

CPU_SHARE = (
    f"sum by (mode) (rate(hw_cpu_seconds_total{{{ON}}}[5m]))"
    f" / on () group_left () sum(hw_cpu_threads{{{ON}}})"
)

CLUSTER = Dashboard(
    "cluster",
    "Cluster",
    "All nodes at a glance; needs the recording rules.",
    (NODES,),
    (
        Row(
            "Now",
            (
                now("Nodes", "count(hw_node_info)"),
                now("Nodes not healthy", "count(hw_node_healthy == 0) or vector(0)", warns=True),
                now("GPUs", "sum(hw_gpu_count)"),
                now("GPUs in use", "sum(hw_gpu_used_count)"),
                now("GPUs lost", "count(hw_gpu_up == 0) or vector(0)", warns=True),
                now("Power of all GPUs", "sum(hw_gpu_power_draw_watts)", "watt"),
            ),
        ),
        Row(
            "Faults",
            (
                table(
                    "Active faults and what caused them",
                    "hw_fault_active == 1",
                    width=16,
                ),
                Panel(
                    "Nodes with each fault",
                    (Query("sum by (fault) (hw_fault_active) > 0", "{{fault}}"),),
                    "bargauge",
                    width=8,
                ),
            ),
        ),
        Row(
            "Use",
            (
                lines(
                    "GPU utilization by model",
                    "percent",
                    ("gpu_name:hw_gpu_utilization_percent:avg", "{{gpu_name}}"),
                ),
                lines(
                    "GPU power by model",
                    "watt",
                    ("gpu_name:hw_gpu_power_draw_watts:sum", "{{gpu_name}}"),
                ),
                lines(
                    "GPU memory in use",
                    "percentunit",
                    ("node:hw_gpu_memory_used:ratio", "{{node}}"),
                ),
                lines("CPU", "percent", (f"hw_cpu_usage_percent{{{ON}}}", "{{node}}")),
                lines("Main memory", "percent", (f"hw_memory_usage_percent{{{ON}}}", "{{node}}")),
                lines("Network", "Bps", ("node:hw_network_bytes:rate5m", "{{node}}")),
            ),
        ),
        Row("Nodes", (table("Nodes", "hw_node_info"),)),
    ),
)

NODE_PAGE = Dashboard(
    "node",
    "Node",
    "One node: processors, memory, disks, network, bus.",
    (NODE,),
    (
        Row(
            "Now",
            (
                now("Healthy", f"hw_node_healthy{{{ON}}}", "bool_yes_no"),
                now("Up for", f"hw_node_uptime_seconds{{{ON}}}", "s"),
                now("Threads", f"hw_cpu_threads{{{ON}}}"),
                now("Main memory", f"hw_memory_total_bytes{{{ON}}}", "bytes"),
                now("GPUs", f"hw_gpu_count{{{ON}}} or vector(0)"),
                now("Faults", f"sum(hw_faults{{{ON}}})", warns=True),
            ),
        ),
        Row(
            "Processors and memory",
            (
                lines(
                    "Processor time",
                    "percentunit",
                    (
                        CPU_SHARE,
                        "{{mode}}",
                    ),
                ),
                lines(
                    "Load",
                    "short",
                    (f"hw_node_load1{{{ON}}}", "1 min"),
                    (f"hw_node_load15{{{ON}}}", "15 min"),
                ),
                lines(
                    "Main memory",
                    "bytes",
                    (f"hw_memory_used_bytes{{{ON}}}", "used"),
                    (f"hw_memory_cached_bytes{{{ON}}}", "cached"),
                    (f"hw_memory_available_bytes{{{ON}}}", "available"),
                ),
                lines(
                    "Waiting",
                    "percentunit",
                    (f"rate(hw_pressure_seconds_total{{{ON}}}[5m])", "{{resource}} {{kind}}"),
                    help="Share of time in which some, or all, tasks waited for the resource.",
                ),
            ),
        ),
        Row(
            "Disks and filesystems",
            (
                lines(
                    "Disk throughput",
                    "Bps",
                    (f"rate(hw_disk_read_bytes_total{{{ON}}}[5m])", "{{device}} read"),
                    (f"rate(hw_disk_written_bytes_total{{{ON}}}[5m])", "{{device}} written"),
                ),
                lines(
                    "Disk busy",
                    "percentunit",
                    (f"rate(hw_disk_io_time_seconds_total{{{ON}}}[5m])", "{{device}}"),
                ),
                lines(
                    "Room left",
                    "percentunit",
                    (
                        f"hw_filesystem_available_bytes{{{ON}}} / hw_filesystem_size_bytes{{{ON}}}",
                        "{{mountpoint}}",
                    ),
                ),
            ),
        ),
        Row(
            "Network",
            (
                lines(
                    "Traffic",
                    "Bps",
                    (f"rate(hw_network_receive_bytes_total{{{ON}}}[5m])", "{{device}} in"),
                    (f"rate(hw_network_transmit_bytes_total{{{ON}}}[5m])", "{{device}} out"),
                ),
                lines(
                    "Errors and drops",
                    "pps",
                    (f"rate(hw_network_receive_errors_total{{{ON}}}[5m])", "{{device}} errors in"),
                    (
                        f"rate(hw_network_transmit_errors_total{{{ON}}}[5m])",
                        "{{device}} errors out",
                    ),
                    (f"rate(hw_network_receive_drops_total{{{ON}}}[5m])", "{{device}} drops in"),
                ),
            ),
        ),
    ),
)
