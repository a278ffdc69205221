"""The collecting loop, in virtual time with sources that behave as each test says."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from exporter.model.reading import Missing, Reading
from exporter.model.snapshot import Outcome, Snapshot
from exporter.model.verdict import Conclusions
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.collecting import Apples, Pears, Run, Scripted, gives, hangs, played, raises
from tests.fakes.virtual_time import be_busy, in_virtual_time, run_virtually


def test_collections_start_on_time_however_long_each_takes() -> None:
    """Collections begin start to start, every interval, without drift."""
    slow = Scripted("apples", gives(Apples(1), after_secs=0.7))
    played(slow, secs=46)
    assert slow.calls == [0.0, 15.0, 30.0, 45.0]


def test_a_snapshot_holds_what_each_source_saw() -> None:
    """Readings are found by their type, reports by their source."""
    missing = Reading(Pears(2), missing=(Missing("colour", "not said"),))
    snapshot = played(Scripted("apples", gives(Apples(1))), Scripted("pears", gives(missing))).last
    assert snapshot.reading(Apples) == Apples(1)
    assert snapshot.reading(Pears) == Pears(2)
    assert [report.source for report in snapshot.reports] == ["apples", "pears"]
    assert snapshot.reports[1].missing == (Missing("colour", "not said"),)
    assert (snapshot.node, snapshot.sequence) == ("node-1", 1)
    assert (snapshot.taken_at, snapshot.taken_boottime) == (1_000_000.0, 500.0)


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (SourceAbsent("no such hardware"), Outcome.ABSENT, "no such hardware"),
        (SourceFailed("permission denied"), Outcome.FAILED, "permission denied"),
        (ZeroDivisionError("oops"), Outcome.FAILED, "ZeroDivisionError: oops"),
        (RecursionError("deep"), Outcome.FAILED, "RecursionError: deep"),
        (MemoryError(), Outcome.FAILED, "MemoryError: "),
        (StopAsyncIteration("end"), Outcome.FAILED, "StopAsyncIteration: end"),
        (GeneratorExit("gone"), Outcome.FAILED, "GeneratorExit: gone"),
        (asyncio.CancelledError(), Outcome.FAILED, "CancelledError: "),
        (SystemExit(3), Outcome.FAILED, "RuntimeError: SystemExit: 3"),
        (KeyboardInterrupt(), Outcome.FAILED, "RuntimeError: KeyboardInterrupt: "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_a_source_that_fails_costs_its_own_reading(
    error: BaseException, outcome: Outcome, reason: str
) -> None:
    """Whatever a source raises, its neighbours are published and its reason is told."""
    sources = Scripted("apples", raises(error)), Scripted("pears", gives(Pears(2)))
    snapshot = played(*sources).last
    assert snapshot.reading(Apples) is None
    assert snapshot.reading(Pears) == Pears(2)
    assert (snapshot.reports[0].outcome, snapshot.reports[0].reason) == (outcome, reason)


def test_the_duration_is_that_of_the_look_and_not_of_the_wait() -> None:
    """A reader that had to wait for its turn says itself how long it took."""
    queued = Scripted("apples", gives(Reading(Apples(1), took_secs=0.25), after_secs=1))
    run = played(queued, Scripted("pears", gives(Pears(2), after_secs=1)), secs=2)
    assert [report.duration_secs for report in run.last.reports] == [0.25, 1.0]


def test_nothing_old_is_shown_after_a_failure() -> None:
    """A source that worked and then fails has no reading, and keeps the time of its success."""
    source = Scripted("apples", gives(Apples(1)), raises(SourceFailed("gone")))
    first, second = played(source, secs=16).snapshots
    assert first.reading(Apples) == Apples(1)
    assert second.reading(Apples) is None
    assert second.reports[0].last_success_at == first.reports[0].last_success_at == 1_000_000.0


@in_virtual_time
async def test_an_equal_reading_is_the_same_object() -> None:
    """All that was made of the last one can be kept, until the source says something else."""
    run = Run([Scripted("apples", gives(Apples(1)), gives(Apples(1)), gives(Apples(2)))])
    await run.until(31)
    first, second, third = (snapshot.reading(Apples) for _, snapshot in run.published)
    assert first is second
    assert third == Apples(2)


def test_a_stuck_source_delays_one_collection_and_is_left_alone() -> None:
    """It is waited for until its deadline once, then neither waited for nor called again."""
    stuck = Scripted("apples", hangs())
    run = played(stuck, Scripted("pears", gives(Pears(2))), secs=31)
    assert stuck.calls == [0.0]
    assert run.moments == [2.0, 15.0, 30.0]
    reports = [snapshot.reports[0] for snapshot in run.snapshots]
    assert [it.outcome for it in reports] == [Outcome.STUCK] * 3
    assert [it.duration_secs for it in reports] == [2.0, 0.0, 0.0]


def test_a_source_is_not_stuck_because_our_own_loop_is_late() -> None:
    """Ten seconds that the event loop was busy with something else are not the source's."""

    async def slowly() -> object:
        asyncio.get_running_loop().call_later(0.1, be_busy, 10.0)
        await asyncio.sleep(1.0)
        for _ in range(20):  # turns of the loop that an answer needs on its way to us
            await asyncio.sleep(0)
        return Apples(1)

    async def scenario() -> Snapshot:
        return await Run([Scripted("apples", slowly)]).collector.collect()

    (report,) = run_virtually(scenario()).reports
    assert report.outcome is Outcome.OK


