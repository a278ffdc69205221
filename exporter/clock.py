"""The clocks of this machine."""

import time


def wall_now() -> float:
    """Return seconds since the epoch."""
    return time.time()


def rfc3339_now() -> str:
    """Return the time in UTC as text, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall_now()))


def boottime_now() -> float:
    """Return seconds since boot, suspended time included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
