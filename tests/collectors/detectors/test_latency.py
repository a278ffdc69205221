"""Traced calls beside what they took before: a longer tail is seen, the usual tail is not."""

from collections.abc import Sequence

import pytest

from exporter.collectors.detectors.latency import LatencyDetector
from exporter.collectors.detectors.values import SlowCalls
from exporter.collectors.workloads.values import TracedCall, Workload
from exporter.exposition.family import Histogram

BOUNDS = (1e-6, 4e-6, 16e-6, 64e-6, 256e-6, float("inf"))
USUAL = (0, 900, 80, 15, 5, 0)
"""A thousand calls a minute, with a long tail."""

WORKLOAD = Workload("ml", "trainer", "main")


class Calls:
    """One call of one workload, counted on from minute to minute."""

    def __init__(self) -> None:
        self.detector = LatencyDetector()
        self.now = 1000.0
        self._counts = [0] * len(BOUNDS)

    def minutes(self, count: int, new: Sequence[int]) -> float | None:
        """The slow share after so many minutes with these new calls in each bucket."""
        found: tuple[SlowCalls, ...] = ()
        for _ in range(count):
            self.now += 60.0
            self._counts = [a + b for a, b in zip(self._counts, new, strict=True)]
            found = self.detector.see(self.reading(), self.now)
            while self.detector.fitting.advance(100):
                pass
        return found[0].ratio if found else None

    def reading(self) -> tuple[TracedCall, ...]:
        """What the kernel has counted until now."""
        buckets = [(bound, sum(self._counts[: place + 1])) for place, bound in enumerate(BOUNDS)]
        durations = Histogram(tuple(buckets), 1.0)
        return (TracedCall("cuda", "cudaLaunchKernel", WORKLOAD, durations, 0),)

    def begin_again(self) -> None:
        """The program that counts was started again."""
        self._counts = [0] * len(BOUNDS)


def test_nothing_is_said_before_an_hour_was_seen() -> None:
    """Few calls, and calls of a few minutes, are no habit."""
    calls = Calls()
    assert calls.minutes(59, USUAL) is None
    assert calls.minutes(3, USUAL) is not None


def test_the_usual_tail_is_usual() -> None:
    """A call that takes a hundred times as long as most is not slow where one in fifty does."""
    calls = Calls()
    assert calls.minutes(120, USUAL) == pytest.approx(0.005, abs=0.005)


def test_a_longer_tail_is_seen() -> None:
    """A third of the calls in a bucket that hardly any was in before."""
    calls = Calls()
    calls.minutes(120, USUAL)
    assert calls.minutes(1, (0, 600, 50, 10, 0, 340)) == pytest.approx(0.34, abs=0.01)


def test_slow_calls_are_not_learned_for_a_day() -> None:
    """A fault of hours stays visible; what lasts longer than a day is the new usual."""
    calls = Calls()
    calls.minutes(120, USUAL)
    slow = (0, 500, 0, 0, 0, 500)
    assert calls.minutes(20 * 60, slow) == pytest.approx(0.5, abs=0.01)
    assert calls.minutes(30 * 60, slow) == pytest.approx(0.0, abs=0.01)


def test_few_calls_say_nothing() -> None:
    """A share of nineteen calls would be chance."""
    calls = Calls()
    calls.minutes(120, USUAL)
    assert calls.minutes(1, (0, 19, 0, 0, 0, 0)) is None


def test_counts_that_begin_again_are_no_calls() -> None:
    """After a restart of what counts, the first look compares nothing."""
    calls = Calls()
    calls.minutes(120, USUAL)
    calls.begin_again()
    assert calls.minutes(1, USUAL) is None
    assert calls.minutes(1, USUAL) == pytest.approx(0.005, abs=0.005)


def test_a_look_that_fails_costs_no_memory_of_the_calls() -> None:
    """Nothing is said of calls that were not read, and nothing forgotten."""
    calls = Calls()
    calls.minutes(120, USUAL)
    assert calls.detector.see(None, calls.now + 1) == ()
    assert calls.minutes(1, USUAL) is not None
    assert calls.detector.see((), calls.now + 1) == ()
    assert calls.minutes(1, USUAL) is None
