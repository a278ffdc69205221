"""Polling the kernel log by syslog(2), where /dev/kmsg may not be opened.

Action 3 copies the end of the ring and consumes nothing; action 10 gives the size of the ring
(see syslog(2)). There is no sequence: what is new is told by the last record of the look before.
"""

import asyncio
import os
from collections.abc import Callable
from typing import NamedTuple

from exporter.blocking import CallBlocking
from exporter.collectors.kernel_log.pipeline import Pipeline
from exporter.collectors.kernel_log.record import Record, join_lines, parse_syslog

LOOK_SECS = 1.0
REST_PER_WORK = 200.0
"""Seconds of rest for each second of work: half a percent of one core."""

READ_ALL = 3
SIZE_BUFFER = 10
TAIL_BYTES = 64 * 1024
MAX_RING_BYTES = 16 * 1024 * 1024

KlogCtl = Callable[[int, int], bytes]
"""syslog(2): an action and the size of the buffer; what was read. Raises OSError."""


def klogctl(action: int, size: int) -> bytes:
    """Call syslog(2) through the C library; the size of the ring comes as decimal digits."""
    import ctypes  # noqa: PLC0415 - a megabyte that only the second choice needs

    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(size) if size else None
    result = library.klogctl(action, buffer, size)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return str(result).encode() if buffer is None else buffer.raw[:result]


class Look(NamedTuple):
    """New records, in order; `has_overrun` tells that what was remembered is gone."""

    records: list[Record]
    has_overrun: bool


class SyslogRing:
    """Reads as much of the ring as is needed to find the last record of the look before."""

    def __init__(self, call: KlogCtl) -> None:
        self._call = call
        self._last: Record | None = None
        self._equal = 0  # records equal to the last one at the end of its look

    def look(self) -> Look:
        """Return what is new since the last look; all of the ring at the first. Raises OSError."""
        records = [] if self._last is None else parse_syslog(self._call(READ_ALL, TAIL_BYTES))
        if self._last is None or (records and self._last not in records):
            size = min(int(self._call(SIZE_BUFFER, 0)), MAX_RING_BYTES)
            records = parse_syslog(self._call(READ_ALL, size))
        look = self._new_of(records)
        if records:
            self._last = records[-1]
            self._equal = records.count(self._last)
        return look

    def _new_of(self, records: list[Record]) -> Look:
        """Choose the records after the last one; the same line again in its microsecond is new."""
        last = self._last
        if last is None:
            return Look(records, has_overrun=False)
        places = [index for index, record in enumerate(records) if record == last]
        if places:
            start = places[min(self._equal, len(places)) - 1] + 1
            return Look(records[start:], has_overrun=False)
        newer = [record for record in records if record.stamp > last.stamp]
        return Look(newer, has_overrun=bool(records))


def feed(look: Look, pipeline: Pipeline) -> None:
    """Hand what is new to the pipeline; an overrun counts as one lost record, a lower bound."""
    if look.has_overrun:
        pipeline.lose(1)
    for record in join_lines(look.records):
        pipeline.take(record)


class SyslogPoller:
    """Hands what is new in the kernel's ring to the pipeline.

    `changed` is called after each look; `error` says why the ring cannot be read at present.
    """

    source = "syslog"

    def __init__(
        self,
        klogctl: KlogCtl,
        call: CallBlocking,
        pipeline: Pipeline,
        changed: Callable[[], None],
        reason: str,
    ) -> None:
        self.reason = reason
        self.error: str | None = None
        self._ring = SyslogRing(klogctl)
        self._call = call
        self._pipeline = pipeline
        self._changed = changed
        self._looking: asyncio.Task[None] | None = None

    async def replay(self) -> None:
        """Read the whole ring; raises OSError when it may not be read."""
        await self._look()

    def watch(self) -> None:
        """Start to poll."""
        self._looking = asyncio.ensure_future(self._keep_looking())

    def close(self) -> None:
        """Stop polling."""
        if self._looking is not None:
            self._looking.cancel()

    async def _keep_looking(self) -> None:
        loop = asyncio.get_running_loop()
        work = 0.0
        while True:
            await asyncio.sleep(max(LOOK_SECS, REST_PER_WORK * work))
            started = loop.time()
            try:
                await self._look()
                self.error = None
            except OSError as error:
                self.error = f"syslog(2) cannot be read: {error.strerror or error}"
            work = loop.time() - started
            self._changed()

    async def _look(self) -> None:
        feed(await self._call(self._ring.look), self._pipeline)
        self._pipeline.settle()
        self._pipeline.caught_up()
