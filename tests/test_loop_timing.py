"""When the collector reads and publishes, at the edges of its interval, and what it leaves."""

import asyncio
import gc
from typing import Any

import pytest

from exporter.model.snapshot import Outcome
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.collecting import Apples, Pears, Run, Scripted, gives, hangs, played, raises
from tests.fakes.virtual_time import in_virtual_time, run_virtually


@pytest.mark.parametrize(
    ("takes", "calls", "skipped"), [(0.5, [0.0, 0.5, 1.0, 1.5], 0), (0.75, [0.0, 1.0], 1)]
)
def test_a_collection_is_due_when_one_has_ended(
    takes: float, calls: list[float], skipped: int
) -> None:
    """As long as the interval it skips nothing; a little longer and one is skipped."""
    source = Scripted("apples", gives(Apples(1), after_secs=takes))
    run = played(source, secs=1.99, interval_secs=0.5)
    assert (source.calls, run.last.skipped_ticks) == (calls, skipped)


def test_a_snapshot_says_how_long_it_took_and_which_it_is() -> None:
    """The time of the slowest source; the moment it began is known while it runs."""
    run = played(Scripted("apples", gives(Apples(1), after_secs=0.75)), secs=30.5)
    assert [
        (each.sequence, each.duration_secs, each.reports[0].duration_secs) for each in run.snapshots
    ] == [(1, 0.75, 0.75), (2, 0.75, 0.75)]
    assert run.collector.last_tick == 30.0


def test_a_wake_up_before_a_collection_is_answered_by_it() -> None:
    """What happened before a reading is in it: nothing is published twice."""
    run = played(Scripted("apples", gives(Apples(1))), secs=5, wakes=[(0, "apples")])
    assert run.moments == [0.0]


def test_each_wake_up_is_about_its_own_source() -> None:
    """One that was answered, by a collection or in between, is over."""
    apples, pears = Scripted("apples", gives(Apples(1))), Scripted("pears", gives(Pears(1)))
    wakes = [(0, "apples"), (2, "pears"), (4, "apples"), (6, "pears")]
    played(apples, pears, secs=10, wakes=wakes)
    assert (apples.calls, pears.calls) == ([0.0, 4.0], [0.0, 2.0, 6.0])


@in_virtual_time
async def test_waiting_leaves_nothing_behind() -> None:
    """After a hundred collections there are as many tasks as after one."""
    run = Run([Scripted("apples", gives(Apples(1)))])
    collecting = asyncio.ensure_future(run.collector.run())
    counts = []
    for secs in (5, 1500):
        await asyncio.sleep(secs)
        counts.append(len(asyncio.all_tasks()))
    collecting.cancel()
    once, often = counts
    assert once == often


def test_a_wake_up_during_a_collection_is_answered_after_it() -> None:
    """It may be about what happened after its source was read."""
    apples = Scripted("apples", gives(Apples(1)))
    slow = Scripted("pears", gives(Pears(1), after_secs=1.0))
    run = played(apples, slow, secs=5, wakes=[(0.5, "apples")])
    assert (apples.calls, run.moments) == ([0.0, 1.0], [1.0, 1.0])


def test_wake_ups_put_no_collection_off() -> None:
    """Just before the next one is due, events do not move it."""
    pears = Scripted("pears", gives(Pears(1)))
    wakes = [(moment, "apples") for moment in (14.0, 14.95, 29.99)]
    played(Scripted("apples", gives(Apples(1))), pears, secs=31, wakes=wakes)
    assert pears.calls == [0.0, 15.0, 30.0]


def test_a_refresh_that_takes_longer_than_what_is_left_delays_by_itself_only() -> None:
    """The collection that was due meanwhile begins when it has ended."""
    pears = Scripted("pears", gives(Pears(1)))
    apples = Scripted("apples", gives(Apples(1)), gives(Apples(2), after_secs=1.5))
    played(apples, pears, secs=17, wakes=[(14.5, "apples")])
    assert pears.calls == [0.0, 16.0]


def test_events_are_published_five_times_a_second_at_most() -> None:
    """The first at once, the rest of a burst together a fifth of a second later."""
    wakes = [(moment, "apples") for moment in (1.0, 1.05, 1.1, 1.15)]
    run = played(Scripted("apples", gives(Apples(1))), secs=5, wakes=wakes)
    assert run.moments == [0.0, 1.0, 1.2]


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
    """When it fails, goes, and is read again; a start that is well or without it is no change."""
    failing = raises(SourceFailed("no tree"))
    apples = Scripted("apples", gives(Apples(1)), failing, failing, gives(Apples(1)))
    pears = Scripted("pears", gives(Pears(1)), raises(SourceAbsent("gone")), hangs())
    never = Scripted("plums", raises(SourceFailed("no right")))
    absent = Scripted("figs", raises(SourceAbsent("no figs")))
    with caplog.at_level("INFO"):
        played(apples, pears, never, absent, secs=61)
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("WARNING", "source plums is failed: no right"),
        ("WARNING", "source apples is failed: no tree"),
        ("INFO", "source pears is absent: gone"),
        ("WARNING", "source pears is stuck: no answer within 2 s"),
        ("INFO", "source apples can be read again"),
    ]
