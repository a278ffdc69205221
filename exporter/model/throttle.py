"""Clocks event (throttle) reasons of NVML: why a GPU runs below its requested clocks."""

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
