"""Detects from a separate thread that the event loop hangs, and where."""

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable

TICK_SECS = 5.0
PATIENCE_TICKS = 6


class Watchdog:
    """Calls `on_hang` once, with all stacks, when the loop does not answer for so many ticks.

    Ticks are wake-ups, not time: a stopped process or a suspended machine misses ticks together
    with the loop, and is not taken for a hang.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_hang: Callable[[str], None],
        *,
        tick_secs: float = TICK_SECS,
        patience_ticks: int = PATIENCE_TICKS,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """Take `wait`, which sleeps for so many seconds and returns True when the watch is over."""
        self._loop = loop
        self._on_hang = on_hang
        self._tick_secs = tick_secs
        self._patience_ticks = patience_ticks
        self._has_answered = threading.Event()
        self._is_over = threading.Event()
        self._wait = wait or self._is_over.wait

    def start(self) -> None:
        """Watch until the loop is closed or `stop` is called."""
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Watch no more."""
        self._is_over.set()

    def _watch(self) -> None:
        unanswered = 0
        try:
            self._loop.call_soon_threadsafe(self._has_answered.set)
            while not self._wait(self._tick_secs):
                if self._has_answered.is_set():
                    unanswered = 0
                    self._has_answered.clear()
                    self._loop.call_soon_threadsafe(self._has_answered.set)
                    continue
                unanswered += 1
                if unanswered >= self._patience_ticks:
                    self._on_hang(all_stacks())
                    return
        except RuntimeError:
            return  # the loop is closed


def all_stacks() -> str:
    """Return the stack of every thread, without values of variables."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the documented way to all threads
        lines = "".join(traceback.format_stack(frame))
        parts.append(f"thread {names.get(ident, ident)}:\n{lines}")
    return "\n".join(parts)
