"""A mixture of Gaussians by expectation and maximization, in steps of about a millisecond.

The steps are those of scikit-learn's GaussianMixture with full covariances; a test compares the
two. Points are kept as columns: Python multiplies two lists faster than two numbers at a time.
Points may have weights, as the buckets of a histogram have.
"""

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cached_property
from operator import mul
from random import Random
from typing import Generic, TypeAlias, TypeVar

from exporter.record import dataclass

Columns: TypeAlias = Sequence[Sequence[float]]
"""All points by dimension."""

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Work that can be left and taken up again after each step."""

LOG_2_PI = math.log(2 * math.pi)
EMPTY = 10 * 2.0**-52  # what an empty component is given instead of nothing, as in scikit-learn
TOLERANCE = 1e-3
MAX_ITERATIONS = 40


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class Component:
    """One Gaussian: `factor` is the upper triangle U, by column, with U·Uᵀ the precision."""

    weight: float
    mean: tuple[float, ...]
    factor: tuple[tuple[float, ...], ...]

    @cached_property
    def log_scale(self) -> float:
        """What is added to half the squared distance to get the logarithm of weight × density."""
        log_det = sum([math.log(column[-1]) for column in self.factor])
        return math.log(self.weight) + log_det - 0.5 * len(self.mean) * LOG_2_PI

    def log_density(self, point: Sequence[float]) -> float:
        """Return the logarithm of weight × density at one point."""
        centered = [value - mean for value, mean in zip(point, self.mean, strict=True)]
        squares = 0.0
        for column in self.factor:
            squares += sum(map(mul, column, centered)) ** 2
        return self.log_scale - 0.5 * squares

    def log_densities(self, columns: Columns) -> list[float]:
        """Return the same for all points."""
        centered = [_minus(column, mean) for column, mean in zip(columns, self.mean, strict=True)]
        squares = [0.0] * len(columns[0])
        for place, column in enumerate(self.factor):
            distances = [value * column[0] for value in centered[0]]
            for part, values in zip(column[1:], centered[1 : place + 1], strict=True):
                distances = [d + part * v for d, v in zip(distances, values, strict=True)]
            squares = [s + d * d for s, d in zip(squares, distances, strict=True)]
        scale = self.log_scale
        return [scale - 0.5 * square for square in squares]

    def tail(self, value: float) -> float:
        """Return weight × the probability of a value above this one, in one dimension."""
        return 0.5 * self.weight * math.erfc((value - self.mean[0]) * self.factor[0][0] / 2**0.5)


@dataclass(frozen=True, slots=True)
class Mixture:
    """Several Gaussians; the weights sum up to 1."""

    components: tuple[Component, ...]

    def log_likelihood(self, point: Sequence[float]) -> float:
        """Return the logarithm of the density at one point."""
        return _log_sum([component.log_density(point) for component in self.components])

    def tail_probability(self, value: float) -> float:
        """Return how likely a value above this one is, in one dimension.

        Latencies have long tails: a probability says how rare a call is, a distance does not.
        """
        return sum(component.tail(value) for component in self.components)

    def bic(self, log_likelihood: float, points: float) -> float:
        """Return the Bayesian information criterion: the lower, the better."""
        size = len(self.components[0].mean)
        parameters = len(self.components) * (1 + size + size * (size + 1) / 2) - 1
        return parameters * math.log(points) - 2 * log_likelihood


@dataclass(frozen=True, slots=True)
class FittedMixture:
    """A mixture and the mean log-likelihood of the points that it was fitted to."""

    mixture: Mixture
    mean_log_likelihood: float


def best_fit(
    columns: Columns, floor: float, most: int, weights: Sequence[float] | None = None
) -> Steps[FittedMixture]:
    """Fit mixtures of one to `most` Gaussians and return the best by BIC.

    `floor` is added to each variance: data that never change have none, and a Gaussian of no
    width would find everything else impossible.
    """
    counts = weights or [1.0] * len(columns[0])
    points = sum(counts)
    best: tuple[float, FittedMixture] | None = None
    worse = 0
    for size in range(1, most + 1):
        start = yield from beginning(columns, size, floor, counts)
        fit = yield from fitted(columns, start, floor, counts)
        criterion = fit.mixture.bic(fit.mean_log_likelihood * points, points)
        if best is None or criterion < best[0]:
            best, worse = (criterion, fit), 0
        elif (worse := worse + 1) > 1:
            break  # twice no better: more Gaussians will not be either
    assert best is not None, "a mixture has one Gaussian at least"  # noqa: S101 - for mypy
    return best[1]


def beginning(
    columns: Columns, size: int, floor: float, weights: Sequence[float]
) -> Steps[Mixture]:
    """Choose points far from each other as the first means (k-means++), each as wide as all.

    The choice is random with a fixed seed: the same points give the same mixture.
    """
    chance = Random(size)  # noqa: S311 - nothing is kept secret with it
    points = list(zip(*columns, strict=True))
    chosen = [points[_pick(weights, chance)]]
    nearest = [math.inf] * len(points)
    while len(chosen) < size:
        last = chosen[-1]
        distances = [
            sum((a - b) ** 2 for a, b in zip(point, last, strict=True)) for point in points
        ]
        nearest = list(map(min, nearest, distances))
        chosen.append(points[_pick(list(map(mul, nearest, weights)), chance)])
        yield
    shares = [weight / size for weight in weights]
    whole = _component(columns, shares, sum(weights), floor)
    return Mixture(tuple(Component(1 / size, mean, whole.factor) for mean in chosen))


def fitted(
    columns: Columns,
    start: Mixture,
    floor: float,
    weights: Sequence[float] | None = None,
    *,
    tolerance: float = TOLERANCE,
    iterations: int = MAX_ITERATIONS,
) -> Steps[FittedMixture]:
    """Expect and maximize until the mean log-likelihood moves less than the tolerance."""
    counts = weights or [1.0] * len(columns[0])
    total = sum(counts)
    mixture, before = start, -math.inf
    for _ in range(iterations):
        likelihoods, logs = yield from _expected(columns, mixture)
        mean = sum(map(mul, likelihoods, counts)) / total
        shares = []
        for rows in logs:
            share = [math.exp(a - b) for a, b in zip(rows, likelihoods, strict=True)]
            shares.append(list(map(mul, share, counts)))
            yield
        components = []
        for share in shares:
            components.append(_component(columns, share, total, floor))
            yield
        mixture = _normalized(components)
        if abs(mean - before) < tolerance:
            break
        before = mean
    likelihoods, _ = yield from _expected(columns, mixture)
    return FittedMixture(mixture, sum(map(mul, likelihoods, counts)) / total)


class Fitting(Generic[T]):
    """A fit that is done in parts, and what takes its result; one that breaks is given up."""

    def __init__(self) -> None:
        self._work: Steps[T] | None = None
        self._take: Callable[[T], None] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether a fit has begun and not ended."""
        return self._work is not None

    def begin(self, work: Steps[T], take: Callable[[T], None]) -> None:
        """Begin a fit in place of the one before."""
        self._work, self._take = work, take

    def advance(self, steps: int) -> bool:
        """Do so many steps; False when there is nothing to do."""
        work, take = self._work, self._take
        if work is None or take is None:
            return False
        try:
            for _ in range(steps):
                next(work)
        except StopIteration as done:
            self._work = None
            take(done.value)
        except Exception:  # whatever broke it: it is raised, and not gone on with
            self._work = None
            raise
        return True


