"""Blocking calls in daemon threads."""

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from exporter.blocking import NO_THREAD, SLOW_SECS, DaemonThreads, wait_for_any
from tests.fakes.virtual_time import in_virtual_time
from tests.fakes.waiting import until


@contextmanager
def _blocker() -> Iterator[threading.Event]:
    """Something to hang on, let go at the end."""
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()


def _our_threads() -> int:
    return sum(thread.name == "blocking-calls" for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("done_at", "deadline", "returns_at"),
    [(9.0, 0.6, 0.6), (0.3, 0.6, 0.3), (9.0, 0.25, 0.25), (0.6, 0.6, 0.6), (9.0, 0.0, 0.0)],
)
@in_virtual_time
async def test_a_wait_ends_with_the_first_that_is_done_or_at_its_deadline(
    done_at: float, deadline: float, returns_at: float
) -> None:
    """Whichever comes first; nothing of it is given up by that."""
    loop = asyncio.get_running_loop()
    never, other = loop.create_future(), loop.create_future()
    loop.call_later(done_at, other.set_result, None)
    await wait_for_any([never, other], deadline)
    assert (round(loop.time(), 6), never.cancelled() or other.cancelled()) == (returns_at, False)


async def test_results_and_errors_come_back() -> None:
    """A call gives what the function gives, or raises what it raises."""
    call = DaemonThreads()
    assert await call(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        await call(lambda: 1 // 0)


async def test_a_reader_that_leaks_stop_iteration_is_an_error() -> None:
    """StopIteration cannot be put into a future: it arrives as a RuntimeError."""
    with pytest.raises(RuntimeError, match="StopIteration"):
        await DaemonThreads()(lambda: next(iter(())))


async def test_many_calls_share_one_thread() -> None:
    """Twenty quick readers at once do not start twenty threads, nor a new one each time."""
    before = _our_threads()
    started = []

    def start(work: Callable[[], None]) -> None:
        started.append(work)
        threading.Thread(target=work, name="blocking-calls", daemon=True).start()

    call = DaemonThreads(start)
    for _ in range(50):
        names = await asyncio.gather(*(call(threading.get_ident) for _ in range(20)))
        assert len(set(names)) <= 2
    assert _our_threads() - before <= 2
    assert len(started) <= 5


async def test_a_call_that_hangs_costs_its_own_thread_only() -> None:
    """The calls behind it are answered, before and after the hang is given up on."""
    call = DaemonThreads()
    with _blocker() as blocker:
        hanging = asyncio.ensure_future(call(blocker.wait))
        assert await asyncio.wait_for(call(lambda: 1), 5) == 1
        assert await asyncio.wait_for(call(lambda: 2), 5) == 2
        assert not hanging.done()
        hanging.cancel()


async def test_a_result_comes_although_the_next_call_hangs() -> None:
    """Results of calls in a row come together, unless one of them takes long."""
    call = DaemonThreads()
    with _blocker() as blocker:
        results = [asyncio.ensure_future(call(look)) for look in (lambda: 1, blocker.wait)]
        assert await asyncio.wait_for(results[0], 5) == 1
        assert not results[1].done()


async def test_a_hang_is_noticed_also_after_a_rest() -> None:
    """When nothing was asked for a while, a call that hangs then is found to hang as well."""
    call = DaemonThreads()
    assert await asyncio.wait_for(call(lambda: 1), 5) == 1
    await asyncio.sleep(3 * SLOW_SECS)
    with _blocker() as blocker:
        hanging = asyncio.ensure_future(call(blocker.wait))
        assert await asyncio.wait_for(call(lambda: 2), 5) == 2
        hanging.cancel()


async def test_the_thread_of_a_call_that_ends_late_is_not_kept() -> None:
    """Threads do not pile up when hanging calls end one day."""
    before = _our_threads()
    call = DaemonThreads()
    with _blocker() as blocker:
        hanging = [asyncio.ensure_future(call(blocker.wait)) for _ in range(3)]
        assert await asyncio.wait_for(call(lambda: 1), 5) == 1
    await asyncio.gather(*hanging)
    for _ in range(500):
        if _our_threads() - before <= 1:
            break
        await asyncio.sleep(0.01)
    assert _our_threads() - before <= 1


class _LoopWithTimers(asyncio.SelectorEventLoop):
    """A loop that lists the timers that have not gone off."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[asyncio.TimerHandle] = []

    def call_at(  # type: ignore[override]  # the arguments of the callback have no types here
        self, when: float, callback: Any, *args: Any, **more: Any
    ) -> asyncio.TimerHandle:
        """Start a timer."""

        def go_off() -> None:
            self.timers.remove(timer)
            callback(*args)

        timer = super().call_at(when, go_off, **more)
        self.timers.append(timer)
        return timer


def test_a_call_that_has_ended_leaves_no_timer() -> None:
    """Each timer wakes the loop, and a driver is looked for each second."""
    loop = _LoopWithTimers()
    call = DaemonThreads()

    async def scenario() -> list[int]:
        return [*await asyncio.gather(*(call(lambda: 1) for _ in range(3))), await call(lambda: 2)]

    assert loop.run_until_complete(scenario()) == [1, 1, 1, 2]
    loop.close()
    assert all(timer.cancelled() for timer in loop.timers)


async def test_an_idle_thread_keeps_nothing_of_its_last_call() -> None:
    """What was read goes away with its reader, although the thread waits for the next call."""

    class Reader:
        def read(self) -> int:
            return 1

    reader = Reader()
    left = weakref.ref(reader)
    call = DaemonThreads()
    assert await call(reader.read) == 1
    del reader
    await until(lambda: left() is None)


async def test_threads_never_keep_the_process() -> None:
    """They are daemons: an interpreter that ends does not wait for them."""
    assert await DaemonThreads()(lambda: threading.current_thread().daemon)


async def test_calls_wait_while_no_thread_can_be_started(caplog: pytest.LogCaptureFixture) -> None:
    """At the limit of processes nothing breaks: it is said once, and tried again."""
    refusals = [RuntimeError("can't start new thread")] * 3

    def start(work: Callable[[], None]) -> None:
        if refusals:
            raise refusals.pop()
        threading.Thread(target=work, name="blocking-calls", daemon=True).start()

    assert await asyncio.wait_for(DaemonThreads(start)(lambda: 42), 5) == 42
    assert [NO_THREAD in record.message for record in caplog.records] == [True]
