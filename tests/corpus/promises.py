"""What holds of every recording, and of many together; each file of tests judges some batches."""

from functools import cache

from exporter.collectors.everything import rule_book
from tests.corpus.cases import NOT_MENDED, Case
from tests.corpus.scoring import Result, Score, judged

LEAST_PRECISION = 0.97
LEAST_RECALL = 0.97
LEAST_ROOT_RIGHT = 0.95
LEAST_VERDICT_RIGHT = 0.99
LEAST_END_RIGHT = 0.95


@cache
def result_of(case: Case) -> Result:
    """One recording through the shipped rules, once for all tests."""
    return judged(case, rule_book())


def test_what_is_said_holds(case: Case) -> None:
    """No fault that a label forbids, a node that is well stays healthy, what is over has ended.

    At each moment the node is unhealthy exactly while a critical fault is active, a root is at
    least as severe as what follows from it, and what has a critical fault has failed. A sample
    that stays bad for a quarter of an hour belongs to an active fault, or is meant. No fault
    begins at the moment at which its component got well and nothing got worse. In a batch that is
    not mended, what is judged wrong may stay: not what contradicts itself.
    """
    said = result_of(case)
    assert not said.contradictions
    assert not said.untrue
    assert not said.holes
    assert not said.unalerted
    assert not said.got_well
    if case.batch not in NOT_MENDED:
        assert not said.forbidden
        assert case.is_incident or not said.was_unhealthy
        assert not case.is_over or not said.left


def test_the_figures_hold(cases: tuple[Case, ...]) -> None:
    """Little is missed, less is wrong, and roots, verdicts and ends are right."""
    score = Score(tuple(map(result_of, cases)))
    misses = "\n".join(score.misses())
    assert score.precision >= LEAST_PRECISION, misses
    assert score.recall >= LEAST_RECALL, misses
    assert score.root_right >= LEAST_ROOT_RIGHT, misses
    assert score.verdict_right >= LEAST_VERDICT_RIGHT, misses
    assert score.end_right >= LEAST_END_RIGHT, misses
