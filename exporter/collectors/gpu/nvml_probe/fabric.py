"""The NVLink fabric a GPU belongs to: whether it has joined, and whether it is healthy."""

import ctypes
import uuid
from typing import Any

import pynvml

from exporter.collectors.gpu.fabric import is_fabric_healthy
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice
from exporter.collectors.gpu.nvml_probe.library import reason_of

STATES = {0: "not_supported", 1: "not_started", 2: "in_progress", 3: "completed"}
FIELDS = ("fabric_state", "fabric_healthy", "fabric_condition", "fabric_clique", "fabric_cluster")
NOT_REPORTED, YES = 0, 1
CONDITIONS = {
    "degraded_bandwidth": 0,
    "route_recovery": 2,
    "route_unhealthy": 4,
    "access_timeout_recovery": 6,
}
"""Shift of two bits in the health mask, by condition."""

CONFIGURATION_SHIFT, CONFIGURATION_MASK, CONFIGURATION_RIGHT = 8, 0xF, 1
SUMMARY_HEALTHY = 1
FORMS = tuple(
    (name, getattr(pynvml, form))
    for name, form, size in (
        ("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfo_v3_t", 40),
        ("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfoV_t", 36),
        ("nvmlDeviceGetGpuFabricInfo", "c_nvmlGpuFabricInfo_t", 28),
    )
    # Bindings up to 12.560 and 13.595 have some of them in a size that nvml.h does not know.
    if hasattr(pynvml, form) and ctypes.sizeof(getattr(pynvml, form)) == size
)
"""Newest first, as far as the binding knows them: the second names symptoms, the third sums up."""


def fabric(card: NvmlDevice) -> dict[str, Any]:
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
            return reported_of(answer)
    raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)


def reported_of(info: Any) -> dict[str, Any]:
    """Take one answer apart; a GPU outside any fabric says nothing of health.

    `status` tells how joining ended, and counts only once it has: a failure is no health.
    """
    state = STATES.get(info.state)
    if state is None:
        raise ValueError(f"fabric state {info.state}")
    if state == "not_supported":
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    unsaid = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    found = dict.fromkeys(FIELDS, unsaid) | {"fabric_state": state}
    if state != "completed":
        return found
    conditions = _conditions(getattr(info, "healthMask", NOT_REPORTED))
    if conditions:
        found["fabric_condition"] = [(name, int(value)) for name, value in conditions.items()]
    summary = getattr(info, "healthSummary", NOT_REPORTED)
    healthy = is_fabric_healthy(
        has_joined=info.status == pynvml.NVML_SUCCESS,
        summary=None if summary == NOT_REPORTED else summary == SUMMARY_HEALTHY,
        conditions=conditions,
    )
    if healthy is not None:
        found["fabric_healthy"] = healthy
    found["fabric_clique"] = info.cliqueId
    found["fabric_cluster"] = str(uuid.UUID(bytes=bytes(bytearray(info.clusterUuid))))
    return found


def _conditions(mask: int) -> dict[str, bool]:
    """Whether each condition of the health mask holds, as far as it is reported."""
    found = {
        name: mask >> shift & 3 == YES
        for name, shift in CONDITIONS.items()
        if mask >> shift & 3 != NOT_REPORTED
    }
    configuration = mask >> CONFIGURATION_SHIFT & CONFIGURATION_MASK
    if configuration != NOT_REPORTED:
        found["configuration"] = configuration != CONFIGURATION_RIGHT
    return found
