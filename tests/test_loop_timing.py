"""When the collector reads and publishes, at the edges of its interval, and what it leaves."""

import asyncio
import gc
from typing import Any

import pytest

from exporter.model.snapshot import Outcome
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.collecting import Apples, Pears, Run, Scripted, gives, hangs, raises
from tests.fakes.virtual_time import run_virtually


@pytest.mark.parametrize(
    ("takes", "calls", "skipped"), [(0.5, [0.0, 0.5, 1.0, 1.5], 0), (0.75, [0.0, 1.0], 1)]
)
def test_a_collection_is_due_when_one_has_ended(
    takes: float, calls: list[float], skipped: int
) -> None:
    """As long as the interval it skips nothing; a little longer and one is skipped."""

    async def scenario() -> tuple[list[float], int]:
        source = Scripted("apples", gives(Apples(1), after_secs=takes))
        run = Run([source], interval_secs=0.5)
        await run.until(1.99)
        return source.calls, run.last.skipped_ticks

    assert run_virtually(scenario()) == (calls, skipped)


def test_a_snapshot_says_how_long_it_took_and_which_it_is() -> None:
    """The time of the slowest source; the moment it began is known while it runs."""

    async def scenario() -> tuple[list[tuple[int, float, float]], float | None]:
        run = Run([Scripted("apples", gives(Apples(1), after_secs=0.75))])
        await run.until(30.5)
        said = [
            (each.sequence, each.duration_secs, each.reports[0].duration_secs)
            for _, each in run.published
        ]
        return said, run.collector.last_tick

    assert run_virtually(scenario()) == ([(1, 0.75, 0.75), (2, 0.75, 0.75)], 30.0)


def test_a_stuck_source_takes_no_time_of_the_collections_after() -> None:
    """The first waited for its deadline, and says so."""

    async def scenario() -> list[float]:
        run = Run([Scripted("apples", hangs())])
        await run.until(31)
        return [snapshot.reports[0].duration_secs for _, snapshot in run.published]

    assert run_virtually(scenario()) == [2.0, 0.0, 0.0]


def test_a_wake_up_before_a_collection_is_answered_by_it() -> None:
    """What happened before a reading is in it: nothing is published twice."""

    async def scenario() -> list[float]:
        run = Run([Scripted("apples", gives(Apples(1)))])
        run.collector.wake("apples")
        await run.until(5)
        return [at for at, _ in run.published]

    assert run_virtually(scenario()) == [0.0]


def test_each_wake_up_is_about_its_own_source() -> None:
    """One that was answered, by a collection or in between, is over."""

    async def scenario() -> tuple[list[float], list[float]]:
        apples = Scripted("apples", gives(Apples(1)))
        pears = Scripted("pears", gives(Pears(1)))
        run = Run([apples, pears])
        run.collector.wake("apples")
        loop = asyncio.get_running_loop()
        for moment, source in ((2, "pears"), (4, "apples"), (6, "pears")):
            loop.call_later(moment, run.collector.wake, source)
        await run.until(10)
        return apples.calls, pears.calls

    assert run_virtually(scenario()) == ([0.0, 4.0], [0.0, 2.0, 6.0])


def test_waiting_leaves_nothing_behind() -> None:
    """After a hundred collections there are as many tasks as after one."""

    async def scenario() -> list[int]:
        run = Run([Scripted("apples", gives(Apples(1)))])
        collecting = asyncio.ensure_future(run.collector.run())
        counts = []
        for secs in (5, 1500):
            await asyncio.sleep(secs)
            counts.append(len(asyncio.all_tasks()))
        collecting.cancel()
        return counts

    once, often = run_virtually(scenario())
    assert once == often


