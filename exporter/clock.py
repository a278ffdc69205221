"""The clocks of this machine."""

import time


def wall_now() -> float:
    """Return seconds since the epoch."""
    return time.time()


def rfc3339(at: float) -> str:
    """Return a time in seconds since the epoch as text in UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def boottime_now() -> float:
    """Return seconds since boot, suspended time included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