def test_a_source_that_was_stuck_comes_back() -> None:
    """When its late call has ended it is called again; the late answer itself is not shown."""
    source = Scripted("apples", gives(Apples(1), after_secs=20), gives(Apples(2)))
    run = played(source, secs=31)
    assert [it.reading(Apples) for it in run.snapshots] == [None, None, Apples(2)]


def test_ticks_that_cannot_be_kept_are_skipped_and_counted() -> None:
    """A collection longer than the interval never overlaps with the next."""
    slow = Scripted("apples", gives(Apples(1), after_secs=1.9))
    run = played(slow, secs=5.95, interval_secs=0.5)
    assert slow.calls == [0.0, 2.0, 4.0]
    assert run.last.skipped_ticks == 6


def test_waking_publishes_the_named_source_at_once() -> None:
    """Between two collections only the woken source is read, and the rest stays as it was."""
    apples = Scripted("apples", gives(Apples(1)), gives(Apples(2)))
    pears = Scripted("pears", gives(Pears(5)))
    snapshot = played(apples, pears, secs=3.1, wakes=[(3, "apples")]).last
    assert apples.calls == [0.0, 3.0]
    assert pears.calls == [0.0]
    assert snapshot.reading(Apples) == Apples(2)
    assert snapshot.reading(Pears) == Pears(5)
    assert snapshot.taken_boottime == 500.0, "an early publication does not make the rest younger"
    assert snapshot.renewed_secs == 3.0


def test_a_woken_source_that_fails_loses_its_reading() -> None:
    """What it saw before is old and not shown."""
    source = Scripted("apples", gives(Apples(1)), raises(SourceFailed("gone")))
    assert played(source, secs=3.1, wakes=[(3, "apples")]).last.reading(Apples) is None


def test_waking_an_unknown_source_changes_nothing() -> None:
    """A name that is not in the list is ignored."""
    run = played(Scripted("apples", gives(Apples(1))), secs=2, wakes=[(1, "bananas")])
    assert len(run.last.reports) == 1


def test_conclusions_are_published_with_their_snapshot() -> None:
    """What is concluded is in the snapshot it was concluded from."""

    async def conclude(snapshot: Snapshot) -> Conclusions:
        return Conclusions(rules_loaded=snapshot.sequence)

    run = played(Scripted("apples", gives(Apples(3))), conclude=conclude)
    assert run.last.conclusions == Conclusions(rules_loaded=1)


