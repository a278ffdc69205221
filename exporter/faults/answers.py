"""Remembers the answers of rules while what they read is the same, and time changes nothing."""

from dataclasses import field

from exporter.faults.observation import View
from exporter.faults.rules.rule import Rule
from exporter.model.verdict import Key
from exporter.record import dataclass


@dataclass(slots=True)
class RuleAnswer:
    """The components of which a rule said something; of all others the rule did not hold.

    `standing` are those with a fault that goes on, `silent` and `unknown` have none.
    """

    silent: list[Key] = field(default_factory=list)
    unknown: list[Key] = field(default_factory=list)
    standing: set[Key] = field(default_factory=set)


class KeptAnswers:
    """The last answer of each rule, with what the rule read for it."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[object, ...], float, RuleAnswer]] = {}

    def recall(self, rule: Rule, view: View) -> RuleAnswer | None:
        """Return the answer of the rule; None if there is none, or it may be another by now."""
        kept = self._kept.get(rule.id)
        if kept is None or kept[1] < view.now or kept[0] != _read(rule, view):
            return None
        return kept[2]

    def keep(self, rule: Rule, view: View, answer: RuleAnswer, until: float) -> None:
        """Keep an answer up to this boot time, or until what the rule reads is another."""
        self._kept[rule.id] = (_read(rule, view), until, answer)


def _read(rule: Rule, view: View) -> tuple[object, ...]:
    """Return a mark of all that the rule reads: another one once anything of it has changed."""
    events = view.events_mark if rule.reads_events else None
    return view.changes.last(rule.id), events, view.graph if rule.reads_graph else None
