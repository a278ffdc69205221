"""Faults and the exporter itself: the dashboards about health."""

from tools.dashboards.document import Dashboard, Row
from tools.dashboards.fault_panels import (
    count_of,
    faults_over_time,
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
    INSTANCE,
    NODE_COLUMN,
    NODES,
    ODD,
    ON,
    RATE,
    SILENT,
    grown,
    highest,
    lines,
    now,
    table,
)

FAILING = f'hw_exporter_source_outcome{{{ON},outcome=~"failed|stuck"}}'

EACH_COMPONENT = "cluster, node, hw_type, hw_id"
NOT_OK = f'(hw_status{{{ON},hw_state!="ok"}} == 1)'

FAULTS = Dashboard(
    "faults",
    "Faults and causes",
    "Active faults, since when, and their root causes.",
    (CLUSTERS, NODES, INSTANCE),
    (
        Row(
            "Faults and root causes",
            (
                root_causes(width=16, height=6),
                count_of("critical", "red", "Critical"),
                count_of("warning", "orange", "Warnings"),
                now("Info", f'sum(hw_faults{{{ON},severity="info"}})'),
                unhealthy_nodes(),
                lines(
                    "Healthy and unhealthy nodes",
                    "none",
                    (f"sum(hw_node_healthy{{{ON}}})", "healthy"),
                    (f"count(hw_node_healthy{{{ON}}} == 0)", "not healthy"),
                    colours=(("healthy", "green"), ("not healthy", "red")),
                    look="stack",
                    width=16,
                    height=9,
                ),
                now(
                    "Unknown",
                    f"sum(hw_exporter_rules_unjudged{{{ON}}})",
                    help="Components with at least one rule that could not be evaluated:"
                    " their health is unknown.",
                ),
                now(
                    "Rules loaded",
                    f"min(hw_exporter_rules_loaded{{{ON}}})",
                    help="Minimum over all nodes.",
                ),
            ),
        ),
        Row(
            "Symptoms, and faults over time",
            (symptoms(height=7), faults_over_time(height=12)),
        ),
        Row(
            "History",
            (
                lines(
                    "Components with each fault",
                    "none",
                    (
                        (
                            f"sum by (fault) (hw_fault_active{{{ON}}}) and on (fault) topk(12,"
                            f" sum by (fault) (max_over_time(hw_fault_active{{{ON}}}"
                            "[$__range] @ end())))"
                        ),
                        "{{fault}}",
                    ),
                    help="The twelve most frequent faults.",
                    empty="no faults",
                    look="stack",
                ),
                lines(
                    "New faults",
                    "short",
                    (
                        (
                            f"count by (fault) (hw_fault_active{{{ON}}} == 1"
                            f" unless hw_fault_active{{{ON}}} offset $__interval == 1)"
                        ),
                        "{{fault}}",
                    ),
                    help="Number per step. A fault that begins repeatedly is flapping.",
                    empty="no new faults",
                    look="bars",
                ),
                lines(
                    "Kernel log events by kind",
                    "short",
                    (
                        f"sum by (kind) {grown('hw_kernel_log_events_total', ON)}",
                        "{{kind}}",
                    ),
                    help="Number per step; docs/kernel-log.md explains each kind.",
                    empty="no events",
                    look="bars",
                ),
                lines(
                    "Hardware and probe events by type",
                    "short",
                    (
                        f"sum by (event_type) {grown('hw_events_total', ON)}",
                        "{{event_type}}",
                    ),
                    help="Number per step: kernel log, GPU events, external probes.",
                    empty="no events",
                    look="bars",
                ),
                table(
                    "Degraded and failed components",
                    (
                        CLUSTER_COLUMN,
                        NODE_COLUMN,
                        Column("hw_type", "Kind", width=130),
                        Column("hw_name", "Component"),
                        Column("hw_state", "State", width=160),
                    ),
                    f"max by ({EACH_COMPONENT}, hw_state) ({NOT_OK})",
                    f"max by ({EACH_COMPONENT}, hw_name) (hw_fault_active{{{ON}}} == 1"
                    f" and on ({EACH_COMPONENT}) {NOT_OK})",
                    empty="all components ok",
                    sort="Node",
                ),
            ),
        ),
    ),
)

