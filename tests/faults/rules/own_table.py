"""Trials of the rules about work on GPUs and about the exporter itself."""

from tests.faults.rules.trials import Given, Goes, Rises, Row

HELD: Given = {"mig_enabled": False}
SPINNING: Given = {
    "mig_enabled": False,
    "utilization_percent": 100.0,
    "memory_controller_utilization_percent": 0.0,
    "power_draw_watts": 120.0,
    "power_limit_watts": 700.0,
}

ROWS = (
    Row(
        "process_waits_for_storage",
        "process",
        holds={"waiting_secs": 90.0},
        holds_not={"waiting_secs": 0.0},
        clears={"waiting_secs": 0.0},
        unknown={},
    ),
    Row(
        "process_crashed",
        "process",
        about="4242",
        holds={
            "kernel": "python3[4242]: segfault at 10 ip 00007f12 sp 00007ffc error 4 "
            "in libnccl.so.2[7f12+1000]"
        },
        holds_not={"kernel": "INFO: task python3:4242 blocked for more than 120 seconds."},
        summary="libnccl.so.2",
    ),
    Row(
        "gpu_idle_allocated",
        "gpu",
        holds={**HELD, "idle_allocated_secs": 900.0},
        holds_not={"mig_enabled": True, "idle_allocated_secs": 900.0},
        clears={"idle_allocated_secs": 0.0},
        unknown=HELD,
        is_gated=True,
    ),
    Row(
        "gpu_busy_without_work",
        "gpu",
        holds=SPINNING,
        holds_not={**SPINNING, "power_draw_watts": 500.0},
        clears={"utilization_percent": 10.0},
        unknown={"mig_enabled": False},
        is_gated=True,
    ),
    Row(
        "gpu_allocated_unused",
        "gpu",
        holds={"allocated_without_process": 1, "process_count": 0},
        holds_not={"allocated_without_process": 1, "process_count": 2},
        clears={"allocated_without_process": 0},
        unknown={"process_count": 0},
        is_gated=True,
    ),
    Row(
        "source_failed",
        "source",
        holds={"failed": True, "reason": "no permission"},
        holds_not={"failed": False, "reason": "not there"},
        clears={"failed": False},
        unknown={},
        summary="no permission",
    ),
    Row(
        "source_stuck",
        "source",
        holds={"stuck": True, "reason": "no answer"},
        holds_not={"stuck": False},
        clears={"stuck": False},
        unknown={},
    ),
    Row(
        "nvml_unavailable",
        "node",
        holds={"gpu_nvml_up": False, "gpu_backend_reason": "library_missing"},
        holds_not={"gpu_nvml_up": True},
        clears={"gpu_nvml_up": True},
        unknown={},
        is_gated=True,
        summary="library_missing",
    ),
    Row(
        "kernel_log_unavailable",
        "source",
        holds={"source": "kernel_log", "reason": "may not be opened"},
        holds_not={"source": "kernel_log", "last_success_at": 1.0},
        clears={"last_success_at": 1.0},
        unknown={},
    ),
    Row(
        "kernel_log_lost",
        "node",
        holds={"kernel_log_lost": Goes(0, 10)},
        holds_not={"kernel_log_lost": 10},
        unknown={},
    ),
    Row(
        "attribution_low",
        "node",
        holds={"workload_attribution_ratio": 0.5, "workload_reason": "host pids not seen"},
        holds_not={"workload_attribution_ratio": 1.0, "workload_reason": "ok"},
        clears={"workload_attribution_ratio": 1.0},
        unknown={},
        is_gated=True,
    ),
    Row(
        "exporter_over_budget",
        "node",
        holds={"exporter_cpu_seconds": Rises(0.9), "exporter_resident_memory_bytes": 6e7},
        holds_not={"exporter_cpu_seconds": Rises(0.02), "exporter_resident_memory_bytes": 6e7},
        clears={"exporter_cpu_seconds": Rises(0.02)},
        unknown={},
    ),
    Row(
        "exporter_children_stuck",
        "node",
        holds={"exporter_abandoned_children": 1},
        holds_not={"exporter_abandoned_children": 0},
        clears={"exporter_abandoned_children": 0},
        unknown={},
    ),
)
