"""Following /dev/kmsg on the event loop, with bounded work.

A turn reads at most `TURN_RECORDS` records, and turns are so far apart that they take at most a
fifth of one core; what the kernel overwrites meanwhile shows as a gap and is counted as lost.
"""

import asyncio
import os
import time
from collections.abc import Callable

from exporter.sources.kernel_log.kmsg import READ_BYTES, KmsgReader, Pumped
from exporter.sources.kernel_log.pipeline import Pipeline

TURN_RECORDS = 256
TURN_PAUSE_SECS = 0.05
REST_PER_WORK = 4.0
"""Seconds of rest for each second of work: a fifth of one core at most."""

MAX_PAUSE_SECS = 0.25

END_PAUSE_SECS = 0.25
ERROR_PAUSE_SECS = 5.0
REPLAY_SECS = 1.0
HOLD_SECS = 0.2
"""Further lines of a message come within this time."""


class KmsgFollower:
    """Hands the records of an open, non-blocking descriptor to the pipeline as they appear.

    `changed` is called after each turn. `error` says why the device cannot be read at present.
    """

    source = "kmsg"

    def __init__(
        self,
        descriptor: int,
        pipeline: Pipeline,
        changed: Callable[[], None],
        read: Callable[[int, int], bytes] = os.read,
        worked: Callable[[], float] = time.thread_time,
    ) -> None:
        self.reason = "ok"
        self.error: str | None = None
        self._descriptor = descriptor
        self._pipeline = pipeline
        self._changed = changed
        self._worked = worked  # seconds of processor time, not of a clock: others may have it
        self._reader = KmsgReader(lambda: read(descriptor, READ_BYTES), pipeline)
        self._next_turn: asyncio.TimerHandle | None = None
        self._settling: asyncio.TimerHandle | None = None

    async def replay(self) -> None:
        """Read what is there already, for a second at most; the rest follows turn by turn."""
        loop = asyncio.get_running_loop()
        until = loop.time() + REPLAY_SECS
        while self._pump() is Pumped.MORE and loop.time() < until:  # noqa: ASYNC110 - others get their turn, nothing is waited for
            await asyncio.sleep(0)
        if not self._pipeline.is_in_history:
            self._pipeline.settle()

    def watch(self) -> None:
        """Take a turn when there is something to read."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._descriptor, self._turn)
        except PermissionError:  # a plain file, in a drill: it cannot be waited for
            self._next_turn = loop.call_later(END_PAUSE_SECS, self._turn)

    def close(self) -> None:
        """Let go of the device."""
        for timer in (self._next_turn, self._settling):
            if timer is not None:
                timer.cancel()
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _turn(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._descriptor)
        started = self._worked()
        pumped = self._pump()
        if self._pipeline.is_holding:
            self._settle_later(loop)
        self._changed()
        pause = min(MAX_PAUSE_SECS, REST_PER_WORK * (self._worked() - started))
        if pumped is Pumped.DRAINED:
            pause = max(TURN_PAUSE_SECS, pause)
        if self.error is not None:
            pause = ERROR_PAUSE_SECS
        elif pumped is Pumped.ENDED:
            pause = END_PAUSE_SECS
        self._next_turn = loop.call_later(pause, self.watch)

    def _pump(self) -> Pumped:
        try:
            pumped = self._reader.pump(TURN_RECORDS)
            self.error = None
        except OSError as error:
            self.error = f"the kernel log cannot be read: {error.strerror or error}"
            return Pumped.ENDED
        if pumped is not Pumped.MORE:
            self._pipeline.caught_up()
        return pumped

    def _settle_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = loop.call_later(HOLD_SECS, self._settle)

    def _settle(self) -> None:
        self._settling = None
        self._pipeline.settle()
        self._changed()
