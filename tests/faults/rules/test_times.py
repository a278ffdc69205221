"""Times, ends, severity and causes of every shipped rule, to the second."""

from tests.faults.rules.shipped_rules import shipped
from tests.faults.rules.times import pinned, unwritten_causes, wrong_causes, wrong_times

RULES = shipped().rules


def test_it_begins_and_ends_in_time() -> None:
    """It holds after `for`, not a second before, and ends as it is written down to end."""
    assert [it for rule in RULES for it in wrong_times(rule, pinned()[rule.id])] == []


def test_causes_explain_it_in_time() -> None:
    """Each cause explains it a second inside `within` and `ahead`, and not a second outside."""
    assert [it for rule in RULES for it in wrong_causes(rule, pinned()[rule.id])] == []
    assert [it for rule in RULES for it in unwritten_causes(rule, pinned()[rule.id])] == []


def test_all_causes_are_tried() -> None:
    """The lines of limits.txt are read whole: no cause is left untried."""
    written = sum(len(limits.causes) for limits in pinned().values())
    assert written == sum(len(rule.explained_by) for rule in RULES) > 200
    assert len(pinned()) == len(RULES)
