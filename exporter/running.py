"""Runs the app on an event loop: from a checked configuration to an exit code."""

import asyncio
import ctypes
import logging
import os
import signal
import sys
from contextlib import suppress

from exporter.app import App, CannotListen
from exporter.config import Config
from exporter.exit_codes import EXIT_FAILED, EXIT_OK
from exporter.identity import Identity
from exporter.logs import NonBlockingHandler, set_up_logging
from exporter.probes.child import reap_as_process_1
from exporter.reloading import Reread
from exporter.watchdog import Watchdog

LAST_TASKS_SECS = 0.2
LAST_WORDS_SECS = 0.2
M_ARENA_MAX = -8
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
LARGE_BYTES = 128 * 1024
"""From this size on malloc uses mmap and returns blocks to the kernel; set, it does not grow."""
FREE_BYTES = 4 * 1024 * 1024
"""The free bytes at the end of the heap above which malloc trims; each answer frees some."""
SWITCH_SECS = 0.0005
"""How long the event loop waits for a computing thread; by default ten times as long, and
one scrape waits several times."""
TRIM_SECS = 10.0

log = logging.getLogger("exporter")


def use_one_heap() -> None:
    """Let all threads share one heap (mallopt(3)); call before there are any threads.

    Otherwise each thread that once read a large file keeps that much memory for ever, and answers
    that clients are slow to take leave holes in the heap.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # musl has only one heap
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_TRIM_THRESHOLD, FREE_BYTES)


def run(config: Config, identity: Identity, log_level: str, reread: Reread) -> int:
    """Serve until stopped; return the exit code, also if the address cannot be bound."""
    use_one_heap()
    sys.setswitchinterval(SWITCH_SECS)
    handler = set_up_logging(log_level, sys.stderr)
    loop = asyncio.new_event_loop()
    watchdog = Watchdog(loop, lambda stacks: _give_up(handler, stacks))
    watchdog.start()
    try:
        return loop.run_until_complete(_serve(config, identity, handler, reread))
    except CannotListen as error:
        print(f"hw-exporter: {error}", file=sys.stderr)  # noqa: T201 - one line, whatever the log level
        return EXIT_FAILED
    finally:
        watchdog.stop()
        _finish(loop)
        handler.drain(LAST_WORDS_SECS)


async def _serve(
    config: Config, identity: Identity, handler: NonBlockingHandler, reread: Reread
) -> int:
    beside = [asyncio.ensure_future(work()) for work in (_keep_heap_small, reap_as_process_1)]
    app = App(config, identity, lambda: handler.dropped, reread)
    try:
        await app.run()
    finally:
        for task in beside:
            task.cancel()
    return EXIT_FAILED if app.needs_restart else EXIT_OK


async def _keep_heap_small() -> None:
    """Return free memory of the heap to the kernel from time to time.

    malloc_trim(3) takes about a millisecond for a heap of this size.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    while trim is not None:  # musl has none, and gives back by itself
        await asyncio.sleep(TRIM_SECS)
        trim(0)


def _finish(loop: asyncio.AbstractEventLoop) -> None:
    """End the remaining tasks, with a shorter wait than `asyncio.run`.

    To close a loop gives its signals back to Python, after the socket that they are written to: one
    that comes then would end the program with a traceback, or be followed by one.
    """
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=LAST_TASKS_SECS))
    signal.set_wakeup_fd(-1)
    with suppress(KeyboardInterrupt):
        loop.close()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)


def _give_up(handler: NonBlockingHandler, stacks: str) -> None:
    """Log all stacks and exit; the supervisor of the process restarts it."""
    sentence = "the event loop hangs, exiting"
    place = (__file__, 0, sentence, (), None)
    log.handle(log.makeRecord(log.name, logging.CRITICAL, *place, sinfo=stacks))
    handler.drain(LAST_WORDS_SECS)
    os._exit(EXIT_FAILED)
