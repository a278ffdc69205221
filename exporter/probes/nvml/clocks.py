"""Clocks, what holds them down, and for how long it did."""

from typing import Any

import pynvml

from exporter.probes.nvml.card import Card, converted, those_said, tried

MEGAHERTZ = 1_000_000
NANO = 1_000_000_000
CLOCKS = {
    "graphics": pynvml.NVML_CLOCK_GRAPHICS,
    "sm": pynvml.NVML_CLOCK_SM,
    "memory": pynvml.NVML_CLOCK_MEM,
    "video": pynvml.NVML_CLOCK_VIDEO,
}
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
REASON_CALLS = (
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
)
LIMIT_TIMES = {
    "sw_power_cap": pynvml.NVML_FI_DEV_PERF_POLICY_POWER,
    "sync_boost": pynvml.NVML_FI_DEV_PERF_POLICY_SYNC_BOOST,
    "sw_thermal": 269,
    "hw_thermal": 270,
    "hw_power_brake": 271,
}
"""Nanoseconds by reason; the last three came with driver 570."""


def clocks(card: Card) -> Any:  # noqa: ANN401 - rows, or the error in their place
    """Hertz by clock."""
    return _by_clock(card, "nvmlDeviceGetClockInfo")


def clock_limits(card: Card) -> Any:  # noqa: ANN401 - as above
    """The highest hertz by clock; asked once."""
    return card.once("clock_limits", lambda c: _by_clock(c, "nvmlDeviceGetMaxClockInfo"))


def _by_clock(card: Card, name: str) -> Any:  # noqa: ANN401 - as above
    found = tried(card, [(word, name, (kind,)) for word, kind in CLOCKS.items()])
    return those_said({word: converted(value, MEGAHERTZ) for word, value in found.items()})


def active_limits(card: Card) -> list[tuple[str, int]]:
    """What holds the clocks down now: 0 or 1 by reason."""
    mask = int(card.ask_newest(REASON_CALLS))
    return [(reason, int(bool(mask & bit))) for reason, bit in LIMIT_BITS.items()]


def limit_times(card: Card) -> Any:  # noqa: ANN401 - as above
    """Seconds by reason since the driver was loaded, where the driver counts them."""
    found = card.field_values("limit_times", LIMIT_TIMES)
    return those_said({word: converted(value, per=NANO) for word, value in found.items()})
