"""Limits how much output of a probe is read per second: a flood costs the probe only."""

from collections.abc import Callable

MAX_LINES = 1000
"""Lines per second that are parsed; further ones are dropped and counted."""
MAX_READ_LINES = 20 * MAX_LINES
MAX_READ_BYTES = 4 * 1024 * 1024
"""Limits of reading per second; beyond them the probe waits at its full pipe."""


class Pace:
    """Counts lines and bytes within the current second."""

    def __init__(self, boottime: Callable[[], float]) -> None:
        self._boottime = boottime
        self._since = 0.0
        self._lines = 0
        self._bytes = 0

    def takes_line(self) -> bool:
        """Count a line; return whether it is within the limit of parsed lines."""
        self._turn()
        self._lines += 1
        return self._lines <= MAX_LINES

    def pause_secs(self, size: int) -> float:
        """Count bytes; return for how many seconds reading must pause."""
        now = self._turn()
        self._bytes += size
        if self._bytes <= MAX_READ_BYTES and self._lines <= MAX_READ_LINES:
            return 0.0
        return self._since + 1 - now

    def _turn(self) -> float:
        now = self._boottime()
        if not 0 <= now - self._since < 1:
            self._since, self._lines, self._bytes = now, 0, 0
        return now
