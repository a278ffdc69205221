"""Health of the NVLink fabric, from what each backend reports in words of its own."""

from collections.abc import Mapping

ILL = ("degraded_bandwidth", "route_unhealthy", "access_timeout_recovery", "configuration")
"""Conditions that mean trouble; a recovery of routes that is under way does not."""


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
