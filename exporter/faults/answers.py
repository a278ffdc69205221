"""Remembers the answers of rules without alerts, while what they read is the same."""

from dataclasses import field

from exporter.faults.observation import View
from exporter.faults.rules.rule import Rule
from exporter.model.verdict import Key
from exporter.record import dataclass


@dataclass(slots=True)
class RuleAnswer:
    """The components for which a rule was silent or unknown; for all others it did not hold."""

    silent: list[Key] = field(default_factory=list)
    unknown: list[Key] = field(default_factory=list)


class KeptAnswers:
    """The last answer of each rule that found nothing, with what the rule read for it."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[object, ...], RuleAnswer]] = {}

    def recall(self, rule: Rule, view: View) -> RuleAnswer | None:
        """Return the answer of the rule; None if there is none, or the rule reads something new."""
        kept = self._kept.get(rule.id)
        return None if kept is None or kept[0] != _read(rule, view) else kept[1]

    def keep(self, rule: Rule, view: View, answer: RuleAnswer | None) -> None:
        """Keep an answer that lasts until what the rule reads is another; None does not."""
        if answer is not None:
            self._kept[rule.id] = (_read(rule, view), answer)


def _read(rule: Rule, view: View) -> tuple[object, ...]:
    """Return a mark of all that the rule reads: another one once anything of it has changed."""
    events = view.events_mark if rule.reads_events else None
    return view.changes.last(rule.id), events, view.graph if rule.related else None
