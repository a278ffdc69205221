"""The NVLink fabric a GPU belongs to: whether it has joined, and whether it is healthy."""

import ctypes
from typing import Any

import pynvml

from exporter.probes.nvml.card import Card
from exporter.probes.nvml.library import reason_of

STATES = {0: "not_supported", 1: "not_started", 2: "in_progress", 3: "completed"}
NOT_SAID, YES = 0, 1
SYMPTOMS = (0, 4, 6)
"""Shift of degraded bandwidth, unhealthy route and access timeout in the health mask."""

CONFIGURATION_SHIFT, CONFIGURATION_MASK, CONFIGURATION_RIGHT = 8, 0xF, 1
SUMMARY_HEALTHY = 1
FORMS = tuple(
    (name, getattr(pynvml, form))
    for name, form in (
        ("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfo_v3_t"),
        ("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfoV_t"),
        ("nvmlDeviceGetGpuFabricInfo", "c_nvmlGpuFabricInfo_t"),
    )
    if hasattr(pynvml, form)
)
"""Newest first, as far as the binding knows them: the second names symptoms, the third sums up."""


def fabric(card: Card) -> dict[str, Any]:
    """State and health, by the newest form of the answer that the driver knows."""
    for place in range(card.kept("fabric_form", 0), len(FORMS)):
        name, form = FORMS[place]
        answer = form()
        try:
            card.ask(name, ctypes.byref(answer))
        except pynvml.NVMLError as error:
            if reason_of(error) != "old_driver" or place == len(FORMS) - 1:
                raise
            card.keep("fabric_form", place + 1)
        else:
            return said_of(answer)
    raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)


def said_of(info: Any) -> dict[str, Any]:  # noqa: ANN401 - one of three structs of the binding
    """The fields of one answer; a GPU outside any fabric says nothing of health."""
    state = STATES.get(info.state)
    if state is None:
        raise ValueError(f"fabric state {info.state}")
    if state == "not_supported":
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    return {"fabric_state": state, "fabric_healthy": _is_healthy(info)}


def _is_healthy(info: Any) -> Any:  # noqa: ANN401 - a bool, or the error in its place
    summary = getattr(info, "healthSummary", NOT_SAID)
    if summary != NOT_SAID:
        return summary == SUMMARY_HEALTHY
    mask = getattr(info, "healthMask", NOT_SAID)
    if mask == NOT_SAID:
        return pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    configuration = mask >> CONFIGURATION_SHIFT & CONFIGURATION_MASK
    is_ill = any(mask >> shift & 3 == YES for shift in SYMPTOMS)
    return not is_ill and configuration in (NOT_SAID, CONFIGURATION_RIGHT)
