"""The watch over the event loop."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from exporter.watchdog import Watchdog
from tests.program import ROOT, wait_for

HANGING = """
import asyncio, os, sys, time
from exporter.watchdog import Watchdog

def on_hang(stacks):
    print(stacks, flush=True)
    os._exit(70)

def hang_in_this_function():
    time.sleep(3600)

async def main():
    Watchdog(asyncio.get_running_loop(), on_hang, tick_secs=0.1, patience_ticks=8).start()
    await asyncio.sleep(float(sys.argv[1]))
    hang_in_this_function()

asyncio.run(main())
"""


def _hanging(after_secs: float) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HANGING, str(after_secs)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.system
def test_a_loop_that_hangs_ends_the_process_with_its_stacks() -> None:
    """The stacks name the function that hangs, once, and the process ends with a failure."""
    process = _hanging(after_secs=0.1)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 70
    assert output.count("in hang_in_this_function") == 1
    assert "thread watchdog:" in output


@pytest.mark.parametrize(
    ("ticks", "hangs"),
    [
        ("." * 20, 0),
        ("--." * 20, 0),  # late answers do not add up
        ("--.---", 1),
        ("---.---", 1),  # found once, and the watch is over
    ],
)
def test_a_hang_is_a_loop_that_misses_three_ticks_in_a_row(ticks: str, hangs: int) -> None:
    """At each tick the loop answers (.) or does not (-); late again and again is no hang."""
    found: list[str] = []
    left = iter(ticks)
    loop = asyncio.new_event_loop()

    def wait(_: float) -> bool:
        tick = next(left, "")
        if tick == ".":
            loop.run_until_complete(asyncio.sleep(0))
        return not tick

    Watchdog(loop, found.append, patience_ticks=3, wait=wait)._watch()
    loop.close()
    assert len(found) == hangs


def test_a_loop_hangs_when_it_has_not_answered_for_half_a_minute() -> None:
    """Six ticks of five seconds, unless it is asked for otherwise."""
    loop = asyncio.new_event_loop()
    waited: list[float] = []
    found: list[float] = []

    def wait(secs: float) -> bool:
        waited.append(secs)
        return len(waited) > 100

    Watchdog(loop, lambda _: found.append(sum(waited)), wait=wait)._watch()
    loop.close()
    assert (found, set(waited)) == ([30.0], {5.0})


async def test_nothing_is_watched_after_stop() -> None:
    """The thread ends, although the loop does not answer any more."""
    before = set(threading.enumerate())
    watchdog = Watchdog(asyncio.get_running_loop(), lambda _: None)
    watchdog.start()
    (thread,) = set(threading.enumerate()) - before
    assert thread.daemon  # it never keeps the process
    watchdog.stop()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.system
def test_a_stopped_process_is_not_a_hanging_one() -> None:
    """Stopped for longer than the patience, it goes on: that alone never ends it."""
    process = _hanging(after_secs=3600)
    try:
        _until_asleep(process.pid)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.0)  # longer than the patience
        process.send_signal(signal.SIGCONT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
    finally:
        process.kill()
        process.communicate()


def test_a_closed_loop_ends_the_watch() -> None:
    """The thread ends by itself when there is nothing left to watch."""
    loop = asyncio.new_event_loop()
    watchdog = Watchdog(loop, lambda _: None, tick_secs=0.001)
    loop.close()
    before = set(threading.enumerate())
    watchdog.start()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def _until_asleep(pid: int) -> None:
    """Wait until the watchdog's thread is there."""
    tasks = Path(f"/proc/{pid}/task")
    wait_for(lambda: len(list(tasks.iterdir())) > 1, "the watchdog's thread", secs=10)
