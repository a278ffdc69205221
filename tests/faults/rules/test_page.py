"""docs/RULES.md: every rule and every name is on it, in tables that do not break."""

import re

from exporter.faults.engine import rule_book
from exporter.faults.entities.kinds import VOCABULARY
from exporter.faults.rules.page import rules_page

PAGE = rules_page(rule_book().rules, VOCABULARY)


def test_every_rule_has_one_row() -> None:
    """A row of eight cells, linked to its runbook."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| [")]
    assert len(rows) == len(rule_book().rules)
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {10}


def test_every_name_is_there() -> None:
    """Who writes a rule finds what can be spoken of."""
    for kind, names in VOCABULARY.names.items():
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {kind} |")]
        assert all(f"`{name}" in row for name in names if not name.startswith("probe_"))
    assert "`probe_value[]` and `probe_metric[]`" in PAGE
    assert "`nfs_not_responding`" in PAGE