def finished(work: Steps[T]) -> T:
    """Do all steps at once."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            result: T = done.value
            return result


def _expected(columns: Columns, mixture: Mixture) -> Steps[tuple[list[float], list[list[float]]]]:
    """Return the log-likelihood of each point, and by component its part in it."""
    logs = []
    for component in mixture.components:
        logs.append(component.log_densities(columns))
        yield
    likelihoods = list(map(_log_sum, zip(*logs, strict=True)))
    yield
    return likelihoods, logs


def _component(columns: Columns, shares: Sequence[float], total: float, floor: float) -> Component:
    """Return the Gaussian of the points, of each of which it has this share."""
    held = sum(shares) + EMPTY
    mean = tuple(sum(map(mul, shares, column)) / held for column in columns)
    centered = [_minus(column, middle) for column, middle in zip(columns, mean, strict=True)]
    covariance = []
    for place, values in enumerate(centered):
        shared = list(map(mul, shares, values))
        row = [sum(map(mul, shared, other)) / held for other in centered[: place + 1]]
        row[-1] += floor
        covariance.append(row)
    return Component(held / total, mean, _factor(covariance))


def _factor(covariance: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """Return the inverse of the lower Cholesky factor, by row: the columns of U."""
    lower: list[list[float]] = []
    for place, values in enumerate(covariance):
        row: list[float] = []
        for other in range(place):
            done = sum(map(mul, row, lower[other]))
            row.append((values[other] - done) / lower[other][other])
        row.append(math.sqrt(values[place] - sum(part * part for part in row)))
        lower.append(row)
    inverse: list[list[float]] = []
    for place, row in enumerate(lower):
        solved = [
            -sum(row[k] * inverse[k][other] for k in range(other, place)) / row[place]
            for other in range(place)
        ]
        inverse.append([*solved, 1 / row[place]])
    return tuple(map(tuple, inverse))


def _normalized(components: Sequence[Component]) -> Mixture:
    total = sum(component.weight for component in components)
    return Mixture(tuple(Component(c.weight / total, c.mean, c.factor) for c in components))


def _log_sum(logs: Sequence[float]) -> float:
    """Return the logarithm of the sum of the values with these logarithms."""
    highest = max(logs)
    return highest + math.log(sum([math.exp(value - highest) for value in logs]))


def _minus(values: Iterable[float], middle: float) -> list[float]:
    return [value - middle for value in values]


def _pick(weights: Sequence[float], chance: Random) -> int:
    """Choose a place by weight; the first where all weights are zero."""
    aim = chance.random() * sum(weights)
    for place, weight in enumerate(weights):
        aim -= weight
        if aim < 0:
            return place
    return 0
