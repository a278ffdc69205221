"""The NVLink fabric a GPU belongs to: whether it has joined, and whether it is healthy."""

import ctypes

from exporter.annotation import Any
from exporter.collectors.gpu.fabric import MISCONFIGURATIONS, is_fabric_healthy
from exporter.collectors.gpu.nvml_probe.card import NvmlDevice
from exporter.collectors.gpu.nvml_probe.nvml import (
    NVML_ERROR_NOT_SUPPORTED,
    NVML_SUCCESS,
    NVMLError,
)
from exporter.collectors.gpu.nvml_probe.structs import (
    Struct,
    c_nvmlGpuFabricInfo_t,
    c_nvmlGpuFabricInfo_v2_t,
    c_nvmlGpuFabricInfo_v3_t,
    c_nvmlPlatformInfo_v2_t,
)

STATES = {0: "not_supported", 1: "not_started", 2: "in_progress", 3: "completed"}
FIELDS = ("fabric_state", "fabric_healthy", "fabric_condition", "fabric_clique", "fabric_cluster")
CHASSIS = ("chassis_serial", "chassis_slot", "chassis_tray")
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
FORMS = (
    ("nvmlDeviceGetGpuFabricInfoV", c_nvmlGpuFabricInfo_v3_t),
    ("nvmlDeviceGetGpuFabricInfoV", c_nvmlGpuFabricInfo_v2_t),
    ("nvmlDeviceGetGpuFabricInfo", c_nvmlGpuFabricInfo_t),
)
"""Newest first: the first sums up, the second names symptoms."""


def fabric(card: NvmlDevice) -> dict[str, Any]:
    """State and health, by the newest form of the answer that the driver knows."""

    def answer(variant: tuple[str, type[Struct]]) -> Struct:
        name, form = variant
        written = form()
        card.ask(name, ctypes.byref(written))
        return written

    return reported_of(card.library.newest(FORMS, answer))


def chassis(card: NvmlDevice) -> dict[str, Any]:
    """Read where the GPU is in its rack; a board that is in none leaves the serial empty."""
    info = c_nvmlPlatformInfo_v2_t()
    card.ask("nvmlDeviceGetPlatformInfo", ctypes.byref(info))
    serial = info.chassisSerialNumber.decode("ascii", "replace").strip()
    if not serial:
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    return dict(zip(CHASSIS, (serial, info.slotNumber[0], info.trayIndex[0]), strict=True))


def reported_of(info: Any) -> dict[str, Any]:
    """Take one answer apart; a GPU outside any fabric says nothing of health.

    `status` tells how joining ended, and counts only once it has: a failure is no health.
    """
    state = STATES.get(info.state)
    if state is None:
        raise ValueError(f"fabric state {info.state}")
    if state == "not_supported":
        raise NVMLError(NVML_ERROR_NOT_SUPPORTED)
    unsaid = NVMLError(NVML_ERROR_NOT_SUPPORTED)
    found: dict[str, Any] = dict.fromkeys(FIELDS, unsaid) | {"fabric_state": state}
    if state != "completed":
        return found
    conditions = _conditions(getattr(info, "healthMask", NOT_REPORTED))
    if conditions:
        found["fabric_condition"] = [(name, int(value)) for name, value in conditions.items()]
    summary = getattr(info, "healthSummary", NOT_REPORTED)
    healthy = is_fabric_healthy(
        has_joined=info.status == NVML_SUCCESS,
        summary=None if summary == NOT_REPORTED else summary == SUMMARY_HEALTHY,
        conditions=conditions,
    )
    if healthy is not None:
        found["fabric_healthy"] = healthy
    found["fabric_clique"] = info.cliqueId
    found["fabric_cluster"] = _uuid(bytes(info.clusterUuid).hex())
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
    if configuration in MISCONFIGURATIONS:
        found[MISCONFIGURATIONS[configuration][0]] = True
    return found


def _uuid(digits: str) -> str:
    """Write 32 digits as UUIDs are written (RFC 9562); the module `uuid` is left out."""
    bounds = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
    return "-".join(digits[start:end] for start, end in bounds)
