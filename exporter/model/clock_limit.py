"""What holds the clocks of a GPU down, as the driver's bits say it."""

LIMIT_BITS = {
    "idle": 0x1,
    "app_clocks": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal": 0x20,
    "hw_thermal": 0x40,
    "hw_power_brake": 0x80,
    "display": 0x100,
}
"""The reasons of nvml.h (nvmlClocksEventReason…); nvidia-smi prints the same bits."""


def limits_active(mask: int) -> tuple[tuple[str, int], ...]:
    """Each reason, and 1 where it holds the clocks down now."""
    return tuple((reason, int(bool(mask & bit))) for reason, bit in LIMIT_BITS.items())
