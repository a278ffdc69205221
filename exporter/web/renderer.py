"""Renders large documents in a thread: each once, and one at a time."""

import asyncio
from collections.abc import Callable, Hashable

from exporter.blocking import CallBlocking
from exporter.model.snapshot import Snapshot
from exporter.web.answer import Answer, error_answer

MAX_WAITING = 32
"""The most different documents that may wait to be rendered; clients of one are not limited."""


class Renderer:
    """Caches documents of one snapshot, each for one second.

    A node with ten thousand processes on its GPUs has documents that take half a second: rendered
    on the event loop for several clients, they would delay collections and `/health`.
    """

    def __init__(self, call: CallBlocking) -> None:
        self._call = call
        self._one_at_a_time = asyncio.Lock()
        self._snapshot: Snapshot | None = None
        self._second = 0
        self._answers: dict[Hashable, asyncio.Task[Answer]] = {}
        self._waiting = 0
        self.rendered = 0

    async def answer(
        self,
        snapshot: Snapshot | None,
        boottime: float,
        key: Hashable,
        render: Callable[[], Answer],
    ) -> Answer:
        """Return the answer of `render`, called once for all concurrent requests of `key`."""
        if snapshot is not self._snapshot or int(boottime) != self._second:
            self._snapshot, self._second, self._answers = snapshot, int(boottime), {}
        task = self._answers.get(key)
        if task is None:
            if self._waiting >= MAX_WAITING:
                sentence = "too many documents are being rendered; try again"
                return error_answer(503, sentence, {"Retry-After": "1"})
            self._waiting += 1
            task = asyncio.ensure_future(self._render(render))
            self._answers[key] = task
        # Shielded: other clients wait for the task when this client leaves.
        return await asyncio.shield(task)

    async def _render(self, render: Callable[[], Answer]) -> Answer:
        try:
            async with self._one_at_a_time:
                self.rendered += 1
                return await self._call(render)
        finally:
            self._waiting -= 1