def test_a_broken_rule_costs_the_conclusions_only(caplog: pytest.LogCaptureFixture) -> None:
    """The page goes out without conclusions when judging fails; the log says each change once."""
    caplog.set_level(logging.INFO)

    async def conclude(snapshot: Snapshot) -> Conclusions:
        if snapshot.sequence in (3, 4):
            return Conclusions()
        raise ZeroDivisionError

    snapshot = played(Scripted("apples", gives(Apples(3))), secs=80, conclude=conclude).last
    assert caplog.messages == [
        "evaluation of the rules failed",
        "rules can be evaluated again",
        "evaluation of the rules failed",
    ]
    assert snapshot.conclusions is None
    assert snapshot.reading(Apples) == Apples(3)


@in_virtual_time
async def test_closing_closes_every_source_even_when_one_hangs() -> None:
    """Closing ends within a second whatever a source does."""

    class Stubborn(Scripted):
        async def close(self) -> None:
            await asyncio.sleep(10**9)

    good = Scripted("apples", hangs())
    run = Run([Stubborn("pears", hangs()), good])
    await run.until(5)
    started = asyncio.get_running_loop().time()
    await run.collector.close()
    assert (good.is_closed, asyncio.get_running_loop().time() - started) == (True, 1.0)


class Juicer:
    """A follower: makes of the apples that were just seen what its script says."""

    name = "juice"
    follows = Apples
    deadline_secs = 2.0

    def __init__(self, step: Callable[[], Awaitable[object]] | None = None) -> None:
        self.seen: list[int | None] = []
        self.is_closed = False
        self._step = step

    async def read_after(self, seen: Snapshot) -> Reading[object]:
        apples = seen.reading(Apples)
        self.seen.append(None if apples is None else apples.count)
        if self._step is not None:
            await self._step()
        if apples is None:
            raise SourceAbsent("no apples")
        return Reading(Juice(apples.count * 2))

    async def close(self) -> None:
        self.is_closed = True


@dataclass(frozen=True)
class Juice:
    """What the follower `juice` reads."""

    glasses: int


def test_a_follower_sees_what_was_read_in_the_same_collection() -> None:
    """A follower is read after all sources, whatever its place in the list."""
    apples = Scripted("apples", gives(Apples(1), 0.5), gives(Apples(2)), raises(OSError()))
    run = played(Juicer(), apples, secs=31)
    found = [(it.reading(Apples), it.reading(Juice)) for it in run.snapshots]
    assert found == [(Apples(1), Juice(2)), (Apples(2), Juice(4)), (None, None)]


def test_a_follower_says_itself_why_it_has_nothing() -> None:
    """Also where what it follows was never there, and when it is woken by its own name."""
    juicer = Juicer()
    never = Scripted("apples", raises(SourceAbsent("none")))
    snapshot = played(never, juicer, secs=5, wakes=[(2, "juice")]).last
    assert [(report.source, report.reason) for report in snapshot.reports] == [
        ("apples", "none"),
        ("juice", "no apples"),
    ]
    assert len(juicer.seen) == 2


def test_a_follower_is_read_again_with_what_it_follows() -> None:
    """When its source wakes the collector so does it; when another does it keeps its reading."""
    apples = Scripted("apples", gives(Apples(1)), gives(Apples(7)))
    pears, juicer = Scripted("pears", gives(Pears(1))), Juicer()
    last = played(apples, pears, juicer, secs=3, wakes=[(1, "pears"), (2, "apples")]).last
    assert juicer.seen == [1, 7]
    assert last.reading(Juice) == Juice(14)
    assert last.reading(Pears) == Pears(1)


@in_virtual_time
async def test_a_follower_that_hangs_costs_only_itself() -> None:
    """It is reported stuck and not called again; what it follows is shown as ever."""
    juicer = Juicer(hangs())
    run = Run([Scripted("apples", gives(Apples(1))), juicer])
    await run.until(40)
    await run.collector.close()
    last, calls, is_closed = run.last, len(juicer.seen), juicer.is_closed
    assert last.reading(Apples) == Apples(1)
    assert last.reading(Juice) is None
    assert {report.source: report.outcome for report in last.reports} == {
        "apples": Outcome.OK,
        "juice": Outcome.STUCK,
    }
    assert (calls, is_closed) == (1, True)
