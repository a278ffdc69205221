"""External probes: programs of the operator's own that print JSON lines (docs/probes.md)."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.config import ProbeCommand
from exporter.durations import parse_duration
from exporter.model.event import Event
from exporter.model.probe import ExternalProbes
from exporter.model.reading import Reading
from exporter.probes.child import Children, Command
from exporter.probes.lines import LineReader
from exporter.probes.stream import Schedule, StreamProbe

MAX_EVENTS = 256
DEFAULT_DEADLINE_SECS = 10.0


@dataclass(frozen=True, slots=True)
class ProbeSurroundings:
    """What external probes are built from; `is_taken` tells metric names that are ours."""

    children: Children
    environment: Mapping[str, str]
    is_taken: Callable[[str], bool]
    boottime: Callable[[], float]
    wake: Callable[[], None]


class ExternalProbesSource:
    """Starts all configured probes at its first reading and says what they said last."""

    name = "external_probes"
    deadline_secs = 1.0

    def __init__(self, probes: tuple[ProbeCommand, ...], around: ProbeSurroundings) -> None:
        self._wake = around.wake
        self._probes = tuple(_build(probe, around, self._on_event) for probe in probes)
        self._tasks: list[asyncio.Task[None]] = []
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._event_count = 0

    async def read(self) -> Reading[ExternalProbes]:
        """What the probes said last."""
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


def _build(
    probe: ProbeCommand, around: ProbeSurroundings, on_event: Callable[[Event], None]
) -> StreamProbe:
    return StreamProbe(
        probe.name,
        Command(probe.command, around.environment),
        Schedule(
            every_secs=parse_duration(probe.every) if probe.mode == "interval" else None,
            deadline_secs=parse_duration(probe.deadline) or DEFAULT_DEADLINE_SECS,
        ),
        around.children,
        LineReader(probe.name, around.is_taken, around.boottime),
        boottime=around.boottime,
        on_event=on_event,
    )
