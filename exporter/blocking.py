"""Calls functions that may block forever in daemon threads, which may be abandoned.

The event loop's own executor joins its threads at exit, so that one read of a dead network
filesystem would outlive SIGTERM.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")

log = logging.getLogger("exporter")

NO_THREAD = (
    "no thread can be started: the limit of processes of this user or container is too low"
    " (ulimit -u, pids.max)"
)
SLOW_SECS = 0.05
"""A call that takes longer no longer delays others: they get another thread."""

STEP_SECS = 0.25


async def wait_for_any(futures: Iterable[asyncio.Future[Any]], deadline_secs: float) -> None:
    """Return when one of the futures is done, or after so many seconds of the event loop.

    A loop that is late, as on an overloaded node, does not use up the deadline: no step counts more
    than its length.
    """
    waiting, left = set(futures), deadline_secs
    while left > 0:
        step = min(left, STEP_SECS)
        done, _ = await asyncio.wait(waiting, timeout=step, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return  # untested: the further steps would not wait
        left -= step


class CallBlocking(Protocol):
    """Calls a function that may block for ever in a thread, never on the event loop."""

    def __call__(self, function: Callable[[], T]) -> Awaitable[T]:
        """Return the function's result; cancelling the awaitable does not wait for the function."""
        ...


class OneAtATime(Generic[T]):
    """A call that may block; a look begins the call only after the last call has ended."""

    def __init__(self, begin: Callable[[], Awaitable[T]], deadline_secs: float) -> None:
        self._begin = begin
        self._deadline_secs = deadline_secs
        self._running: asyncio.Future[T] | None = None

    async def look(self) -> T | None:
        """Return what the call returns; None while it blocks, after so many seconds."""
        if self._running is None:
            self._running = asyncio.ensure_future(self._begin())
        running = self._running
        await asyncio.wait({running}, timeout=self._deadline_secs)
        if not running.done():
            return None
        self._running = None
        return running.result()


class DaemonThreads:
    """Runs calls one after the other in one thread, with further threads while some block.

    Usually there is one thread; a call that blocks for ever keeps only its own.
    """

    def __init__(self, start: Callable[[Callable[[], None]], None] | None = None) -> None:
        self._start = start or _start_daemon
        self._is_limited = False
        self._queue: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._results: deque[tuple[asyncio.Future[Any], object, BaseException | None]] = deque()
        self._ready = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self._finished = 0
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, function: Callable[[], T]) -> Awaitable[T]:
        """Return the function's result; cancelling the awaitable does not wait for the function."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            self._queue.append((function, future))
        self._ready.release()
        if self._timer is None:
            if not self._threads:
                self._start_thread()
            self._timer = loop.call_later(SLOW_SECS, self._watch, loop, self._finished)
        return future

    def _watch(self, loop: asyncio.AbstractEventLoop, finished_before: int) -> None:
        """Add a thread if calls wait and none has ended since the last look."""
        with self._lock:
            is_waiting, finished = bool(self._queue), self._finished
            needs_thread = is_waiting and not self._idle and finished == finished_before
        if needs_thread:
            self._start_thread()
        self._timer = (
            loop.call_later(SLOW_SECS, self._watch, loop, finished) if is_waiting else None
        )
        self._settle_all()  # after the look: the last waiting call, begun before it, may block

    def _start_thread(self) -> None:
        """Start a thread; if none can be started the calls wait, and it is tried again."""
        try:
            self._start(self._work)
        except RuntimeError as error:
            if not is_thread_limit(error):
                raise
            if not self._is_limited:
                log.warning("no thread available, files are read later: %s", NO_THREAD)
            self._is_limited = True
        else:
            self._is_limited = False
            with self._lock:
                self._threads += 1

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._idle:
                    self._threads -= 1
                    return  # another thread waits already: one is enough
                self._idle += 1
            self._ready.acquire()
            self._run(*self._next())  # an idle thread keeps nothing of its last call

    def _next(self) -> tuple[Callable[[], Any], asyncio.Future[Any]]:
        with self._lock:
            self._idle -= 1
            return self._queue.popleft()

    def _run(self, function: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        """Call the function; wake the event loop once for all results of calls in a row.

        If a later one of them blocks, `_watch` takes the results before it.
        """
        result, error = None, None
        try:
            result = function()
        except BaseException as caught:  # noqa: BLE001 - carried to whoever awaits it
            error = caught
        self._finished += 1
        self._results.append((future, result, error))
        if self._queue:
            return
        try:
            future.get_loop().call_soon_threadsafe(self._end)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _end(self) -> None:
        """Settle the calls that have ended; cancel the timer if no call waits."""
        if self._timer is not None and not self._queue:  # a timer would wake the loop
            self._timer.cancel()
            self._timer = None
        self._settle_all()

    def _settle_all(self) -> None:
        while self._results:
            _settle(*self._results.popleft())


def is_thread_limit(error: RuntimeError) -> bool:
    """Tell whether the error means that Python could not start a thread, by its message."""
    return "start new thread" in str(error)


def _start_daemon(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="blocking-calls", daemon=True).start()


def _settle(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, StopIteration):
        future.set_exception(RuntimeError("StopIteration escaped from a reader"))
    else:
        future.set_exception(error)
