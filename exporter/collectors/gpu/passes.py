"""The life of a pass over GPUs, the same for every vendor."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

PATIENCE_SECS = 1.0
"""How long a collection waits for a pass; what comes later is published when it comes."""

DUE_SECS = 0.8
"""A pass is due after this, a little less than the shortest interval: timers fire early too."""


class Passes:
    """Runs one pass at a time beside the collections: a driver that hangs delays nobody.

    `run` is one pass; `publish` is called if no collection waits for what a pass has found.
    """

    def __init__(
        self,
        run: Callable[[], Coroutine[Any, Any, None]],
        publish: Callable[[], None],
        boottime: Callable[[], float],
        due_secs: float = DUE_SECS,
    ) -> None:
        self._run = run
        self._publish = publish
        self._boottime = boottime
        self._due_secs = due_secs
        self._pass: asyncio.Task[None] | None = None
        self._started: float | None = None
        self._is_awaited = False

    @property
    def is_running(self) -> bool:
        """Whether a pass runs now."""
        return self._pass is not None and not self._pass.done()

    async def wait_a_moment(self) -> None:
        """Start a pass unless one runs or has just run, and wait for it, but not long."""
        now = self._boottime()
        if self._pass is None:
            if self._started is not None and now - self._started < self._due_secs:
                return
            self._started = now
            self._pass = asyncio.ensure_future(self._run())
        self._is_awaited = True
        try:
            await asyncio.wait({self._pass}, timeout=PATIENCE_SECS)
        finally:
            self._is_awaited = False
        self.take_end()

    def take_end(self) -> None:
        """Raise the error of a pass that has ended with one: a bug fails the source."""
        if self._pass is not None and self._pass.done():
            ended, self._pass = self._pass, None
            if not ended.cancelled():
                ended.result()

    def publish_unless_awaited(self) -> None:
        """Publish what is known now, unless a collection waits for the pass and does so."""
        if not self._is_awaited:
            self._publish()

    def cancel(self) -> None:
        """End the pass that runs; the next one is due at once."""
        self._started = None
        if self._pass is not None:
            self._pass.cancel()
