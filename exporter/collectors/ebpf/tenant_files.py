"""Files of tenants, which may lie on a filesystem that hangs: a dead server, FUSE of their own."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from exporter.blocking import CallBlocking, wait_for_any

DEADLINE_SECS = 5.0
"""For all the files of one look; their reading is bounded in processor time besides."""

MAX_HANGING = 8
"""Each keeps a thread; with so many no further file is opened until one of them answers."""

T = TypeVar("T")


class GivenUp(Exception):
    """The caller no longer waits for the result."""


class Progress:
    """Which filesystem a reader is at, by the device that the maps of processes name."""

    def __init__(self) -> None:
        self.device = ""
        self.is_given_up = False

    def come_to(self, device: str) -> None:
        """Note the filesystem of the next file; raise GivenUp where nobody waits any more."""
        if self.is_given_up:
            raise GivenUp
        self.device = device


class TenantFiles:
    """Runs readers of tenants' files, each with a deadline; one that hangs costs its filesystem."""

    def __init__(self, call: CallBlocking, deadline_secs: float = DEADLINE_SECS) -> None:
        self._call = call
        self._deadline_secs = deadline_secs
        self._hanging: dict[asyncio.Future[Any], str] = {}
        self._left_out: tuple[str, ...] = ()  # replaced as a whole: readers look at it too

    @property
    def problems(self) -> tuple[str, ...]:
        """Why files are not opened; tenants choose their filesystems, so that no source fails."""
        count = len(set(self._left_out))
        return (f"filesystems of libraries that hang and are left out: {count}",) if count else ()

    def may_open(self, device: str) -> bool:
        """Whether files of this filesystem are read: none is waited for there."""
        return len(self._left_out) < MAX_HANGING and device not in self._left_out

    async def read(self, reader: Callable[[Progress], T]) -> T | None:
        """Return the reader's result; None where a file hangs: its filesystem is left out then."""
        progress = Progress()
        reading = asyncio.ensure_future(self._call(partial(reader, progress)))
        await wait_for_any({reading}, self._deadline_secs)
        if reading.done():
            return reading.result()
        progress.is_given_up = True
        self._hanging[reading] = progress.device
        self._left_out = tuple(self._hanging.values())
        reading.add_done_callback(self._answered)
        return None

    def _answered(self, reading: "asyncio.Future[Any]") -> None:
        del self._hanging[reading]
        self._left_out = tuple(self._hanging.values())
        if not reading.cancelled():
            reading.exception()  # GivenUp, or what nobody waits for
