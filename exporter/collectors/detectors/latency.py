"""Compares the duration of traced calls with the past: the share of calls in the far tail.

Latencies have long tails, so no distance counts but a probability. The buckets of a histogram,
on a logarithmic scale, are the weighted points of a mixture in one dimension; a call is slow
that takes longer than all but one in a hundred of those that were learned.
"""

import math
from collections.abc import Sequence
from dataclasses import field

from exporter.collectors.detectors.mixture import FittedMixture, Fitting, Mixture, best_fit
from exporter.collectors.detectors.values import SlowCalls
from exporter.collectors.workloads.values import TracedCall, Workload
from exporter.record import dataclass

Place = tuple[str, str, Workload]
"""Layer, call and workload."""

TAIL = 0.01
MAX_COMPONENTS = 6
LEAST_CALLS = 20
WARM_UP_SECS = 3600.0
REFIT_SECS = 6 * 3600.0
LEARNED_SECS = 86_400.0
BROKEN_SHARE = 0.1
"""What has ten times as many slow calls as usual is not learned, for a day."""

MAX_CALLS = 256


@dataclass(slots=True)
class _CallCourse:
    """One call of one workload: what it took before, by bucket, the oldest fading."""

    bounds: tuple[float, ...]
    at: float
    counts: tuple[int, ...]
    began_at: float
    learned: list[float] = field(default_factory=list)
    is_slow: list[bool] = field(default_factory=list)  # by bucket; empty until it is known
    fitted_at: float | None = None
    slow_since: float | None = None

    def take(self, fit: FittedMixture) -> None:
        """Call slow from now on what this mixture finds rare."""
        self.is_slow = _slow_buckets(self.bounds, fit.mixture)

    def is_due(self) -> bool:
        """Whether there is something new to fit to."""
        if sum(self.learned) < LEAST_CALLS / TAIL:
            return False
        if self.fitted_at is None:
            return self.at - self.began_at >= WARM_UP_SECS
        return self.at - self.fitted_at >= REFIT_SECS


class LatencyDetector:
    """Learns how long each traced call of each workload takes, and finds the slow ones."""

    def __init__(self) -> None:
        self._courses: dict[Place, _CallCourse] = {}
        self.fitting: Fitting[FittedMixture] = Fitting()

    def see(self, calls: Sequence[TracedCall] | None, at: float) -> tuple[SlowCalls, ...]:
        """Return how many of the calls since the last look were slow, where that is known."""
        if calls is None:
            return ()  # not read this time: what was learned is kept
        found, courses = [], {}
        for call in calls[:MAX_CALLS]:
            place = (call.layer, call.call, call.workload)
            course = courses[place] = self._courses.get(place) or _begun(call, at)
            share = _slow_share(course, call, at)
            if share is not None:
                found.append(SlowCalls(*place, share))
            if not self.fitting.is_under_way and course.is_due():
                course.fitted_at = at
                points = [[*map(math.log, _middles(course.bounds))]]
                weights = [*course.learned]
                work = best_fit(points, _floor(points[0]), MAX_COMPONENTS, weights)
                self.fitting.begin(work, course.take)
        self._courses = courses
        return tuple(found)


def _begun(call: TracedCall, at: float) -> _CallCourse:
    bounds = tuple(bound for bound, _ in call.durations.buckets)
    return _CallCourse(bounds, at, _counts(call), at, [0.0] * len(bounds))


def _counts(call: TracedCall) -> tuple[int, ...]:
    """Return how many calls were in each bucket, not in it or below."""
    below, counts = 0, []
    for _, count in call.durations.buckets:
        counts.append(count - below)
        below = count
    return tuple(counts)


def _slow_share(course: _CallCourse, call: TracedCall, at: float) -> float | None:
    """Take in what is new of one call; return the slow share, None of few calls."""
    counts, passed = _counts(call), at - course.at
    if passed <= 0:
        return None
    if len(counts) != len(course.counts) or any(map(int.__lt__, counts, course.counts)):
        course.counts, course.at = counts, at  # it counts anew
        return None
    new = [now - before for now, before in zip(counts, course.counts, strict=True)]
    course.counts, course.at = counts, at
    share = None
    if course.is_slow and sum(new) >= LEAST_CALLS:
        slow = sum(n for n, is_slow in zip(new, course.is_slow, strict=True) if is_slow)
        share = slow / sum(new)
    if share is None or share <= BROKEN_SHARE:
        course.slow_since = None
    elif course.slow_since is None:
        course.slow_since = at
    if course.slow_since is None or at - course.slow_since > LEARNED_SECS:
        faded = math.exp(-passed / LEARNED_SECS)
        course.learned = [
            faded * old + fresh for old, fresh in zip(course.learned, new, strict=True)
        ]
    return share


def _middles(bounds: Sequence[float]) -> list[float]:
    """Return a duration for each bucket: the geometric mean of its bounds."""
    lower = [bounds[0] / 4, *bounds[:-1]]
    upper = [*bounds[:-1], bounds[-2] * 4]
    return [math.sqrt(low * high) for low, high in zip(lower, upper, strict=True)]


def _floor(points: Sequence[float]) -> float:
    """Return the variance within a bucket: what a histogram cannot tell apart."""
    return ((points[-1] - points[0]) / (len(points) - 1)) ** 2 / 12


def _slow_buckets(bounds: Sequence[float], mixture: Mixture) -> list[bool]:
    return [mixture.tail_probability(math.log(middle)) < TAIL for middle in _middles(bounds)]
