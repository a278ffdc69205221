"""Reading and following /dev/kmsg: one record for each read, without waiting, with bounded work.

EPIPE says that the ring was overwritten under the reader (the gap shows in the sequence numbers),
EINVAL that a record did not fit; both are passed over. A pipe or a file with the same text may
give several records for one read, and an end. A turn reads what there is into memory, which takes
microseconds for each record, and looks at `TURN_RECORDS` of it. Turns are so far apart that they
take at most a fifth of one core; what the kernel overwrites meanwhile shows as a gap and is counted
as lost.
"""

import asyncio
import errno
import os
import time
from collections import deque
from collections.abc import Callable
from enum import Enum

from exporter.collectors.kernel_log.pipeline import MALFORMED, TOO_LONG, Pipeline
from exporter.collectors.kernel_log.record import parse_kmsg, split_kmsg

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

PASSED_OVER = (errno.EINVAL, errno.EPIPE, errno.EINTR)
READ_BYTES = 16384
"""More than the longest record with all its escapes."""


MAX_AHEAD_BYTES = 4 * 1024 * 1024
MAX_AHEAD_READS = 32768
"""Limits of unprocessed records: tens of thousands of Xids within a second."""


class ReadAhead:
    """Empties a device before the kernel overwrites it, and hands out what was read one by one."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read
        self._ahead: deque[bytes | OSError] = deque()
        self._bytes = 0

    @property
    def is_empty(self) -> bool:
        """Whether everything that was read has been handed out."""
        return not self._ahead

    def fill(self) -> None:
        """Read until there is nothing new, or enough; an error is handed out in its place."""
        while self._bytes < MAX_AHEAD_BYTES and len(self._ahead) < MAX_AHEAD_READS:
            try:
                data = self._read()
            except BlockingIOError:
                return  # for now: told again once all that was read is handed out
            except OSError as error:
                self._ahead.append(error)
                if error.errno not in PASSED_OVER:
                    return
                continue
            self._ahead.append(data)
            self._bytes += len(data)
            if not data:
                return

    def read(self) -> bytes:
        """Return the next record; raises the error that the device raised in its place."""
        if not self._ahead:
            return self._read()
        data = self._ahead.popleft()
        if isinstance(data, OSError):
            raise data
        self._bytes -= len(data)
        return data


class Pumped(Enum):
    """How a turn of reading ended."""

    MORE = "more"  # the limit was met; there may be more
    DRAINED = "drained"  # nothing new now
    ENDED = "ended"  # a pipe without writers, or the end of a file


class KmsgReader:
    """Hands the records of an open descriptor to the pipeline.

    `read` gives the bytes of one read, raises BlockingIOError when there is nothing new, and
    gives no bytes at an end.
    """

    def __init__(self, read: Callable[[], bytes], pipeline: Pipeline) -> None:
        self._read = read
        self._pipeline = pipeline
        self._rest = b""
        self._taken = 0

    def pump(self, limit: int) -> Pumped:
        """Take about `limit` records; raises OSError when the device cannot be read any more."""
        self._taken = 0
        while self._taken < limit:
            self._taken += 1
            try:
                data = self._read()
            except BlockingIOError:
                self._take_rest()
                return Pumped.DRAINED
            except OSError as error:
                if error.errno not in PASSED_OVER:
                    raise
                if error.errno == errno.EINVAL:
                    self._pipeline.reject(TOO_LONG)
                continue
            if not data:
                self._take_rest()
                return Pumped.ENDED
            self._take(data)
        return Pumped.MORE

    def _take(self, data: bytes) -> None:
        if self._rest:
            if parse_kmsg(data) is not None and parse_kmsg(self._rest) is not None:
                self._take_rest()  # a record without a line feed at its end
            data, self._rest = self._rest + data, b""
        records, self._rest = split_kmsg(data)
        self._taken += max(0, len(records) - 1)
        for piece in records:
            self._take_record(piece)
        if len(self._rest) > READ_BYTES:
            self._rest = b""
            self._pipeline.reject(TOO_LONG)

    def _take_rest(self) -> None:
        if self._rest:
            rest, self._rest = self._rest, b""
            self._take_record(rest)

    def _take_record(self, data: bytes) -> None:
        record = parse_kmsg(data)
        if record is None:
            self._pipeline.reject(MALFORMED)
        else:
            self._pipeline.take(record)


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
        *,
        name: str = "the kernel log",
    ) -> None:
        self.reason = "ok"
        self.error: str | None = None
        self._descriptor = descriptor
        self._pipeline = pipeline
        self._changed = changed
        self._name = name
        self._worked = worked  # seconds of processor time, not of a clock: others may have it
        self._ahead = ReadAhead(lambda: read(descriptor, READ_BYTES))
        self._reader = KmsgReader(self._ahead.read, pipeline)
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
        """Close the device."""
        for timer in (self._next_turn, self._settling):
            if timer is not None:
                timer.cancel()
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _turn(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._descriptor)
        started = self._worked()
        self._ahead.fill()
        pumped = self._pump()
        if self._pipeline.is_holding:
            if self._settling is not None:
                self._settling.cancel()
            self._settling = loop.call_later(HOLD_SECS, self._settle)
        self._changed()
        pause = min(MAX_PAUSE_SECS, REST_PER_WORK * (self._worked() - started))
        if pumped is Pumped.DRAINED:
            pause = max(TURN_PAUSE_SECS, pause)
        if self.error is not None:
            pause = ERROR_PAUSE_SECS
        elif pumped is Pumped.ENDED:
            pause = END_PAUSE_SECS
        # With records in hand nobody waits for new ones.
        has_more = pumped is Pumped.MORE or not self._ahead.is_empty
        next_step = self._turn if has_more else self.watch
        self._next_turn = loop.call_later(pause, next_step)

    def _pump(self) -> Pumped:
        try:
            pumped = self._reader.pump(TURN_RECORDS)
            self.error = None
        except OSError as error:
            self.error = f"{self._name} cannot be read: {error.strerror or error}"
            return Pumped.ENDED
        if pumped is not Pumped.MORE:
            self._pipeline.caught_up()
        return pumped

    def _settle(self) -> None:
        self._settling = None
        self._pipeline.settle()
        self._changed()
