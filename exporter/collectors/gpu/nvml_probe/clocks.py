"""Clocks, clocks event (throttle) reasons, and for how long each applied."""

import re

from exporter.annotation import Any
from exporter.collectors.gpu.nvml_probe.card import (
    FieldId,
    NvmlDevice,
    available_values,
    call_each,
    converted,
)
from exporter.collectors.gpu.words import active_reasons

MEGAHERTZ = 1_000_000
NANO = 1_000_000_000
VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})\b")
CLOCKS = {"graphics": 0, "sm": 1, "memory": 2, "video": 3}
REASON_CALLS = (
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
)
THROTTLE_TIMES: dict[str, FieldId] = {"sw_power_cap": 74, "sync_boost": 76}
"""Nanoseconds by reason."""

NEWER_THROTTLE_TIMES = {
    "sw_thermal_slowdown": 269,
    "hw_thermal_slowdown": 270,
    "hw_power_brake_slowdown": 271,
}
NUMBERED_SINCE = (580, 82)
"""The driver of which nvml.h gives them these numbers; those of 575 and 580.65 are settings of
power smoothing."""


def hertz(card: NvmlDevice, name: str) -> Any:
    """Read by the function of this name what each clock has."""
    found = call_each(card, [(word, name, (kind,)) for word, kind in CLOCKS.items()])
    return available_values({word: converted(value, MEGAHERTZ) for word, value in found.items()})


def throttle_reasons(card: NvmlDevice) -> tuple[tuple[str, int], ...]:
    """Return 0 or 1 by clocks event (throttle) reason."""
    return active_reasons(int(card.ask_newest(REASON_CALLS)))


def throttle_times(card: NvmlDevice) -> Any:
    """Read the seconds throttled by reason since the driver was loaded, where it counts them."""
    found = card.field_values("throttle_times", card.once("throttle_times", _throttle_fields))
    return available_values({word: converted(value, per=NANO) for word, value in found.items()})


def _throttle_fields(card: NvmlDevice) -> dict[str, FieldId]:
    version = VERSION.match(card.library.text("nvmlSystemGetDriverVersion") or "")
    is_newer = version is not None and (int(version[1]), int(version[2])) >= NUMBERED_SINCE
    return {**THROTTLE_TIMES, **(NEWER_THROTTLE_TIMES if is_newer else {})}
