"""Every comparison of every shipped rule at its edge: just below, at and just above."""

from exporter.collectors.everything import rule_book
from tests.faults.rules.edges import idle_leaves, pinned, wrong_edges

RULES = rule_book().rules


def test_each_edge_is_where_it_is_written() -> None:
    """Each row of edges.txt says what the rule says of these values."""
    assert [it for rule in RULES for it in wrong_edges(rule, pinned()[rule.id])] == []


def test_each_comparison_decides_somewhere() -> None:
    """No comparison and no branch can be left out unseen: some row needs it true, another false.

    A new rule gets its rows from `python -m tests.faults.rules.edge_cases`; read what it writes.
    """
    idle = {rule.id: [*idle_leaves(rule, pinned()[rule.id])] for rule in RULES}
    assert {name: found for name, found in idle.items() if found} == {}


def test_rows_are_of_rules_that_ship() -> None:
    """A rule that went takes its rows with it."""
    assert pinned().keys() == {rule.id for rule in RULES}
    assert sum(map(len, pinned().values())) > 1000
