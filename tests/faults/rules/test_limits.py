"""The numbers and causes of every shipped rule, written down a second time."""

from exporter.collectors.everything import rule_book
from tests.faults.rules.limits import LIMITS, limits
from tests.faults.rules.shipped_rules import pinned_lines


def test_no_limit_moves_unseen() -> None:
    """Each rule decides by the numbers that are written down here a second time.

    Who changes a limit runs `python -m tests.faults.rules.edge_cases`, which writes its line of
    limits.txt, and shows both in one review.
    """
    found = {rule.id: limits(rule) for rule in rule_book().rules}
    pinned = {line.split()[0]: line for line in pinned_lines(LIMITS)}
    changed = [name for name in {*found, *pinned} if found.get(name) != pinned.get(name)]
    assert not changed, sorted(changed)
