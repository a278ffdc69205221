"""Following the kernel log by syslog(2): a look each second, less often where looks are dear."""

import asyncio
from collections.abc import Callable

from exporter.blocking import CallBlocking
from exporter.sources.kernel_log.pipeline import Pipeline
from exporter.sources.kernel_log.syslog import KlogCtl, SyslogRing, feed

LOOK_SECS = 1.0
REST_PER_WORK = 200.0
"""Seconds of rest for each second of work: half a percent of one core."""


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
        """Look again and again."""
        self._looking = asyncio.ensure_future(self._keep_looking())

    def close(self) -> None:
        """Look no more."""
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
