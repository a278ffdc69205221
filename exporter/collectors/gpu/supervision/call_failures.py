"""Disables calls of a library that crash repeatedly, on one device or on all."""

from collections import Counter
from collections.abc import Callable, Collection

CRASHES_OF_ONE_CALL = 3
"""After so many crashes in a call on one device, the call is disabled there."""

DEVICES_OF_ONE_CALL = 2
"""A call disabled on so many devices is disabled on all."""

RETRY_SECS = 40.0
"""After this time a disabled call is tried again; one more crash disables it again.

With the longest usual interval of collections a value is back within a minute.
"""

MARK = "@"


def call_and_place(crumb: str) -> tuple[str, int | None]:
    """Split a breadcrumb: the call, and the index of its device, None without one.

    For example `nvmlDeviceGetName@3` is a call on the GPU with index 3.
    """
    call, _, place = crumb.partition(MARK)
    return call, int(place) if place.isdecimal() else None


class DisabledCalls:
    """Counts crashes by call and device, and disables calls that crash repeatedly.

    The `vital` calls, without which nothing can be read, are never disabled.
    """

    def __init__(self, now: Callable[[], float], vital: Collection[str] = ()) -> None:
        self._now = now
        self._vital = vital
        self._crashes: Counter[str] = Counter()
        self._until: dict[str, float] = {}

    @property
    def crumbs(self) -> tuple[str, ...]:
        """The disabled calls as breadcrumbs; without an index on all devices."""
        now = self._now()
        return tuple(crumb for crumb, until in self._until.items() if until > now)

    def note_crash(self, crumb: str) -> str | None:
        """Count a crash; return the call that it disables, None if it disables none."""
        self._crashes[crumb] += 1
        call, _ = call_and_place(crumb)
        if call in self._vital or not self.is_repeated(crumb):
            return None
        until = self._now() + RETRY_SECS
        self._until[crumb] = until
        elsewhere = [other for other in self.crumbs if call_and_place(other)[0] == call]
        if len(elsewhere) < DEVICES_OF_ONE_CALL:
            return crumb
        self._until[call] = until
        return call

    def is_repeated(self, crumb: str) -> bool:
        """Whether this call has crashed so often that another crash is expected."""
        return self._crashes[crumb] >= CRASHES_OF_ONE_CALL

    def clear(self) -> None:
        """Allow every call again: the driver may have changed."""
        self._crashes.clear()
        self._until.clear()
