"""Words for recovery actions and throttle reasons, Xids about links, what every GPU reports."""

from collections.abc import Mapping

RECOVERY_ACTIONS: Mapping[int, str] = {
    0: "none",
    1: "reset",
    2: "reboot",
    3: "drain_p2p",
    4: "drain_and_reset",
    5: "recover_imex",
    6: "bus_reset",
    7: "reboot",
}
"""NVML's numbers, which an Xid 154 has too."""

UNKNOWN = "unknown"

CORE_FIELDS = frozenset({"temperature_celsius", "memory_total_bytes", "utilization_percent"})
"""Fields that every GPU has; a GPU that answers «Unknown Error» to one of these does not work."""

NVLINK5_CODES = frozenset(range(144, 151))
"""Xids of NVLink 5, whose message has unit, severity and link."""

LINK_CODES = frozenset({"74", *map(str, NVLINK5_CODES)})
"""Xids about one NVLink of the GPU, as printed in the log."""

REASON_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clock_setting": 0x100,
}
"""The reasons of nvml.h (nvmlClocksEventReason…); nvidia-smi prints the same bits."""


def active_reasons(mask: int) -> tuple[tuple[str, int], ...]:
    """Return each reason, and 1 where it throttles the clocks now."""
    return tuple((reason, int(bool(mask & bit))) for reason, bit in REASON_BITS.items())
