"""The mixture of Gaussians: the same as scikit-learn's, on points and on histograms."""

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from exporter.collectors.detectors.mixture import (
    Component,
    Fitting,
    Mixture,
    Steps,
    beginning,
    best_fit,
    finished,
    fitted,
)

FLOOR = 1e-4


def points(seed: int, size: int, count: int = 600) -> list[list[float]]:
    """Columns of points from three clusters, two of which overlap; one is narrow."""
    chance = Random(seed)  # noqa: S311 - the same in every run
    middles = [[chance.uniform(0, 1) for _ in range(size)] for _ in range(3)]
    widths = (0.15, 0.1, 0.01)
    rows = []
    for number in range(count):
        cluster = number % 3
        common = chance.gauss(0, 1)
        rows.append(
            [
                middle + widths[cluster] * (0.7 * common + 0.7 * chance.gauss(0, 1))
                for middle in middles[cluster]
            ]
        )
    return [list(column) for column in zip(*rows, strict=True)]


def matrix(factor: Sequence[Sequence[float]]) -> list[list[float]]:
    """The precision U·Uᵀ of columns of an upper triangle."""
    size = len(factor)
    upper = [[factor[c][r] if r <= c else 0.0 for c in range(size)] for r in range(size)]
    return [
        [sum(upper[a][k] * upper[b][k] for k in range(size)) for b in range(size)]
        for a in range(size)
    ]


@pytest.mark.parametrize(
    ("seed", "size", "components", "iterations"),
    [(1, 3, 1, 1), (2, 3, 3, 1), (2, 3, 6, 12), (1, 1, 2, 12), (2, 1, 4, 12)],
)
def test_it_is_that_of_scikit_learn(seed: int, size: int, components: int, iterations: int) -> None:
    """From the same beginning on the same data both have the same log-likelihood, to 1e-6."""
    numpy = pytest.importorskip("numpy", reason="scikit-learn is not installed (extra reference)")
    mixture = pytest.importorskip(
        "sklearn.mixture", reason="scikit-learn is not installed (extra reference)"
    )
    columns = points(seed, size)
    start = finished(beginning(columns, components, FLOOR, [1.0] * len(columns[0])))
    ours = finished(fitted(columns, start, FLOOR, tolerance=1e-12, iterations=iterations))
    theirs = mixture.GaussianMixture(
        components,
        covariance_type="full",
        tol=1e-12,
        reg_covar=FLOOR,
        max_iter=iterations,
        weights_init=[c.weight for c in start.components],
        means_init=[c.mean for c in start.components],
        precisions_init=[matrix(c.factor) for c in start.components],
    )
    data = numpy.array(columns).T
    fit_quietly(theirs, data)
    assert ours.mean_log_likelihood == pytest.approx(theirs.score(data), abs=1e-6)
    log_likelihoods = [ours.mixture.log_likelihood(row) for row in data.tolist()]
    assert log_likelihoods == pytest.approx(theirs.score_samples(data).tolist(), abs=1e-6)
    bic = ours.mixture.bic(ours.mean_log_likelihood * len(data), len(data))
    assert bic == pytest.approx(theirs.bic(data), abs=1e-3)


def fit_quietly(theirs: Any, data: Any) -> None:
    """Fit without the warning that one step is not enough: it is what is compared."""
    import warnings  # noqa: PLC0415 - only here

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(data)


def test_a_point_and_all_points_have_one_density() -> None:
    """What is fitted by columns is what single readings are scored by."""
    columns = points(1, 3)
    component = finished(best_fit(columns, FLOOR, 2)).mixture.components[0]
    one_by_one = [component.log_density(point) for point in zip(*columns, strict=True)]
    assert component.log_densities(columns) == pytest.approx(one_by_one, abs=1e-9)


def test_bic_finds_how_many_there_are() -> None:
    """Three clusters far apart are three Gaussians, one is one."""
    chance = Random(1)  # noqa: S311 - the same in every run
    far = [[10 * (n % 3) + chance.gauss(0, 0.3) for n in range(300)] for _ in range(3)]
    assert len(finished(best_fit(far, FLOOR, 6)).mixture.components) == 3
    one = [[chance.gauss(0, 0.3) for _ in range(300)] for _ in range(3)]
    assert len(finished(best_fit(one, FLOOR, 6)).mixture.components) == 1


def test_what_never_changes_is_no_error() -> None:
    """A GPU that idles has one reading again and again: one Gaussian, as wide as the floor."""
    constant = [[0.01] * 500, [0.1] * 500, [0.3] * 500]
    (component,) = finished(best_fit(constant, FLOOR, 6)).mixture.components
    assert component.mean == pytest.approx((0.01, 0.1, 0.3))
    assert component.factor[0][0] == pytest.approx(FLOOR**-0.5)
    near = Mixture((component,)).log_likelihood((0.02, 0.1, 0.3))
    assert near - Mixture((component,)).log_likelihood((0.5, 0.8, 0.6)) > 1000


def test_buckets_count_as_often_as_they_hold_calls() -> None:
    """A histogram gives the mixture that its calls would give one by one."""
    buckets, counts = [0.1, 0.2, 0.4, 2.0, 2.2], [30, 50, 20, 5, 7]
    calls = [value for value, count in zip(buckets, counts, strict=True) for _ in range(count)]
    start = Mixture((Component(0.5, (0.2,), ((3.0,),)), Component(0.5, (2.0,), ((3.0,),))))
    by_bucket = finished(fitted([buckets], start, FLOOR, [float(c) for c in counts]))
    by_call = finished(fitted([calls], start, FLOOR))
    assert by_bucket.mean_log_likelihood == pytest.approx(by_call.mean_log_likelihood, abs=1e-9)
    chosen = finished(best_fit([buckets], 0.02, 3, [float(c) for c in counts]))
    assert len(chosen.mixture.components) == 2


def test_a_tail_is_a_probability() -> None:
    """How rare a call is: the share of calls that take longer, whichever Gaussian they are of."""
    mixture = Mixture((Component(0.9, (0.0,), ((1.0,),)), Component(0.1, (5.0,), ((0.5,),))))
    assert mixture.tail_probability(-50.0) == pytest.approx(1.0)
    assert mixture.tail_probability(5.0) == pytest.approx(0.05, abs=1e-6)
    assert mixture.tail_probability(1.959964) == pytest.approx(0.9 * 0.025 + 0.1 * 0.936, abs=1e-3)
    steps = [value / 1000 for value in range(5000, 20_000)]
    numeric = sum(math.exp(mixture.log_likelihood((value,))) for value in steps) / 1000
    assert mixture.tail_probability(5.0) == pytest.approx(numeric, rel=1e-3)


def test_a_fit_that_breaks_is_given_up() -> None:
    """It is not tried again and again, and nothing takes its result."""

    def breaks() -> Steps[int]:
        yield
        raise ZeroDivisionError

    taken: list[int] = []
    fitting: Fitting[int] = Fitting()
    fitting.begin(breaks(), taken.append)
    assert fitting.advance(1)
    with pytest.raises(ZeroDivisionError):
        fitting.advance(1)
    assert not fitting.is_under_way
    assert not fitting.advance(1)
    assert taken == []


def test_the_same_points_give_the_same_mixture() -> None:
    """Nothing depends on the hour at which it is fitted."""
    columns = points(2, 3)
    assert finished(best_fit(columns, FLOOR, 6)) == finished(best_fit(columns, FLOOR, 6))
