"""How the cost of a call grows with the length of what it is given."""

import gc
import time
from collections.abc import Callable
from typing import Any

FACTOR = 16
"""Sixteen times the input: a linear call costs 16 times as much, a quadratic one 256 times."""

MOST = 2.5 * FACTOR
TRIES = 4
"""A busy machine may hold up one measurement; a quadratic call is too dear in each."""

NOISE_SECS = 0.0003
"""What a switch of tasks costs; a call this cheap harms nobody however it grows."""


def is_linear(call: Callable[[Any], object], make: Callable[[int], Any], length: int) -> bool:
    """Whether an input of `length` costs about sixteen times as much as a sixteenth of it."""
    short, long = make(length // FACTOR), make(length)
    if _cost(call, long) <= NOISE_SECS:
        return True
    return any(
        _least_cost(call, long) <= MOST * _least_cost(call, short) + NOISE_SECS
        for _ in range(TRIES)
    )


def _least_cost(call: Callable[[Any], object], given: Any) -> float:
    """The least processor time of three calls, in seconds."""
    return min(_cost(call, given) for _ in range(3))


def _cost(call: Callable[[Any], object], given: Any) -> float:
    gc.disable()  # how often it looks at all there is depends on the rest of the run
    try:
        began = time.thread_time()
        call(given)
        return time.thread_time() - began
    finally:
        gc.enable()