NOW = Row(
    "Exporter health",
    (
        table(
            "Failing sources",
            (
                CLUSTER_COLUMN,
                NODE_COLUMN,
                Column("source", "Source"),
                Column("outcome", "Outcome", width=120),
                Column("B", "Last read", "s", width=120, decimals=1),
            ),
            f"max by (cluster, node, source, outcome) ({FAILING})",
            "max by (cluster, node, source) (time() -"
            f" hw_exporter_source_last_success_timestamp_seconds{{{ON}}}"
            f" and on (cluster, node, source) {FAILING})",
            empty="all sources up",
            sort="Node",
            width=16,
            height=6,
        ),
        table(
            "Missing nodes: reporting an hour ago, not now",
            (CLUSTER_COLUMN, NODE_COLUMN),
            SILENT,
            empty="all nodes reporting",
            sort="Node",
            width=16,
            height=6,
        ),
        now("Exporters", f"count(hw_exporter_build_info{{{ON}}})"),
        missing_nodes(),
        now(
            "Failing sources",
            f"count({FAILING}) or vector(0)",
            limits=BAD,
            help="Failed or stuck. Absent sources do not count: the node does not have them.",
        ),
        now(
            "Oldest snapshot",
            f"max(hw_exporter_snapshot_age_seconds{{{ON}}})",
            "s",
            limits=((60, "orange"), (120, "red")),
        ),
        now(
            "Abandoned children",
            f"sum(hw_exporter_abandoned_children{{{ON}}})",
            limits=BAD,
            help="Killed but still in D state, usually because a driver or disk hangs.",
        ),
        now(
            "NVML down",
            f"count(hw_gpu_nvml_up{{{ON}}} == 0) or vector(0)",
            limits=ODD,
            help="Nodes with a driver whose GPUs are read by nvidia-smi or come from the cache.",
        ),
        now(
            "Skipped rules",
            f"sum(hw_exporter_rules_skipped{{{ON}}}) or vector(0)",
            limits=ODD,
        ),
        now("Series", f"sum(hw_exporter_series{{{ON}}})", "short"),
    ),
)
READING = Row(
    "Collection duration",
    (
        lines(
            "Slowest sources: duration on the slowest node",
            "s",
            (
                (
                    f"max by (source) (hw_exporter_source_duration_seconds{{{ON}}}) and on (source)"
                    " topk(10, max by (source) (max_over_time("
                    f"hw_exporter_source_duration_seconds{{{ON}}}[5m] @ end())))"
                ),
                "{{source}}",
            ),
        ),
        lines(
            "Slowest nodes: collection duration",
            "s",
            (
                highest(10, f"hw_exporter_collection_duration_seconds{{{ON}}}", "cluster, node"),
                "{{node}}",
            ),
        ),
    ),
)
COST = Row(
    "Resource usage: the ten highest nodes",
    (
        lines(
            "CPU",
            "percentunit",
            (
                highest(
                    10,
                    f"rate(hw_exporter_process_cpu_seconds_total{{{ON}}}{RATE})",
                    "cluster, node",
                ),
                "{{node}}",
            ),
            help="Relative to one CPU.",
        ),
        lines(
            "Memory",
            "bytes",
            (
                highest(10, f"hw_exporter_process_resident_memory_bytes{{{ON}}}", "cluster, node"),
                "{{node}}",
            ),
            help="Resident memory of all processes of the exporter; shared memory counts once"
            " per process.",
        ),
        lines(
            "Series",
            "short",
            (highest(10, f"hw_exporter_series{{{ON}}}", "cluster, node"), "{{node}}"),
        ),
        lines(
            "HTTP requests by path and code",
            "reqps",
            (
                f"sum by (path, code) (rate(hw_exporter_http_requests_total{{{ON}}}{RATE}))",
                "{{path}} {{code}}",
            ),
        ),
    ),
)
VERSIONS = Row(
    "Versions and absent sources",
    (
        table(
            "Versions",
            (
                CLUSTER_COLUMN,
                Column("version", "Exporter"),
                Column("python", "Python"),
                Column("Value", "Nodes", width=90),
            ),
            f"count by (cluster, version, python) (hw_exporter_build_info{{{ON}}})",
            width=12,
        ),
        table(
            "GPU backends",
            (
                CLUSTER_COLUMN,
                Column("backend", "Backend", width=120),
                Column("reason", "Reason"),
                Column("driver_version", "Driver", width=130),
                Column("cuda_version", "CUDA", width=90),
                Column("Value", "Nodes", width=90),
            ),
            "count by (cluster, backend, reason, driver_version, cuda_version)"
            f" (hw_gpu_backend_info{{{ON}}})",
            help="none with no_driver means a node without GPUs; docs/troubleshooting.md"
            " explains the other reasons.",
            width=12,
        ),
        table(
            "Absent sources",
            (Column("source", "Source"), Column("Value", "Nodes", width=90)),
            f'count by (source) (hw_exporter_source_outcome{{{ON},outcome="absent"}})',
            help="Not present on these nodes, or no permission (docs/RIGHTS.md).",
            empty="none",
            sort="-Nodes",
        ),
    ),
)

EXPORTER = Dashboard(
    "exporter",
    "Exporter",
    "The exporter itself: sources, durations, resource usage.",
    (CLUSTERS, NODES),
    (NOW, READING, COST, VERSIONS),
)
