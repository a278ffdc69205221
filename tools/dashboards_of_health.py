"""Faults and the exporter itself: the dashboards about health."""

from tools.dashboard_parts import NODES, ON, lines, now, table
from tools.dashboards import Dashboard, Panel, Query, Row

FAILING = f'count(hw_exporter_source_outcome{{{ON},outcome=~"failed|stuck"}}) or vector(0)'

FAULTS = Dashboard(
    "faults",
    "Faults and causes",
    "What is broken, since when, and because of what.",
    (NODES,),
    (
        Row(
            "Now",
            (
                now("Critical", f'sum(hw_faults{{{ON},severity="critical"}})', warns=True),
                now("Warnings", f'sum(hw_faults{{{ON},severity="warning"}})', warns=True),
                now("Infos", f'sum(hw_faults{{{ON},severity="info"}})'),
                now("Rules in use", f"min(hw_exporter_rules_loaded{{{ON}}})"),
            ),
        ),
        Row(
            "Faults",
            (
                Panel(
                    "Faults over time",
                    (Query(f"hw_fault_active{{{ON}}}", "{{node}} {{fault}} {{hw_name}}"),),
                    "state-timeline",
                    width=24,
                    warns=True,
                ),
                table("Active", f"hw_fault_active{{{ON}}} == 1", width=12),
                table("Causes", f"hw_fault_root_cause{{{ON}}} == 1", width=12),
                table(
                    "Since",
                    f"(hw_fault_since_timestamp_seconds{{{ON}}}) * 1000",
                    width=12,
                ),
                lines(
                    "Changes",
                    "short",
                    (
                        f"sum by (fault) (increase(hw_fault_transitions_total{{{ON}}}[10m]))",
                        "{{fault}}",
                    ),
                ),
            ),
        ),
        Row(
            "Events",
            (
                lines(
                    "Events",
                    "short",
                    (
                        f"sum by (event_type) (increase(hw_events_total{{{ON}}}[10m]))",
                        "{{event_type}}",
                    ),
                ),
                lines(
                    "Kernel log",
                    "short",
                    (
                        f"sum by (kind) (increase(hw_kernel_log_events_total{{{ON}}}[10m]))",
                        "{{kind}}",
                    ),
                ),
            ),
        ),
        Row(
            "Status of components",
            (table("Not ok", f'hw_status{{{ON},hw_state!="ok"}} == 1'),),
        ),
    ),
)

EXPORTER = Dashboard(
    "exporter",
    "Exporter",
    "The exporter itself: what it reads, how long that takes, what it costs.",
    (NODES,),
    (
        Row(
            "Now",
            (
                now("Exporters", f"count(hw_exporter_build_info{{{ON}}})"),
                now(
                    "Sources that fail",
                    FAILING,
                    warns=True,
                ),
                now("Oldest snapshot", f"max(hw_exporter_snapshot_age_seconds{{{ON}}})", "s"),
                now(
                    "Children that do not die",
                    f"sum(hw_exporter_abandoned_children{{{ON}}})",
                    warns=True,
                ),
                now("Series", f"sum(hw_exporter_series{{{ON}}})"),
                now(
                    "GPU backends",
                    f'count(hw_gpu_backend_info{{{ON},backend!="none"}}) or vector(0)',
                ),
            ),
        ),
        Row(
            "Reading",
            (
                lines(
                    "Time of each source",
                    "s",
                    (
                        f"max by (source) (hw_exporter_source_duration_seconds{{{ON}}})",
                        "{{source}}",
                    ),
                ),
                lines(
                    "Time of a collection",
                    "s",
                    (f"hw_exporter_collection_duration_seconds{{{ON}}}", "{{node}}"),
                ),
                table(
                    "What is not read, and how it ended",
                    f'hw_exporter_source_outcome{{{ON},outcome!="ok"}} == 1',
                    width=12,
                ),
                table("How GPUs are read", f"hw_gpu_backend_info{{{ON}}}", width=12),
            ),
        ),
        Row(
            "Cost",
            (
                lines(
                    "Processor",
                    "percentunit",
                    (f"rate(hw_exporter_process_cpu_seconds_total{{{ON}}}[5m])", "{{node}}"),
                ),
                lines(
                    "Memory",
                    "bytes",
                    (f"hw_exporter_process_resident_memory_bytes{{{ON}}}", "{{node}}"),
                ),
                lines(
                    "Requests",
                    "reqps",
                    (
                        f"sum by (path, code) (rate(hw_exporter_http_requests_total{{{ON}}}[5m]))",
                        "{{path}} {{code}}",
                    ),
                ),
                lines(
                    "Series",
                    "short",
                    (f"hw_exporter_series{{{ON}}}", "{{node}}"),
                ),
            ),
        ),
    ),
)
