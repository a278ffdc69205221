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
from tests.program import ROOT

pytestmark = pytest.mark.system

HANGING = """
import asyncio, os, sys, time
from exporter.watchdog import Watchdog

def on_hang(stacks):
    print(stacks, flush=True)
    os._exit(70)

def hang_in_this_function():
    time.sleep(3600)

async def main():
    Watchdog(asyncio.get_running_loop(), on_hang, tick_secs=0.05, patience_ticks=4).start()
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


def test_a_loop_that_hangs_ends_the_process_with_its_stacks() -> None:
    """The stacks name the function that hangs, once, and the process ends with a failure."""
    process = _hanging(after_secs=0.1)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 70
    assert output.count("in hang_in_this_function") == 1
    assert "thread watchdog:" in output


async def test_a_loop_that_answers_is_left_alone() -> None:
    """Nothing is concluded while the loop answers, and nothing after `stop`."""
    found: list[str] = []
    loop = asyncio.get_running_loop()
    watchdog = Watchdog(loop, found.append, tick_secs=0.002, patience_ticks=50)
    watchdog.start()
    await asyncio.sleep(0.1)
    watchdog.stop()
    assert not found


async def test_late_answers_do_not_add_up() -> None:
    """A loop that is late again and again, each time for less than the patience, is no hang."""
    found: list[str] = []
    watchdog = Watchdog(
        asyncio.get_running_loop(), found.append, tick_secs=0.005, patience_ticks=100
    )
    watchdog.start()
    for _ in range(4):
        time.sleep(0.3)  # noqa: ASYNC251 - the loop is to be late: at most 60 ticks
        await asyncio.sleep(0.05)
    watchdog.stop()
    assert not found


def test_a_stopped_process_is_not_a_hanging_one() -> None:
    """However long the process is stopped, that alone never ends it."""
    process = _hanging(after_secs=3600)
    try:
        _until_asleep(process.pid)
        for _ in range(3):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.4)  # twice the patience
            process.send_signal(signal.SIGCONT)
            time.sleep(0.1)
        assert process.poll() is None
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
    deadline = time.monotonic() + 10
    while len(list(Path(f"/proc/{pid}/task").iterdir())) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
