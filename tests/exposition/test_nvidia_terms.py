"""HELP of the GPU families uses the terms of NVML and DCGM, as an operator searches for them."""

from exporter.collectors.everything import FAMILIES, LIVE_FAMILIES
from exporter.exposition.family import Family

TERMS = {
    "memory_total_bytes": "framebuffer (FB) memory",
    "memory_used_bytes": "framebuffer (FB) memory",
    "memory_free_bytes": "framebuffer (FB) memory",
    "memory_reserved_bytes": "framebuffer (FB) memory",
    "memory_controller_utilization_percent": "memory utilization",
    "bar1_memory_total_bytes": "BAR1",
    "bar1_memory_used_bytes": "BAR1",
    "utilization_percent": "GPU utilization",
    "encoder_utilization_percent": "NVENC",
    "decoder_utilization_percent": "NVDEC",
    "jpeg_utilization_percent": "NVJPG",
    "ofa_utilization_percent": "optical flow accelerator (OFA)",
    "temperature_celsius": "GPU core temperature",
    "memory_temperature_celsius": "memory (HBM or GDDR) temperature",
    "temperature_threshold_celsius": "temperature thresholds",
    "thermal_margin_celsius": "T.Limit",
    "fan_speed_percent": "fan speed",
    "power_draw_watts": "power usage",
    "power_average_watts": "average power usage",
    "power_limit_watts": "enforced power limit",
    "power_limit_range_watts": "power management limits",
    "energy_joules_total": "total energy consumption",
    "clock_hertz": "current clocks",
    "clock_max_hertz": "maximum clocks",
    "performance_state": "P-state",
    "throttle_active": "clocks event (throttle) reason",
    "throttle_seconds_total": "clocks event (throttle) reason",
    "ecc_enabled": "ECC mode",
    "ecc_volatile_errors_total": "ECC errors",
    "ecc_aggregate_errors_total": "ECC errors",
    "ecc_location_volatile_errors_total": "ECC errors",
    "ecc_location_aggregate_errors_total": "ECC errors",
    "sram_threshold_exceeded": "SRAM ECC errors exceeded the threshold",
    "sram_ecc_volatile_errors_total": "SRAM ECC errors",
    "sram_ecc_aggregate_errors_total": "SRAM ECC errors",
    "sram_ecc_sources_total": "SRAM ECC errors by source",
    "repair_state": "TPC repair pending",
    "mode_pending": "pending ECC or MIG mode",
    "remapped_rows_total": "remapped rows",
    "row_remap_pending": "row remapping pending",
    "row_remap_failed": "row remapping failed",
    "row_remap_banks": "row remapper histogram",
    "retired_pages_total": "retired pages",
    "retired_pages_pending": "page retirement pending",
    "recovery_action": "GPU recovery action",
    "pcie_link_generation": "PCIe link generation",
    "pcie_link_generation_max": "maximum PCIe link generation",
    "pcie_link_width": "PCIe link width",
    "pcie_link_width_max": "maximum PCIe link width",
    "pcie_replays_total": "PCIe replay counter",
    "pcie_receive_bytes_per_second": "PCIe RX throughput",
    "pcie_transmit_bytes_per_second": "PCIe TX throughput",
    "nvlink_up": "NVLink state",
    "nvlink_active_links": "NVLinks",
    "nvlink_inactive": "NVLink",
    "nvlink_errors_total": "NVLink errors",
    "nvlink_link_errors_total": "NVLink errors",
    "nvlink_receive_bytes_total": "NVLink RX data",
    "nvlink_transmit_bytes_total": "NVLink TX data",
    "fabric_state": "fabric registration state",
    "fabric_healthy": "fabric health",
    "fabric_condition": "fabric health",
    "fabric_info": "clique ID",
    "activity_ratio": "GPM",
    "pcie_profile_bytes_per_second": "GPM",
    "nvlink_profile_bytes_per_second": "GPM",
    "mig_enabled": "MIG mode",
    "persistence_mode": "persistence mode",
    "compute_mode": "compute mode",
    "gsp_enabled": "GSP firmware",
    "info": "compute capability",
    "vendor_info": "vendor of the gpu",
    "health": "health of an ascend npu",
    "mig_info": "MIG instances",
    "mig_memory_total_bytes": "MIG GPU instance",
    "mig_memory_used_bytes": "MIG GPU instance",
    "mig_activity_ratio": "GPM",
    "xids_total": "XID errors",
    "xid_errors_total": "XID errors",
    "xid_last_timestamp_seconds": "XID error",
    "used_count": "compute process",
    "type_count": "product name",
    "nvml_up": "NVML",
    "suspended": "runtime power management",
    "processes": "compute and graphics processes running",
    "workload_processes": "running processes",
    "workload_memory_used_bytes": "framebuffer (FB) memory",
    "workload_sm_utilization_percent": "SM utilization",
    "workload_mig_info": "MIG instance",
    "workload_quota_memory_bytes": "framebuffer (FB) memory",
    "workload_quota_sm_percent": "active thread percentage",
    "workload_energy_joules_total": "energy consumption",
    "idle_energy_joules_total": "energy consumption",
    "ended_workload_energy_joules_total": "energy consumption",
    "idle_allocated_seconds": "GPU utilization",
    "orphan_memory_used_bytes": "framebuffer (FB) memory",
    "process_memory_used_bytes": "framebuffer (FB) memory",
    "process_sm_utilization_percent": "SM utilization",
    "process_memory_utilization_percent": "memory utilization",
    "process_encoder_utilization_percent": "NVENC",
    "process_decoder_utilization_percent": "NVDEC",
}
OURS = {
    *(
        "count",
        "up",
        "problem_info",
        "call_disabled_info",
        "backend_info",
        "data_age_seconds",
        "data_stale",
    ),
    "workload_info",
    *("sibling_deviation", "anomaly_score", "anomaly_model_ready"),
    *("share_info", "share_replicas", "workload_replicas"),
}
"""What the exporter itself concludes: NVML and DCGM have no word for it."""

ROWS: tuple[Family, ...] = (*FAMILIES, *LIVE_FAMILIES)
HELP = {
    row.name.removeprefix("hw_gpu_"): row.help for row in ROWS if row.name.startswith("hw_gpu_")
}


def test_every_gpu_family_has_its_term() -> None:
    """A new family names the term an operator knows it by, or that there is none."""
    assert TERMS.keys() | OURS == HELP.keys()


def test_help_holds_the_term() -> None:
    """Who searches METRICS.md for NVML's or DCGM's term finds the family."""
    missing = {name: term for name, term in TERMS.items() if term.lower() not in HELP[name].lower()}
    assert missing == {}
