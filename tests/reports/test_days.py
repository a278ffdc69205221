"""The strip of the last fourteen days: which faults each day had."""

from exporter.model.transition import Transition
from exporter.model.verdict import Conclusions
from exporter.reports.faults import days_document
from exporter.web.html.drawing import days_strip

DAY = 86_400.0
NOW = 20_000 * DAY + 3600
"""An hour after midnight, UTC, 4 October 2024."""


def row(days_ago: float, change: str, severity: str = "critical", name: str = "a") -> Transition:
    """A transition of a fault so long ago."""
    at = NOW - days_ago * DAY
    return Transition(at, change, "gpu_hot", severity, "gpu", "gpu", name, name, True, "hot")  # noqa: FBT003 - a row


def test_a_fault_counts_on_each_day_that_it_lasted() -> None:
    """With its highest severity; from its first day on the others are known to have none."""
    history = (
        row(5.0, "began", "warning"),
        row(4.5, "severity", "critical"),
        row(3.0, "ended"),
        row(0.01, "began", "info", "b"),
    )
    days = days_document(Conclusions(history=history), NOW)
    assert [day["day"] for day in days][::13] == ["2024-09-21", "2024-10-04"]
    assert [day["critical"] for day in days] == [*[0] * 8, 1, 1, 1, 0, 0, 0]
    assert [day["info"] for day in days] == [*[0] * 13, 1]
    assert [day["known"] for day in days] == [*[False] * 8, *[True] * 6]


def test_the_strip_says_in_words_what_its_colours_mean() -> None:
    """A date, a number and a severity in each field; what is not known is not called none."""
    days = days_document(Conclusions(history=(row(1.0, "began"), row(0.9, "ended"))), NOW)
    drawn = days_strip(days)
    assert '<span>Thu 3 Oct</span><b class="critical">1 critical</b>' in drawn
    assert '<span>today</span><b class="muted">none</b>' in drawn
    assert drawn.count("not known") == 12


def test_without_a_fault_there_is_no_strip() -> None:
    """A node that never had a fault shows none, and so does a node without rules."""
    assert days_document(Conclusions(), NOW) == []
    assert days_document(None, NOW) == []
