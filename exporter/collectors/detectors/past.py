"""Compares a GPU with the past of its model: a mixture over memory, power and temperature.

The window is a bounded random sample of the last week: each reading has the same chance, older
ones give way. Until half a day was seen nothing is said. A reading is scored by how far its
log-likelihood is below a low quantile of those in the window.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from random import Random

from exporter.collectors.detectors.mixture import FittedMixture, Fitting, Mixture, Steps, best_fit
from exporter.collectors.detectors.signals import GpuNow, load_of, median
from exporter.collectors.detectors.values import AnomalyModel, GpuAnomaly
from exporter.collectors.workloads.values import Workload
from exporter.record import dataclass

Point = tuple[float, float, float]

MAX_COMPONENTS = 6
FLOOR = 1e-4
"""A percent of memory or power, a degree: smaller differences mean nothing."""

WINDOW = 1536
WARM_UP_SECS = 12 * 3600.0
LEAST_LEARNED_SECS = 2 * 3600.0
"""Of one GPU, and without a fault: half a day may go by with none."""

REFIT_SECS = 12 * 3600.0
LEARNED_SECS = 7 * 86_400.0
QUANTILE = 0.01
MAX_SCORE = 50.0
SMOOTHED_SECS = 120.0
LONGEST_STEP_SECS = 60.0
USUAL_SCORE = 1.0
USUAL_SECS = 600.0
SAME_MEMORY = 0.03
"""A workload that holds more or less of the memory than this beside before does other work."""

LOADED_POWER = 0.25
"""Above this share of its power limit a GPU works: what is usual at rest says nothing of work."""

MAX_MODELS = 16


@dataclass(slots=True)
class Learned:
    """What was learned of the GPUs of one model; `gpu_secs` is how much of them was seen."""

    window: list[Point] = field(default_factory=list)
    gpu_secs: float = 0.0
    mixture: Mixture | None = None
    quantile: float = 0.0
    fitted_at: float | None = None  # seconds since boot
    began_at: float | None = None

    def learn(self, point: Point, secs: float, gpus: int, chance: Random) -> None:
        """Take a point into the window, by chance once that is full."""
        self.gpu_secs = min(self.gpu_secs + secs, LEARNED_SECS * gpus)
        if len(self.window) < WINDOW:
            self.window.append(point)
        elif chance.random() < WINDOW * secs / max(1.0, self.gpu_secs):
            self.window[chance.randrange(WINDOW)] = point

    def take(self, found: tuple[FittedMixture, float]) -> None:
        """Score by a new mixture from now on."""
        self.quantile, self.mixture = found[1], found[0].mixture

    def is_due(self, now: float) -> bool:
        """Whether there is something new to fit to."""
        if self.gpu_secs < LEAST_LEARNED_SECS:
            return False
        since = self.began_at if self.fitted_at is None else self.fitted_at
        wait = WARM_UP_SECS if self.fitted_at is None else REFIT_SECS
        return since is not None and now - since >= wait

    def score(self, point: Point) -> float | None:
        """Return how far below the quantile the point is; None while nothing was fitted."""
        if self.mixture is None:
            return None
        below = self.quantile - self.mixture.log_likelihood(point)
        return max(0.0, min(MAX_SCORE, below))


@dataclass(slots=True)
class _Course:
    """How usual one GPU was since its workload came."""

    at: float
    workloads: frozenset[Workload] | None
    memory: float
    usual_secs: list[float] = field(default_factory=lambda: [0.0, 0.0])  # idle, at work
    is_loaded: bool = False
    smoothed: float | None = None


class AnomalyDetector:
    """Learns what GPUs of each model do, and scores each reading by it."""

    def __init__(self, learned: Mapping[str, Learned] | None = None) -> None:
        self.learned: dict[str, Learned] = dict(learned or {})
        self._courses: dict[str, _Course] = {}
        self._chance = Random(1)  # noqa: S311 - a fixed seed: nothing is kept secret with it
        self.fitting: Fitting[tuple[FittedMixture, float]] = Fitting()

    def see(self, readings: Collection[GpuNow], faulty: Collection[str]) -> tuple[GpuAnomaly, ...]:
        """Take in new readings; those of `faulty` GPUs are scored and not learned."""
        for now in readings:
            point = load_of(now)
            model = self._model_of(now)
            if point is None or model is None:
                self._courses.pop(now.gpu.uuid, None)
                continue
            course, passed = self._course(now, point)
            score = model.score(point)
            if score is not None:
                before = course.smoothed or 0.0
                course.smoothed = before + (score - before) * min(1.0, passed / SMOOTHED_SECS)
                if course.smoothed < USUAL_SCORE:
                    course.usual_secs[course.is_loaded] += passed
            if now.gpu.uuid not in faulty:
                same = sum(other.gpu.name == now.gpu.name for other in readings)
                model.learn(point, passed, same, self._chance)
            if not self.fitting.is_under_way and model.is_due(now.at):
                model.fitted_at = now.at
                self.fitting.begin(_fit([*model.window]), model.take)
        return tuple(self._anomalies())

    def forget(self, gone: Collection[str]) -> None:
        """Forget GPUs that are not read any more."""
        for uuid in gone:
            self._courses.pop(uuid, None)

    def models(self) -> tuple[AnomalyModel, ...]:
        """Return for each model of GPU whether enough was learned."""
        return tuple(
            AnomalyModel(name, learned.mixture is not None)
            for name, learned in sorted(self.learned.items())
        )

    def _model_of(self, now: GpuNow) -> Learned | None:
        model = self.learned.get(now.gpu.name)
        if model is None and len(self.learned) < MAX_MODELS:
            model = self.learned[now.gpu.name] = Learned(began_at=now.at)
        return model

    def _course(self, now: GpuNow, point: Point) -> tuple[_Course, float]:
        """Return the course of the GPU, and the seconds since its last reading.

        It begins again when other work does: with another workload, or much more or less memory.
        """
        course = self._courses.get(now.gpu.uuid)
        passed = 0.0 if course is None else min(LONGEST_STEP_SECS, now.at - course.at)
        if (
            course is None
            or course.workloads != now.workloads
            or abs(course.memory - point[0]) > SAME_MEMORY
        ):
            course = self._courses[now.gpu.uuid] = _Course(now.at, now.workloads, point[0])
        course.at, course.is_loaded = now.at, point[1] > LOADED_POWER
        return course, passed

    def _anomalies(self) -> list[GpuAnomaly]:
        scores: dict[frozenset[Workload] | None, list[float]] = {}
        known = {uuid: c for uuid, c in sorted(self._courses.items()) if c.smoothed is not None}
        for course in known.values():
            scores.setdefault(course.workloads, []).append(course.smoothed or 0.0)
        return [
            GpuAnomaly(uuid, course.smoothed or 0.0, _is_change(course, scores[course.workloads]))
            for uuid, course in known.items()
        ]


def _is_change(course: _Course, scores: Collection[float]) -> bool | None:
    """Whether the GPU was usual before, and others with the same workloads are not like it."""
    if course.workloads is None:
        return None
    is_shared = len(scores) > 1 and 2 * median(scores) > (course.smoothed or 0.0)
    return course.usual_secs[course.is_loaded] >= USUAL_SECS and not is_shared


def _fit(window: list[Point]) -> Steps[tuple[FittedMixture, float]]:
    """Fit a mixture and find the quantile of the log-likelihoods of its own points."""
    columns = tuple(map(list, zip(*window, strict=True)))
    fit = yield from best_fit(columns, FLOOR, MAX_COMPONENTS)
    found = []
    for point in window:
        found.append(fit.mixture.log_likelihood(point))
        if len(found) % 128 == 0:
            yield
    found.sort()
    return fit, found[int(QUANTILE * len(found))]
