"""Every shipped rule on a table: it holds, does not hold, cannot tell, and clears."""

from pathlib import Path

import pytest

from exporter.model.verdict import FaultState
from tests.faults.rules import board_table, bus_table, network_table, own_table, storage_table
from tests.faults.rules.trials import (
    LONGEST_SECS,
    Row,
    Trial,
    clearing,
    first_holding,
    shipped,
    tables_of_collectors,
)

ROWS: tuple[Row, ...] = (
    *bus_table.ROWS,
    *board_table.ROWS,
    *storage_table.ROWS,
    *network_table.ROWS,
    *own_table.ROWS,
    *(row for table in tables_of_collectors("rule_table") for row in table.ROWS),
)
TOPICS = (
    *("pcie", "memory", "cpu", "node", "storage", "filesystem", "network", "infiniband"),
    *("raid", "workload", "exporter", "collectives", "expect", "services", "imex"),
)

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)


@each_row
def test_it_holds(row: Row) -> None:
    """The evidence makes a fault, with a sentence that leaves nothing open."""
    said = first_holding(Trial(row), row.holds)
    (fault,) = said.active
    assert fault.severity == (row.severity or fault.severity)
    assert row.summary in fault.summary
    assert "unknown" not in fault.summary
    assert fault.evidence


@each_row
def test_it_does_not_hold(row: Row) -> None:
    """What looks alike but is healthy makes no fault."""
    trial = Trial(row)
    assert not any(trial.is_active(said) for said in trial.look(row.holds_not, trial.window_secs))


@each_row
def test_it_cannot_tell(row: Row) -> None:
    """Without the evidence nothing is concluded, and that is said or the rule is off."""
    trial = Trial(row, has_source=row.unknown is not None)
    said = [*trial.look(row.unknown or {}, trial.window_secs)]
    assert not any(map(trial.is_active, said))
    assert trial.is_unknown(said[-1]) is not row.is_gated


@each_row
def test_it_clears(row: Row) -> None:
    """When the evidence is gone the fault ends as cleared, not as unjudged.

    What only a repair ends stays for a day without one, and is gone at the look that sees it.
    """
    trial = Trial(row)
    first_holding(trial, row.holds)
    if trial.rule.until and trial.rule.clear is None:
        assert all(map(trial.is_active, trial.look(row.clears, LONGEST_SECS)))
        if trial.rule.until != ("boot",):
            assert not trial.is_active(trial.after(trial.rule.until[0]))
        return
    assert clearing(trial, row.clears) is FaultState.CLEARED


def test_what_begins_with_an_event_names_its_end() -> None:
    """A rule that events alone begin names the state or the event that ends it, or why time does.

    An event that says that it is over (`ended=no`) is such an end.
    """
    for rule in shipped().rules:
        counted = rule.when.looks_at_events()
        says_its_end = any(("ended", ("no",)) in wanted.filters for wanted in counted)
        if rule.needed and rule.clear is None and not says_its_end:
            assert rule.until or rule.ends_by_time, rule.id


def test_every_rule_is_on_the_table() -> None:
    """No rule of these topics ships untried."""
    rules = {rule.id for rule in shipped().rules if Path(rule.file).stem in TOPICS}
    assert {row.rule for row in ROWS} == rules


def test_the_shipped_files_are_without_a_mistake() -> None:
    """No file is left out."""
    assert not shipped().mistakes


def test_what_is_critical_can_be_acted_on() -> None:
    """A critical rule names an action; every rule a cause can hide is no cause of itself."""
    for rule in shipped().rules:
        assert rule.severity != "critical" or rule.action != "none", rule.id
        assert all(cause.rule != rule.id or cause.via != "same" for cause in rule.explained_by)
