"""What is kept of the log is bounded, whatever it says."""

import asyncio
import itertools
import os

from exporter.collectors.kernel_log.kmsg import KmsgFollower
from exporter.collectors.kernel_log.multiline import Message, Repeats
from exporter.collectors.kernel_log.table import Table
from tests.collectors.kernel_log.feeding import kmsg, pipeline
from tests.fakes.virtual_time import run_virtually


def message(line: str, stamp: float) -> Message:
    """The message of this one line."""
    match = Table().match(line)
    assert match is not None
    return Message(match.row, match.fields, stamp, [line])


def test_remembered_repeats_are_bounded() -> None:
    """A log that never says the same twice costs room for so many messages, and the oldest go."""
    repeats = Repeats(max_recent=5)
    lines = [f"XFS (sd{letter}): log I/O error -5" for letter in "abcdefghij"]
    for line in lines:
        assert not repeats.is_repeat(message(line, 1.0))
    assert repeats.is_repeat(message(lines[-1], 1.5))
    assert not repeats.is_repeat(message(lines[0], 1.5))


class Worked:
    """Processor time that rises by a fixed cost with each turn: asked before and after it."""

    def __init__(self, cost_secs: float) -> None:
        self._cost_secs = cost_secs
        self._asked = 0

    def __call__(self) -> float:
        self._asked += 1
        return self._asked // 2 * self._cost_secs


def turns_in_a_flood(cost_secs: float, turns: int) -> list[float]:
    """When turns begin while each of them costs so much and there is always more to read."""
    began: list[float] = []

    async def flood() -> None:
        loop = asyncio.get_running_loop()
        sequences = itertools.count(1)

        def read(_descriptor: int, _size: int) -> bytes:
            return kmsg("noise", sequence=next(sequences))

        reading, writing = os.pipe()
        os.write(writing, b"x")  # never read: there is always more
        is_enough = asyncio.Event()

        def changed() -> None:
            began.append(loop.time())
            if len(began) == turns:
                is_enough.set()

        follower = KmsgFollower(reading, pipeline(), changed, read, Worked(cost_secs))
        follower.watch()
        await is_enough.wait()
        follower.close()
        os.close(writing)

    run_virtually(flood())
    return began


def gaps(moments: list[float]) -> list[float]:
    """The time between each two."""
    return [later - earlier for earlier, later in itertools.pairwise(moments)]


def test_a_flood_takes_a_fifth_of_a_core() -> None:
    """A turn that worked for 10 ms is followed by 40 ms of rest, also while there is more."""
    assert min(gaps(turns_in_a_flood(cost_secs=0.010, turns=5))) >= 0.039


def test_a_slow_turn_does_not_pause_for_long() -> None:
    """The rest is bounded: what the kernel overwrites meanwhile is lost."""
    assert max(gaps(turns_in_a_flood(cost_secs=1.0, turns=4))) <= 0.26
