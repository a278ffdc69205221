"""Times, ends, severity and causes of every shipped rule, to the second."""

import pytest

from exporter.faults.rules.rule import Rule
from tests.faults.rules.shipped_rules import shipped
from tests.faults.rules.times import pinned, unwritten_causes, wrong_causes, wrong_times

each_rule = pytest.mark.parametrize("rule", shipped().rules, ids=lambda rule: rule.id)


@each_rule
def test_it_begins_and_ends_in_time(rule: Rule) -> None:
    """It holds after `for`, not a second before, and ends as it is written down to end."""
    assert not [*wrong_times(rule, pinned()[rule.id])]


@each_rule
def test_causes_explain_it_in_time(rule: Rule) -> None:
    """Each cause explains it a second inside `within` and `ahead`, and not a second outside."""
    assert not [*wrong_causes(rule, pinned()[rule.id])]
    assert not [*unwritten_causes(rule, pinned()[rule.id])]


def test_all_causes_are_tried() -> None:
    """The lines of limits.txt are read whole: no cause is left untried."""
    written = sum(len(limits.causes) for limits in pinned().values())
    assert written == sum(len(rule.explained_by) for rule in shipped().rules) > 200
    assert len(pinned()) == len(shipped().rules)
