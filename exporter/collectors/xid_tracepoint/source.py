"""The source of Xids by the tracepoint `nvidia:nvidia_dev_xid` of the NVIDIA driver.

The format is that of kernel-open/nvidia/nv-tracepoint.h in NVIDIA's open kernel modules. Only the
driver can cause this event: neither a process that may write to /dev/kmsg nor the text of another
message. The message is that of the kernel log, and is read as such.
"""

import asyncio
import logging
import os
import re
from collections.abc import Callable

from exporter.collectors.kernel_log.counters import XID_KINDS
from exporter.collectors.kernel_log.kmsg import READ_BYTES, KmsgFollower
from exporter.collectors.kernel_log.pattern_file import Lines, shipped_lines
from exporter.collectors.kernel_log.pipeline import Pipeline, PrintClock
from exporter.collectors.kernel_log.table import Table
from exporter.collectors.kernel_log.values import TRACEPOINT, TracedXids
from exporter.collectors.xid_tracepoint.tracefs import TraceInstance
from exporter.model.reading import Reading
from exporter.reading.context import SourceContext
from exporter.reading.source import SourceFailed
from exporter.record import replace

CLOSE_SECS = 0.4

_XID = re.compile(rb"(\d{1,12})\.(\d{6}): nvidia_dev_xid: Xid \(PCI:([^)]{1,40})\): (\d+), (.*)")
"""A name of a process in the line, at most 15 bytes, is too short to look like this."""

_LOST = re.compile(rb"CPU:\d+ \[LOST (?:(\d+) )?EVENTS\]")

Read = Callable[[int, int], bytes]

log = logging.getLogger("exporter.collectors.xid_tracepoint")


def xid_lines() -> Lines:
    """Return the lines of the kernel log that are about Xids."""
    lines = shipped_lines()
    return replace(lines, rows=tuple(row for row in lines.rows if row.kind in XID_KINDS))


class TracePipe:
    """Reads a trace pipe as if it was /dev/kmsg: each Xid as the record that the driver prints.

    `lose` takes the number of Xids that were overwritten before they were read.
    """

    def __init__(self, lose: Callable[[int], None], read: Read = os.read) -> None:
        self._lose = lose
        self._read = read
        self._rest = b""
        self._sequence = 0

    def read(self, descriptor: int, size: int) -> bytes:
        """Return some records, or no bytes at an end; raise BlockingIOError without any."""
        while data := self._read(descriptor, size):
            *lines, rest = (self._rest + data).split(b"\n")
            self._rest = rest[-READ_BYTES:]
            if records := b"".join(map(self._record, lines)):
                return records
        return b""

    def _record(self, line: bytes) -> bytes:
        if lost := _LOST.match(line):
            self._lose(int(lost[1] or 1))
        if (found := _XID.search(line)) is None:
            return b""  # or what follows a line feed in the name of a process
        self._sequence += 1
        secs, micros, pci, code, text = found.groups()
        stamp = b"4,%d,%d,-" % (self._sequence, int(secs + micros))
        escaped = text.replace(b"\\", b"\\x5c")
        return b"%s;NVRM: Xid (PCI:%s): %s, %s\n" % (stamp, pci, code, escaped)


class XidTracepointSource:
    """Follows the tracepoint from the first `read` on."""

    name = "xid_tracepoint"
    deadline_secs = 5.0

    def __init__(self, ctx: SourceContext, *, read: Read = os.read) -> None:
        self._ctx = ctx
        self._read_pipe = read
        self._instance = TraceInstance(ctx.sys / "kernel/tracing")
        self._pipeline = Pipeline(
            PrintClock(ctx.wall, ctx.boottime),
            accept_user_records=False,
            table=Table(xid_lines()),
            source=TRACEPOINT,
        )
        self._follower: KmsgFollower | None = None
        self._woke_at = 0  # the number of the latest Xid that was published

    async def read(self) -> Reading[TracedXids]:
        """Return the Xids since the start; raise SourceAbsent or SourceFailed."""
        if self._follower is None:
            descriptor = await self._ctx.call(self._instance.open)
            pipe = TracePipe(self._pipeline.lose, self._read_pipe)
            self._follower = KmsgFollower(
                descriptor, self._pipeline, self._changed, pipe.read, name="the trace pipe"
            )
            await self._follower.replay()
            self._follower.watch()
        else:
            await self._ctx.call(self._instance.enable)
        if self._follower.error is not None:
            raise SourceFailed(self._follower.error)
        counters = self._pipeline.counters
        self._woke_at = counters.number
        xids = tuple(counters.xids[key] for key in sorted(counters.xids))
        lost = (("xid", float(counters.lost)),) if counters.lost else ()
        return Reading(TracedXids(xids, counters.ring.events()), rejected=lost)

    async def close(self) -> None:
        """Close the pipe and remove the instance."""
        if self._follower is None:
            return
        self._follower.close()
        self._follower = None
        removing = asyncio.ensure_future(self._ctx.call(self._remove))
        await asyncio.wait({removing}, timeout=CLOSE_SECS)

    def _remove(self) -> None:
        try:
            self._instance.remove()
        except OSError as error:
            log.warning("%s cannot be removed: %s", error.filename, error.strerror)

    def _changed(self) -> None:
        """Publish new Xids at once."""
        if self._pipeline.counters.number != self._woke_at:
            self._woke_at = self._pipeline.counters.number
            self._ctx.wake(self.name)
