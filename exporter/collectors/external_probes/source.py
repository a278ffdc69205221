"""External probes: programs of the operator's own that print JSON lines (docs/probes.md)."""

import asyncio
from collections import deque
from functools import partial

from exporter.collectors.external_probes.stream import StreamProbe
from exporter.collectors.external_probes.values import ExternalProbes
from exporter.model.event import Event
from exporter.model.reading import Reading
from exporter.reading.context import SourceContext

MAX_EVENTS = 256


class ExternalProbesSource:
    """Starts all configured probes at its first reading and says what they said last."""

    name = "external_probes"
    deadline_secs = 1.0

    def __init__(self, ctx: SourceContext) -> None:
        self._wake = partial(ctx.wake, self.name)
        self._probes = tuple(StreamProbe(probe, ctx, self._on_event) for probe in ctx.config.probes)
        self._tasks: list[asyncio.Task[None]] = []
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._event_count = 0

    async def read(self) -> Reading[ExternalProbes]:
        """Return what the probes said last."""
        if not self._tasks:
            self._tasks = [asyncio.ensure_future(probe.run()) for probe in self._probes]
        for task in self._tasks:
            if task.done():
                task.result()
        states = tuple(probe.state() for probe in self._probes)
        return Reading(ExternalProbes(states, tuple(self._events), self._event_count))

    async def close(self) -> None:
        """End all probes."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=0.5)

    def _on_event(self, event: Event) -> None:
        self._events.append(event)
        self._event_count += 1
        self._wake()
