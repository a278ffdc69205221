"""Remembers the answers of rules while what they read is the same, and time changes nothing."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import field

from exporter.faults.observation import View
from exporter.faults.rules.rule import Rule
from exporter.faults.values import Entity
from exporter.model.verdict import Key
from exporter.record import dataclass


@dataclass(slots=True)
class RuleAnswer:
    """The components of which a rule said something; of all others the rule did not hold.

    `standing` are those with a fault that goes on, `silent` and `unknown` have none. Time alone
    changes nothing up to the boot time `until`.
    """

    silent: list[Key] = field(default_factory=list)
    unknown: list[Key] = field(default_factory=list)
    standing: set[Key] = field(default_factory=set)
    until: float = math.inf

    def joined(self, anew: "RuleAnswer", of: set[Key], order: Sequence[Entity]) -> "RuleAnswer":
        """Return the answer with those components replaced that were evaluated anew."""

        def both(known: Iterable[Key], new: Iterable[Key]) -> list[Key]:
            found = {*known} - of | {*new}
            return [entity.key for entity in order if entity.key in found] if found else []

        return RuleAnswer(
            both(self.silent, anew.silent),
            both(self.unknown, anew.unknown),
            self.standing - of | anew.standing,
            min(self.until, anew.until),
        )


class KeptAnswers:
    """The last answers of rules."""

    def __init__(self) -> None:
        self._kept: dict[str, RuleAnswer] = {}
        self._read: tuple[object, object] = (None, None)  # events and graph of the last evaluation
        self._anew: dict[str, list[Entity]] = {}

    def look(self, view: View, rules: Iterable[Rule]) -> None:
        """Forget the answers of rules whose fields, events or graph have changed."""
        events, graph = self._read
        self._read = (view.events_mark, view.graph)
        other_events, other_graph = events != view.events_mark, graph is not view.graph
        self._anew.clear()
        changes = view.changes
        for rule in rules:
            if (other_events and rule.reads_events) or (other_graph and rule.reads_graph):
                self._kept.pop(rule.id, None)
            elif rule.id in changes.rules:
                if rule.related or rule.needed is not None or rule.entity not in changes.new:
                    self._kept.pop(rule.id, None)
                else:
                    self._anew[rule.id] = changes.new[rule.entity]

    def recall(self, rule: Rule, now: float) -> tuple[RuleAnswer, Sequence[Entity]] | None:
        """Return the answer of the rule, and the components that must be evaluated anew.

        None if there is no answer, or it may be another by this boot time.
        """
        kept = self._kept.get(rule.id)
        if kept is None or kept.until < now:
            return None
        return kept, self._anew.get(rule.id, ())

    def keep(self, rule: Rule, answer: RuleAnswer) -> None:
        """Keep an answer until it ends, or what the rule reads is another."""
        self._kept[rule.id] = answer
