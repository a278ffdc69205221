"""Waiting for what real programs do."""

import asyncio
import select
from collections.abc import Callable
from typing import IO

STEP_SECS = 0.01
PATIENCE_SECS = 20.0


async def until(is_so: Callable[[], object]) -> None:
    """Wait until it is so, while the event loop goes on; fail after twenty seconds."""
    for _ in range(int(PATIENCE_SECS / STEP_SECS)):
        if is_so():
            return
        await asyncio.sleep(STEP_SECS)
    raise AssertionError("it never came to that")


def is_readable(stream: IO[bytes] | int, secs: float) -> bool:
    """Whether there is something to read, or the end, within so many seconds."""
    poll = select.poll()  # select(2) fails for descriptors above 1023
    poll.register(stream, select.POLLIN)
    return bool(poll.poll(secs * 1000))
