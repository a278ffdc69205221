"""Collectors of scripted sources, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from exporter.loop import Clocks, CollectionLoop
from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.reading.source import AnySource
from tests.fakes.virtual_time import run_virtually


@dataclass(frozen=True)
class Apples:
    """What the source `apples` reads."""

    count: int


@dataclass(frozen=True)
class Pears:
    """What the source `pears` reads."""

    count: int


class Scripted:
    """A source that does what its script says, call by call; the last line is repeated."""

    deadline_secs = 2.0

    def __init__(self, name: str, *script: Callable[[], Awaitable[object]]) -> None:
        self.name = name
        self.calls: list[float] = []
        self.is_closed = False
        self._script = script

    async def read(self) -> Reading[object]:
        self.calls.append(asyncio.get_running_loop().time())
        step = self._script[min(len(self.calls), len(self._script)) - 1]
        value = await step()
        return value if isinstance(value, Reading) else Reading(value)

    async def close(self) -> None:
        self.is_closed = True


def gives(value: object, after_secs: float = 0.0) -> Callable[[], Awaitable[object]]:
    """A step that gives a value."""

    async def step() -> object:
        await asyncio.sleep(after_secs)
        return value

    return step


def raises(error: BaseException) -> Callable[[], Awaitable[object]]:
    """A step that raises."""

    async def step() -> object:
        raise error

    return step


def hangs() -> Callable[[], Awaitable[object]]:
    """A step that never ends."""
    return gives(None, after_secs=10**9)


class Run:
    """One collector with its published snapshots."""

    def __init__(
        self,
        sources: Iterable[AnySource],
        interval_secs: float = 15.0,
        conclude: Callable[[Snapshot], Awaitable[Conclusions]] | None = None,
    ) -> None:
        self.published: list[tuple[float, Snapshot]] = []
        loop = asyncio.get_running_loop()
        self.collector = CollectionLoop(
            "node-1",
            sources,
            interval_secs=interval_secs,
            clocks=Clocks(lambda: 1_000_000.0 + loop.time(), lambda: 500.0 + loop.time()),
            publish=lambda snapshot: self.published.append((loop.time(), snapshot)),
            conclude=conclude,
        )

    async def until(self, secs: float) -> None:
        """Let the collector run for so many virtual seconds in all, then stop it."""
        task = asyncio.ensure_future(self.collector.run())
        await asyncio.sleep(secs)
        task.cancel()

    @property
    def snapshots(self) -> list[Snapshot]:
        return [snapshot for _, snapshot in self.published]

    @property
    def moments(self) -> list[float]:
        """When each snapshot was published, in seconds since the start."""
        return [round(at, 3) for at, _ in self.published]

    @property
    def last(self) -> Snapshot:
        return self.published[-1][1]


def played(
    *sources: AnySource,
    secs: float = 1.0,
    interval_secs: float = 15.0,
    conclude: Callable[[Snapshot], Awaitable[Conclusions]] | None = None,
    wakes: Iterable[tuple[float, str]] = (),
) -> Run:
    """Collect for so many virtual seconds; at each moment of `wakes` a source wakes the loop.

    What wakes it at 0 does so before the first collection.
    """

    async def scenario() -> Run:
        run = Run(sources, interval_secs, conclude)
        for moment, source in wakes:
            if moment:
                asyncio.get_running_loop().call_later(moment, run.collector.wake, source)
            else:
                run.collector.wake(source)
        await run.until(secs)
        return run

    return run_virtually(scenario())
