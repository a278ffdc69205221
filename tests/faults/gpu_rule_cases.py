"""For each shipped rule about GPUs: what holds, what does not, and the lines that make it so.

`bad` and `good` are fields of the entity; `Rise(n)` is a counter that rises by n each 15 seconds.
`lines` are printed once when the bad time begins.
"""

from dataclasses import dataclass, field
from typing import Any

GPU_PCI = "0000:3b:00.0"
XID = "NVRM: Xid (PCI:0000:3b:00): "
AMD = "amdgpu 0000:3b:00.0: amdgpu: "


@dataclass(frozen=True, slots=True)
class Rise:
    """A counter that rises by so much each 15 seconds."""

    by: float


@dataclass(frozen=True, slots=True)
class Case:
    """What makes one rule hold, and what ends it."""

    bad: dict[str, Any] = field(default_factory=dict)
    good: dict[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    node: dict[str, Any] = field(default_factory=dict)  # fields of the node, the same all the time
    id: str = ""


def xid(code: int, text: str = "", **more: Any) -> Case:
    """A rule about one Xid line of a GPU that answers."""
    return Case({"up": True}, {"up": True}, (f"{XID}{code}, {text}",), **more)


def line(*lines: str, id: str = "", **good: Any) -> Case:  # noqa: A002 - the id of the entity
    """A rule about lines of the kernel log."""
    return Case(dict(good), dict(good), lines, id=id)


LINK5 = (
    f"{XID}149, NETIR_LINK_DOWN  Fatal   XC0 i0 Link {{}} "
    "(0x00400011 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
)
AT_ONE_PLACE = "Graphics SM Warp Exception on (GPC 4, TPC 6, SM 1): Illegal Instruction Encoding"
UE = "ecc_errors_total[uncorrected,volatile]"
CE = "ecc_errors_total[corrected,volatile]"
HOT = {"temperature_celsius": 92.0, "thermal_margin_celsius": 1.0}
COOL = {"temperature_celsius": 60.0, "thermal_margin_celsius": 30.0}


def limit(reason: str) -> Case:
    """A rule about one reason for low clocks."""
    names = ("hw_thermal_slowdown", "hw_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
    good = {f"throttle_active[{name}]": 0.0 for name in names}
    return Case({**good, f"throttle_active[{reason}]": 1.0}, good)


GPU_CASES = {
    "gpu_lost": Case({"up": False, "reason": "gpu_lost"}, {"up": True, "reason": None}),
    "gpu_init_failed": xid(143, "probe"),
    "gpu_power_missing": xid(54, "power"),
    "gpu_recovery_required": Case({"recovery_action": "reset"}, {"recovery_action": "none"}),
    "gpu_reset_required": Case({"up": False, "reason": "reset_required"}, {"up": True}),
    "gpu_hung": Case({"up": False, "reason": "hung"}, {"up": True, "reason": None}),
    "gpu_unreadable": Case({"up": False, "reason": "no_identity"}, {"up": True, "reason": ""}),
    "gpu_unhealthy": Case({"health": "alarm"}, {"health": "ok"}),
    "gpu_inforom_corrupted": Case({"inforom_valid": False}, {"inforom_valid": True}),
    "gpu_persistence_off": Case(
        {"persistence_mode": False, "ecc_enabled": True},
        {"persistence_mode": True, "ecc_enabled": True},
    ),
    "gpu_ecc_uncorrected": Case({UE: Rise(1)}, {UE: Rise(0)}),
    "gpu_ecc_corrected_rate": Case({CE: Rise(5)}, {CE: Rise(0)}),
    "gpu_sram_threshold": Case(
        {"sram_threshold_exceeded": True}, {"sram_threshold_exceeded": False}
    ),
    "gpu_memory_contained": xid(94, "Contained: SM (0x1). RST: No, D-RST: No"),
    "gpu_memory_uncontained": xid(95, "Uncontained: LTC DATA (0x1). RST: Yes, D-RST: No"),
    "gpu_row_remap_pending": Case({"row_remap_pending": True}, {"row_remap_pending": False}),
    "gpu_row_remap_failed": Case({"row_remap_failed": True}, {"row_remap_failed": False}),
    "gpu_memory_unrepairable": Case(
        {"unrepairable_memory": True, "row_remap_banks[none]": 1, "recovery_action": "reset"},
        {"unrepairable_memory": True, "row_remap_banks[none]": 0, "recovery_action": "none"},
    ),
    "gpu_repair_pending": Case(
        {"channel_repair_pending": False, "tpc_repair_pending": True},
        {"channel_repair_pending": False, "tpc_repair_pending": False},
    ),
    "gpu_row_remap_low": Case({"row_remap_banks[none]": 1}, {"row_remap_banks[none]": 0}),
    "gpu_pages_retired": Case(
        {"retired_pages_pending": True},
        {
            "retired_pages_pending": False,
            "retired_pages_total[single_bit]": 1,
            "retired_pages_total[double_bit]": 0,
        },
    ),
    "gpu_memory_pressure": Case(
        {"memory_used_bytes": 99e9, "memory_total_bytes": 100e9},
        {"memory_used_bytes": 50e9, "memory_total_bytes": 100e9},
    ),
    "gpu_memory_orphan": Case({"orphan_memory_bytes": 1e9}, {"orphan_memory_bytes": 0}),
    "gpu_inforom_problem": xid(93, "Non-fatal violation of provisioned InfoROM wear limit"),
    "gpu_overheat": Case(HOT, COOL),
    "gpu_memory_overheat": Case(
        {"memory_temperature_celsius": 95.0, "temperature_threshold_celsius[memory_max]": 95.0},
        {"memory_temperature_celsius": 60.0, "temperature_threshold_celsius[memory_max]": 95.0},
    ),
    "gpu_thermal_throttle": limit("hw_thermal_slowdown"),
    "gpu_thermal_slowdown": limit("sw_thermal_slowdown"),
    "gpu_power_brake": limit("hw_power_brake_slowdown"),
    "gpu_fan_stopped": Case(
        {"fans_stopped": 1, "temperature_celsius": 80.0, "utilization_percent": 90.0},
        {"fans_stopped": 0, "temperature_celsius": 80.0, "utilization_percent": 90.0},
    ),
    "gpu_power_limit_low": Case(
        {"power_limit_watts": 300.0, "power_limit_range_watts[default]": 700.0},
        {"power_limit_watts": 690.0, "power_limit_range_watts[default]": 700.0},
    ),
    "gpu_clock_low": Case(
        {
            "clock_ratio_to_siblings": 0.4,
            **{
                f"throttle_active[{n}]": 0.0
                for n in ("gpu_idle", "applications_clocks_setting", "sync_boost")
            },
        },
        {"clock_ratio_to_siblings": 1.0},
    ),
    "gpu_power_smoothing_worn": xid(164, "worn"),
    "gpu_xid_critical": xid(62, "halted"),
    "gpu_xid_warning": xid(61, "breakpoint"),
    "gpu_app_fault_unnamed": xid(31, "Ch 0000007e, engmask 00000101, intr 10000000"),
    "gpu_processes_ended": Case(
        {"up": True},
        {"up": True},
        tuple(f"{XID}45, pid={pid}, name=rank{pid}, Ch 00000008" for pid in (7, 8, 9)),
    ),
    "gpu_gsp_failure": xid(119, "Timeout after 6s of waiting for RPC response from GPU0 GSP!"),
    "gpu_channel_timeout": xid(109, "CTX SWITCH TIMEOUT"),
    "gpu_pcie_timeout": xid(167, "PCIE_FATAL_TIMEOUT"),
    "gpu_unknown_xid": xid(999, "new"),
    "gpu_repeat_offender": Case(
        {"repeated_faults": 3, "repeated_fault": "gpu_xid_critical"}, {"repeated_faults": 2}
    ),
    "gpu_ring_timeout": line(f"{AMD}ring gfx_0.0.0 timeout, signaled seq=73, emitted seq=75"),
    "gpu_reset_failed": line(f"{AMD}GPU reset(2) failed"),
    "gpu_firmware_timeout": line(f"{AMD}MES failed to respond to msg=REMOVE_QUEUE"),
    "gpu_page_fault": line(
        f"{AMD}[gfxhub0] no-retry page fault (src_id:0 ring:40 vmid:8 pasid:32776, "
        "for process python3 pid 4277 thread python3 pid 4277)"
    ),
    "gpu_bad_page_threshold": line(f"{AMD}RAS records:260 exceed threshold:256"),
    "gpu_pcie_link_degraded": Case(
        {
            "pcie_link_width": 8,
            "pcie_link_width_max": 16,
            "pcie_link_generation": 5,
            "pcie_link_generation_max": 5,
        },
        {
            "pcie_link_width": 16,
            "pcie_link_width_max": 16,
            "pcie_link_generation": 5,
            "pcie_link_generation_max": 5,
        },
    ),
    "gpu_pcie_replay_rate": Case(
        {"pcie_replays_total": Rise(100), "pcie_link_width": 16},
        {"pcie_replays_total": Rise(0), "pcie_link_width": 16},
    ),
    "nvlink_down": Case({"links_down": 2}, {"links_down": 0}),
    "nvlink_errors": Case(
        {"nvlink_errors_total[recovery]": Rise(1)},
        {"nvlink_errors_total[recovery]": Rise(0)},
    ),
    "gpu_nvlink_fatal": xid(74, "NVLink: fatal error detected"),
    "nvlink_training_failed": xid(136, "training"),
    "fabric_not_ready": Case(
        {"fabric_state": "in_progress"}, {"fabric_state": "completed", "fabric_healthy": True}
    ),
    "gpu_c2c_failed": xid(173, "C2C"),
    "nvlink_fatal": Case(lines=(LINK5.format("07"),), id=f"{GPU_PCI}/7"),
    "nvswitch_fatal": line(
        "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 12022, Fatal, Link 21 egress input ECC DBE",
        id="0000:86:00.0",
    ),
    "nvswitch_warning": line(
        "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 11004, Non-fatal, Link 21 ingress error",
        id="0000:86:00.0",
    ),
    "nvswitch_hot": line(
        "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 10004, Thermal Slowdown Engaged",
        id="0000:86:00.0",
    ),
}

NODE_CASES = {
    "fabric_split": Case({"fabric_clique_count": 2}, {"fabric_clique_count": 1}),
    "gpu_count_low": Case(
        {"gpu_up_count": 7, "gpu_pci_count": 8, "gpu_backend": "nvml"},
        {"gpu_up_count": 8, "gpu_pci_count": 8, "gpu_backend": "nvml"},
    ),
    "gpu_gsp_silent": line(f"NVRM: GPU0 _kgspLogXid119: {'*' * 33} GSP Timeout {'*' * 34}"),
    "gpu_locked": line(
        "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7"
    ),
    "npu_abnormal": line(
        "[ascend] [drv_pcie] [devdrv_sync_non_trans_msg_send 1239] <kworker/u385:0:15232:15232> "
        "Device is abnormal. (dev_id=5; msg_type=3; common_type=5)"
    ),
    "gpu_uvm_failed": line(
        "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os "
        "reboot to recover."
    ),
    "gpu_probe_failed": line("NVRM: The NVIDIA probe routine failed for 1 device(s)."),
    "driver_version_mismatch": Case(
        {"gpu_backend_reason": "version_mismatch", "gpu_nvml_up": False},
        {"gpu_backend_reason": "ok", "gpu_nvml_up": True},
    ),
    "nvlink_discovery_failed": line(
        "NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!"
    ),
    "backend_stuck": Case({"gpu_backend_reason": "stuck"}, {"gpu_backend_reason": "ok"}),
    "gpu_release_repeated": Case({"gpu_release_overdue": True}, {"gpu_release_overdue": False}),
    "telemetry_stale": Case(
        {"gpu_backend": "cache", "gpu_backend_reason": "timeout"}, {"gpu_backend": "nvml"}
    ),
    "gpu_suspect_hardware": Case(
        {"up": True},
        {"up": True},
        tuple(f"{XID}13, pid={pid}, name=job{pid}, {AT_ONE_PLACE}" for pid in (7, 8)),
    ),
    "gpu_app_fault": line(
        f"{XID}13, pid=4711, name=python3, Graphics SM Warp Exception on (GPC 2, TPC 5, SM 1)",
        id="4711",
    ),
}

CASES: dict[str, Case] = {**GPU_CASES, **NODE_CASES}
"""Without the rules of collectors that have a table of their own."""
