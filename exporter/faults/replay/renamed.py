"""Old names of fields in recordings: they are read as today's, with a note."""

import logging
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

logger = logging.getLogger(__name__)

Tree = dict[str, Any]

GPU_FIELDS = MappingProxyType(
    {
        "clock_limit_active": "throttle_active",
        "clock_limit_seconds_total": "throttle_seconds_total",
    }
)
REASONS = MappingProxyType(
    {
        "idle": "gpu_idle",
        "app_clocks": "applications_clocks_setting",
        "sw_thermal": "sw_thermal_slowdown",
        "hw_thermal": "hw_thermal_slowdown",
        "hw_power_brake": "hw_power_brake_slowdown",
        "display": "display_clock_setting",
    }
)
"""Throttle reasons, in the fields above."""
READING_FIELDS = MappingProxyType({"left_out": "truncated"})


class OldNames:
    """Reads old names of one recording as today's; each name is noted once."""

    def __init__(self) -> None:
        self._noted: set[str] = set()

    def read(self, readings: Mapping[str, Any]) -> Tree:
        """Return the same change of readings with today's names."""
        found: Tree = {
            name: self._renamed(fields, READING_FIELDS) for name, fields in readings.items()
        }
        states = found["Gpus"].get("states") if isinstance(found.get("Gpus"), dict) else None
        if isinstance(states, dict):
            found["Gpus"]["states"] = {key: self._state(it) for key, it in states.items()}
        elif isinstance(states, list):
            found["Gpus"]["states"] = [self._state(state) for state in states]
        return found

    def _state(self, state: Any) -> Any:
        if not isinstance(state, dict) or not isinstance(state.get("gpu"), dict):
            return state
        gpu = state["gpu"]
        if not GPU_FIELDS.keys() & gpu.keys():
            return state
        old = {name: self._reasons(gpu[name]) for name in GPU_FIELDS.keys() & gpu.keys()}
        return {**state, "gpu": self._renamed({**gpu, **old}, GPU_FIELDS)}

    def _reasons(self, values: Any) -> Any:
        if isinstance(values, list):
            return [[*self._each(row[:1]), *row[1:]] for row in values]
        return self._renamed(values, REASONS)

    def _each(self, names: Iterable[str]) -> list[str]:
        return list(self._renamed(dict.fromkeys(names), REASONS))

    def _renamed(self, fields: Any, names: Mapping[str, str]) -> Any:
        if not isinstance(fields, dict) or not names.keys() & fields.keys():
            return fields
        for old in sorted(names.keys() & fields.keys() - self._noted):
            self._noted.add(old)
            logger.warning("%s is an old name, and is read as %s", old, names[old])
        return {names.get(name, name): value for name, value in fields.items()}
