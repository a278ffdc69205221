"""Waiting for what real programs do, while the event loop goes on."""

import asyncio
from collections.abc import Callable

STEP_SECS = 0.01
PATIENCE_SECS = 20.0


async def until(is_so: Callable[[], object]) -> None:
    """Wait until it is so; fail after twenty seconds."""
    for _ in range(int(PATIENCE_SECS / STEP_SECS)):
        if is_so():
            return
        await asyncio.sleep(STEP_SECS)
    raise AssertionError("it never came to that")
