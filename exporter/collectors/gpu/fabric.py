"""Health of the NVLink fabric, from what each backend reports in words of its own."""

from collections.abc import Iterable, Mapping

ILL = ("degraded_bandwidth", "route_unhealthy", "access_timeout_recovery", "configuration")
"""Conditions that mean trouble; a recovery of routes that is under way does not."""

MISCONFIGURATIONS = {
    2: ("incorrect_sysguid", "incorrect systemguid"),
    3: ("incorrect_chassis_sn", "incorrect chassis serial number"),
    4: ("no_partition", "no partition"),
    5: ("insufficient_nvlinks", "insufficient nvlink resources"),
    6: ("incompatible_gpu_fw", "incompatible gpu firmware"),
    7: ("invalid_location", "invalid location"),
    8: ("gpu_state_invalid", "gpu state invalid"),
}
"""What is wrong with the configuration, by number of NVML: condition, and words of nvidia-smi."""


def is_fabric_healthy(
    *, has_joined: bool | None, summary: bool | None, conditions: Mapping[str, bool]
) -> bool | None:
    """Judge a GPU whose registration ended; None when the driver reports nothing of health.

    A registration that failed, a summary that is not healthy and a condition that means trouble
    count each by itself: drivers report some of them only.
    """
    if has_joined is False or any(conditions.get(name) for name in ILL):
        return False
    if summary is not None:
        return summary
    return True if conditions else None


def words_of(conditions: Iterable[tuple[str, float]]) -> str:
    """Write the conditions that hold; a known misconfiguration stands for `configuration`."""
    held = [name for name, holds in conditions if holds]
    if any(name in held for name, _ in MISCONFIGURATIONS.values()):
        held = [name for name in held if name != "configuration"]
    return ", ".join(held).replace("_", " ")
