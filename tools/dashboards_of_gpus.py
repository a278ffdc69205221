"""GPUs and who uses them: the dashboards about accelerators."""

from tools.dashboard_parts import GPUS, NAMESPACES, NODES, ON, G, W, each_gpu, lines, now, table
from tools.dashboards import Dashboard, Row

GPU_PAGE = Dashboard(
    "gpu",
    "GPU",
    "GPUs of one or more nodes: use, heat, power, errors, links.",
    (NODES, GPUS),
    (
        Row(
            "Now",
            (
                now("GPUs", f"count(hw_gpu_up{{{G}}})"),
                now("Lost", f"count(hw_gpu_up{{{G}}} == 0) or vector(0)", warns=True),
                now("Served from the cache", f"sum(hw_gpu_data_stale{{{G}}})", warns=True),
                now("Hottest", f"max(hw_gpu_temperature_celsius{{{G}}})", "celsius"),
                now("Power", f"sum(hw_gpu_power_draw_watts{{{G}}})", "watt"),
                now("Processes", f"sum(hw_gpu_processes{{{G}}})"),
            ),
        ),
        Row(
            "Use",
            (
                each_gpu("Utilization", "percent", "hw_gpu_utilization_percent"),
                lines(
                    "Memory in use",
                    "percentunit",
                    (
                        f"hw_gpu_memory_used_bytes{{{G}}} / hw_gpu_memory_total_bytes{{{G}}}",
                        "{{node}} gpu {{gpu_index}}",
                    ),
                ),
                lines(
                    "Activity of the units",
                    "percentunit",
                    (f"hw_gpu_activity_ratio{{{G}}}", "{{node}} gpu {{gpu_index}} {{unit}}"),
                ),
                lines(
                    "Clocks",
                    "hertz",
                    (f"hw_gpu_clock_hertz{{{G}}}", "{{node}} gpu {{gpu_index}} {{clock}}"),
                ),
            ),
        ),
        Row(
            "Heat and power",
            (
                each_gpu("Temperature", "celsius", "hw_gpu_temperature_celsius"),
                each_gpu("Memory temperature", "celsius", "hw_gpu_memory_temperature_celsius"),
                each_gpu("Power", "watt", "hw_gpu_power_draw_watts"),
                lines(
                    "What holds the clocks down",
                    "short",
                    (
                        f'hw_gpu_clock_limit_active{{{G},reason!="idle"}} == 1',
                        "{{node}} gpu {{gpu_index}} {{reason}}",
                    ),
                ),
            ),
        ),
        Row(
            "Errors and links",
            (
                lines(
                    "ECC errors",
                    "short",
                    (
                        f'increase(hw_gpu_ecc_errors_total{{{G},counter="volatile"}}[10m])',
                        "{{node}} gpu {{gpu_index}} {{error_type}}",
                    ),
                ),
                lines(
                    "Xid errors",
                    "short",
                    (
                        f"increase(hw_gpu_xid_errors_total{{{G}}}[10m])",
                        "{{node}} gpu {{gpu_index}} Xid {{xid}}",
                    ),
                ),
                lines(
                    "NVLink",
                    "Bps",
                    (
                        f"rate(hw_gpu_nvlink_receive_bytes_total{{{G}}}[5m])",
                        "{{node}} gpu {{gpu_index}} in",
                    ),
                    (
                        f"rate(hw_gpu_nvlink_transmit_bytes_total{{{G}}}[5m])",
                        "{{node}} gpu {{gpu_index}} out",
                    ),
                ),
                lines(
                    "PCIe lanes and replays",
                    "short",
                    (f"hw_gpu_pcie_link_width{{{G}}}", "{{node}} gpu {{gpu_index}} lanes"),
                    (
                        f"rate(hw_gpu_pcie_replays_total{{{G}}}[5m])",
                        "{{node}} gpu {{gpu_index}} replays/s",
                    ),
                ),
            ),
        ),
        Row("Boards", (table("Boards", f"hw_gpu_info{{{G}}}"),)),
    ),
)

WORKLOAD = Dashboard(
    "workload",
    "Workloads",
    "Who uses the GPUs, who holds them idle, and what it costs.",
    (NODES, NAMESPACES),
    (
        Row(
            "Now",
            (
                now("GPUs held", f"count(count by (node, gpu_uuid) (hw_gpu_workload_info{{{W}}}))"),
                now("Workloads", f"count(count by (namespace, pod) (hw_gpu_workload_info{{{W}}}))"),
                now(
                    "Attributed",
                    "avg(hw_exporter_attribution_ratio)",
                    "percentunit",
                ),
            ),
        ),
        Row(
            "Workloads",
            (
                lines(
                    "GPU memory",
                    "bytes",
                    (
                        f"sum by (namespace, pod) (hw_gpu_workload_memory_used_bytes{{{W}}})",
                        "{{namespace}}/{{pod}}",
                    ),
                ),
                lines(
                    "GPU utilization",
                    "percent",
                    (
                        f"avg by (namespace, pod) (hw_gpu_workload_sm_utilization_percent{{{W}}})",
                        "{{namespace}}/{{pod}}",
                    ),
                ),
                lines(
                    "Held without use",
                    "s",
                    (
                        f"max by (namespace, pod) (hw_gpu_idle_allocated_seconds{{{W}}})",
                        "{{namespace}}/{{pod}}",
                    ),
                ),
                lines(
                    "Memory held by nobody",
                    "bytes",
                    (f"hw_gpu_orphan_memory_used_bytes{{{ON}}} > 0", "{{node}} gpu {{gpu_index}}"),
                ),
            ),
        ),
        Row("Who is where", (table("Who is where", f"hw_gpu_workload_info{{{W}}}"),)),
    ),
)
