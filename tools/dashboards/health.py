"""Faults and the exporter itself: the dashboards about health."""

from tools.dashboards.document import Dashboard, Row
from tools.dashboards.fault_panels import count_of, faults_over_time, root_causes, symptoms
from tools.dashboards.panels import Column
from tools.dashboards.parts import (
    BAD,
    CLUSTER_COLUMN,
    CLUSTERS,
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
    "What is broken, since when, and because of what.",
    (CLUSTERS, NODES),
    (
        Row(
            "What is broken, and why",
            (
                root_causes(width=16, height=9),
                count_of("critical", "red", "Critical"),
                count_of("warning", "orange", "Warnings"),
                now("Infos", f'sum(hw_faults{{{ON},severity="info"}})'),
                now(
                    "Nodes not healthy",
                    f"count(hw_node_healthy{{{ON}}} == 0) or vector(0)",
                    limits=BAD,
                    help="Nodes with a critical fault that is a root cause.",
                ),
                now(
                    "Not judged",
                    f"sum(hw_exporter_rules_unjudged{{{ON}}})",
                    help="Components for which at least one rule could not be judged:"
                    " their health is not known.",
                ),
                now(
                    "Rules in use",
                    f"min(hw_exporter_rules_loaded{{{ON}}})",
                    help="On the node with the fewest.",
                ),
                symptoms(height=7),
                faults_over_time(height=12),
            ),
        ),
        Row(
            "What happened",
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
                    help="The dozen faults that most components had in this time.",
                    empty="no fault in this time",
                    look="stack",
                ),
                lines(
                    "Faults that began",
                    "short",
                    (
                        (
                            f"count by (fault) (hw_fault_active{{{ON}}} == 1"
                            f" unless hw_fault_active{{{ON}}} offset $__interval == 1)"
                        ),
                        "{{fault}}",
                    ),
                    help="How many in each step. A fault that begins again and again flaps.",
                    empty="no fault began in this time",
                    look="bars",
                ),
                lines(
                    "Lines of the kernel log that mean something",
                    "short",
                    (
                        f"sum by (kind) {grown('hw_kernel_log_events_total', ON)}",
                        "{{kind}}",
                    ),
                    help="How many in each step; docs/kernel-log.md explains each kind.",
                    empty="nothing in this time",
                    look="bars",
                ),
                lines(
                    "Events of hardware and probes",
                    "short",
                    (
                        f"sum by (event_type) {grown('hw_events_total', ON)}",
                        "{{event_type}}",
                    ),
                    help="How many in each step: kernel log, GPU events, external probes.",
                    empty="nothing in this time",
                    look="bars",
                ),
                table(
                    "Components that are not ok",
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
                    empty="all are ok",
                    sort="Node",
                ),
            ),
        ),
    ),
)

NOW = Row(
    "Does it work",
    (
        table(
            "Sources that fail, and since when",
            (
                CLUSTER_COLUMN,
                NODE_COLUMN,
                Column("source", "Source"),
                Column("outcome", "How it ended", width=120),
                Column("B", "Last read", "s", width=120, decimals=1),
            ),
            f"max by (cluster, node, source, outcome) ({FAILING})",
            "max by (cluster, node, source) (time() -"
            f" hw_exporter_source_last_success_timestamp_seconds{{{ON}}}"
            f" and on (cluster, node, source) {FAILING})",
            empty="all sources that a node has are read",
            sort="Node",
            width=16,
            height=6,
        ),
        table(
            "Nodes gone silent: heard of an hour ago, not now",
            (CLUSTER_COLUMN, NODE_COLUMN),
            SILENT,
            empty="every node is heard of",
            sort="Node",
            width=16,
            height=6,
        ),
        now("Exporters", f"count(hw_exporter_build_info{{{ON}}})"),
        now(
            "Nodes gone silent",
            f"count({SILENT}) or vector(0)",
            limits=BAD,
            help="Nodes that were heard of an hour ago, and are not any more.",
        ),
        now(
            "Sources that fail",
            f"count({FAILING}) or vector(0)",
            limits=BAD,
            help="Failed or stuck; absent ones are things that a node does not have.",
        ),
        now(
            "Oldest snapshot",
            f"max(hw_exporter_snapshot_age_seconds{{{ON}}})",
            "s",
            limits=((60, "orange"), (120, "red")),
        ),
        now(
            "Children that do not die",
            f"sum(hw_exporter_abandoned_children{{{ON}}})",
            limits=BAD,
            help="Killed and asleep in the kernel, mostly for a driver or disk that hangs.",
        ),
        now(
            "GPUs not read by NVML",
            f"count(hw_gpu_nvml_up{{{ON}}} == 0) or vector(0)",
            limits=ODD,
            help="Nodes with a driver whose GPUs are read by nvidia-smi or come from the cache.",
        ),
        now(
            "Rules with a mistake",
            f"sum(hw_exporter_rules_skipped{{{ON}}}) or vector(0)",
            limits=ODD,
        ),
        now("Series", f"sum(hw_exporter_series{{{ON}}})", "short"),
    ),
)
READING = Row(
    "How long reading takes",
    (
        lines(
            "Time of the ten slowest sources, on the slowest node",
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
            "Time of a collection: the ten slowest nodes",
            "s",
            (
                highest(10, f"hw_exporter_collection_duration_seconds{{{ON}}}", "cluster, node"),
                "{{node}}",
            ),
        ),
    ),
)
COST = Row(
    "What it costs: the ten highest nodes",
    (
        lines(
            "Processor",
            "percentunit",
            (
                highest(
                    10,
                    f"rate(hw_exporter_process_cpu_seconds_total{{{ON}}}{RATE})",
                    "cluster, node",
                ),
                "{{node}}",
            ),
            help="Of one thread.",
        ),
        lines(
            "Memory",
            "bytes",
            (
                highest(10, f"hw_exporter_process_resident_memory_bytes{{{ON}}}", "cluster, node"),
                "{{node}}",
            ),
            help="Resident memory of all its processes; what they share counts for each.",
        ),
        lines(
            "Series",
            "short",
            (highest(10, f"hw_exporter_series{{{ON}}}", "cluster, node"), "{{node}}"),
        ),
        lines(
            "Requests by path and answer",
            "reqps",
            (
                f"sum by (path, code) (rate(hw_exporter_http_requests_total{{{ON}}}{RATE}))",
                "{{path}} {{code}}",
            ),
        ),
    ),
)
VERSIONS = Row(
    "Versions, and what nodes do not have",
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
            "How GPUs are read",
            (
                CLUSTER_COLUMN,
                Column("backend", "Way", width=120),
                Column("reason", "Reason"),
                Column("driver_version", "Driver", width=130),
                Column("cuda_version", "CUDA", width=90),
                Column("Value", "Nodes", width=90),
            ),
            "count by (cluster, backend, reason, driver_version, cuda_version)"
            f" (hw_gpu_backend_info{{{ON}}})",
            help="none with no_driver is a node without GPUs; docs/troubleshooting.md"
            " explains the other reasons.",
            width=12,
        ),
        table(
            "Sources that are absent",
            (Column("source", "Source"), Column("Value", "Nodes", width=90)),
            f'count by (source) (hw_exporter_source_outcome{{{ON},outcome="absent"}})',
            help="What these nodes do not have, or do not let the exporter see (docs/RIGHTS.md).",
            empty="none",
            sort="-Nodes",
        ),
    ),
)

EXPORTER = Dashboard(
    "exporter",
    "Exporter",
    "The exporter itself: what it reads, how long that takes, what it costs.",
    (CLUSTERS, NODES),
    (NOW, READING, COST, VERSIONS),
)
