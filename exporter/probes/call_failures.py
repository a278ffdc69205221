"""Which calls of a library are not made any more because they crash: on one device, or at all."""

from collections import Counter
from collections.abc import Callable, Collection

CRASHES_OF_ONE_CALL = 3
"""So many crashes in the same call on the same device, and it is not made any more."""

DEVICES_OF_ONE_CALL = 2
"""Switched off on so many devices, a call is not made on any."""

RETRY_SECS = 40.0
"""After so long a call that was switched off is tried again; one more crash ends that.

With the longest usual interval of collections a value is back within a minute.
"""

MARK = "@"


def call_and_place(crumb: str) -> tuple[str, int | None]:
    """Take a breadcrumb apart: the call, and the index of its device, None where it has none.

    For example `nvmlDeviceGetName@3` is a call on the GPU of index 3.
    """
    call, _, place = crumb.partition(MARK)
    return call, int(place) if place.isdecimal() else None


class DisabledCalls:
    """Counts crashes by call and device, and tells which calls the library must not make.

    Without the `vital` calls nothing can be read: they are never switched off.
    """

    def __init__(self, now: Callable[[], float], vital: Collection[str] = ()) -> None:
        self._now = now
        self._vital = vital
        self._crashes: Counter[str] = Counter()
        self._until: dict[str, float] = {}

    @property
    def crumbs(self) -> tuple[str, ...]:
        """The calls that are switched off now, as breadcrumbs; without a place on all devices."""
        now = self._now()
        return tuple(crumb for crumb, until in self._until.items() if until > now)

    def note_crash(self, crumb: str) -> str | None:
        """Count a crash; give the call that is switched off by it, if one is."""
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
        """Whether the library has crashed so often in this call that it will do so again."""
        return self._crashes[crumb] >= CRASHES_OF_ONE_CALL

    def clear(self) -> None:
        """Allow every call again: the driver may be another one."""
        self._crashes.clear()
        self._until.clear()
