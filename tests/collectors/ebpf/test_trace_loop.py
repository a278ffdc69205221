"""The loop of a source that counts in the kernel: its turns, and what ends or hangs."""

import asyncio

import pytest

from exporter.collectors.ebpf.trace_loop import STUCK_SECS, TraceLoop
from exporter.reading.source import SourceFailed


class Turns:
    """Turns that a test can let hang or fail; time goes on by numbers."""

    def __init__(self) -> None:
        self.now = 100.0
        self.taken = 0
        self.error: Exception | None = None
        self.hangs = asyncio.Event()
        self.loop = TraceLoop(self._turn, "looking", lambda: self.now, self._pause)

    async def take(self, number: int) -> None:
        """Let so many turns be taken."""
        for _ in range(3 * number):
            await asyncio.sleep(0)

    async def _turn(self) -> None:
        if self.error is not None:
            raise self.error
        await self.hangs.wait()
        self.taken += 1

    async def _pause(self, secs: float) -> None:
        self.now += secs
        await asyncio.sleep(0)


async def test_turns_follow_each_other() -> None:
    """From the start on, until it is closed, whoever reads meanwhile."""
    turns = Turns()
    turns.hangs.set()
    assert not turns.loop.is_running
    turns.loop.start()
    await turns.take(3)
    turns.loop.check()
    assert turns.taken >= 3
    await turns.loop.close()
    taken = turns.taken
    await asyncio.sleep(0)
    assert turns.taken == taken


async def test_a_turn_that_hangs_is_said() -> None:
    """Not before it has taken longer than bpftrace may take to detach."""
    turns = Turns()
    turns.loop.start()
    await asyncio.sleep(0)
    turns.now = 100.0 + STUCK_SECS
    turns.loop.check()
    turns.now += 1.0
    with pytest.raises(SourceFailed, match="looking hangs"):
        turns.loop.check()
    await turns.loop.close()


async def test_what_ends_it_is_raised() -> None:
    """A fault of ours is not hidden: each reading fails with it."""
    turns = Turns()
    turns.error = RuntimeError("broken")
    turns.loop.start()
    for _ in range(5):
        await asyncio.sleep(0)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            turns.loop.check()
