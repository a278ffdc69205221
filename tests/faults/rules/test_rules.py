"""What holds of every shipped rule; that each holds, is silent and ends is in its scenes."""

from exporter.collectors.everything import rule_book
from tests.faults.rules.shipped_rules import at_first_look


def test_it_cannot_tell_without_evidence() -> None:
    """Where nothing is said and nobody reads events it is no fault, and not called well either."""
    for rule in rule_book().rules:
        said = at_first_look(rule, {})
        is_unknown = any(rule.id in rules for rules in said.unknown.values())
        assert not said.active
        assert rule.can_be_silent or is_unknown, rule.id


def test_what_begins_with_an_event_names_its_end() -> None:
    """A rule that events alone begin names the state or the event that ends it, or why time does.

    An event that says that it is over (`ended=no`) is such an end.
    """
    for rule in rule_book().rules:
        counted = rule.when.events
        says_its_end = any(("ended", ("no",)) in wanted.filters for wanted in counted)
        if rule.needed and rule.clear is None and not says_its_end:
            assert rule.until or rule.ends_by_time, rule.id


def test_the_shipped_files_are_without_a_mistake() -> None:
    """No file is left out."""
    assert not rule_book().mistakes


def test_what_is_critical_can_be_acted_on() -> None:
    """A critical rule names an action; every rule a cause can hide is no cause of itself."""
    for rule in rule_book().rules:
        assert rule.severity != "critical" or rule.action != "none", rule.id
        assert all(cause.rule != rule.id or cause.via != "same" for cause in rule.explained_by)