def test_a_wake_up_during_a_collection_is_answered_after_it() -> None:
    """It may be about what happened after its source was read."""

    async def scenario() -> tuple[list[float], list[float]]:
        apples = Scripted("apples", gives(Apples(1)))
        slow = Scripted("pears", gives(Pears(1), after_secs=1.0))
        run = Run([apples, slow])
        asyncio.get_running_loop().call_later(0.5, run.collector.wake, "apples")
        await run.until(5)
        return apples.calls, [at for at, _ in run.published]

    assert run_virtually(scenario()) == ([0.0, 1.0], [1.0, 1.0])


def test_wake_ups_put_no_collection_off() -> None:
    """Just before the next one is due, events do not move it."""

    async def scenario() -> list[float]:
        pears = Scripted("pears", gives(Pears(1)))
        run = Run([Scripted("apples", gives(Apples(1))), pears])
        for moment in (14.0, 14.95, 29.99):
            asyncio.get_running_loop().call_later(moment, run.collector.wake, "apples")
        await run.until(31)
        return pears.calls

    assert run_virtually(scenario()) == [0.0, 15.0, 30.0]


def test_a_refresh_that_takes_longer_than_what_is_left_delays_by_itself_only() -> None:
    """The collection that was due meanwhile begins when it has ended."""

    async def scenario() -> list[float]:
        pears = Scripted("pears", gives(Pears(1)))
        apples = Scripted("apples", gives(Apples(1)), gives(Apples(2), after_secs=1.5))
        run = Run([apples, pears])
        asyncio.get_running_loop().call_later(14.5, run.collector.wake, "apples")
        await run.until(17)
        return pears.calls

    assert run_virtually(scenario()) == [0.0, 16.0]


def test_events_are_published_five_times_a_second_at_most() -> None:
    """The first at once, the rest of a burst together a fifth of a second later."""

    async def scenario() -> list[float]:
        run = Run([Scripted("apples", gives(Apples(1)))])
        for moment in (1.0, 1.05, 1.1, 1.15):
            asyncio.get_running_loop().call_later(moment, run.collector.wake, "apples")
        await run.until(5)
        return [round(at, 3) for at, _ in run.published]

    assert run_virtually(scenario()) == [0.0, 1.0, 1.2]


def test_closing_gives_up_on_calls_that_hang() -> None:
    """Nobody waits for their answers any more."""
    ended: list[str] = []

    async def hang() -> object:
        try:
            await asyncio.sleep(10**9)
        finally:
            ended.append("given up")
        return None

    async def scenario() -> None:
        run = Run([Scripted("apples", hang)])
        await run.until(5)
        assert not ended
        await run.collector.close()
        assert ended == ["given up"]

    run_virtually(scenario())


def test_a_late_failure_of_a_stuck_source_disturbs_nobody() -> None:
    """It was reported stuck; asyncio has nothing to complain about afterwards."""
    complaints: list[dict[str, Any]] = []

    async def late() -> object:
        await asyncio.sleep(3)
        raise OSError("too late")

    async def scenario() -> list[Outcome]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        run = Run([Scripted("apples", late, gives(Apples(1)))])
        await run.until(31)
        gc.collect()
        return [snapshot.reports[0].outcome for _, snapshot in run.published]

    assert run_virtually(scenario()) == [Outcome.STUCK, Outcome.OK, Outcome.OK]
    assert complaints == []


def test_a_change_of_a_source_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """When it fails, and when it is read again; a start that is well is no change."""

    async def scenario() -> None:
        failing = raises(SourceFailed("no tree"))
        apples = Scripted("apples", gives(Apples(1)), failing, failing, gives(Apples(1)))
        pears = Scripted("pears", gives(Pears(1)), raises(SourceAbsent("gone")), hangs())
        never = Scripted("plums", raises(SourceFailed("no right")))
        await Run([apples, pears, never]).until(61)

    with caplog.at_level("INFO"):
        run_virtually(scenario())
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("WARNING", "source plums is failed: no right"),
        ("WARNING", "source apples is failed: no tree"),
        ("INFO", "source pears is absent: gone"),
        ("WARNING", "source pears is stuck: no answer within 2 s"),
        ("INFO", "source apples can be read again"),
    ]
