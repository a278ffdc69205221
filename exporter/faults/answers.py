"""Remembers the answers of rules while what they read is the same, and time changes nothing."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field

from exporter.faults.alert_state import Alert
from exporter.faults.last_made import LastMade
from exporter.faults.observation import View
from exporter.faults.rules.rule import Rule
from exporter.faults.values import Entity, RulesByKey
from exporter.model.verdict import Key
from exporter.record import dataclass

NONE_KNOWN: frozenset[Key] = frozenset()


@dataclass(slots=True)
class RuleAnswer:
    """The components of which a rule said something; of all others the rule did not hold.

    `standing` are the alerts of those with a fault that goes on; `silent` and `unknown` may have
    none. Time alone changes nothing up to the boot time `until`.
    """

    silent: list[Key] = field(default_factory=list)
    unknown: list[Key] = field(default_factory=list)
    standing: dict[Key, Alert] = field(default_factory=dict)
    until: float = math.inf

    def joined(self, anew: "RuleAnswer", of: set[Key], order: Sequence[Entity]) -> "RuleAnswer":
        """Return the answer with those components replaced that were evaluated anew."""

        def both(known: list[Key], new: Iterable[Key]) -> list[Key]:
            found = {*known} - of | {*new}
            return known if found == {*known} else [it.key for it in order if it.key in found]

        others = {key: alert for key, alert in self.standing.items() if key not in of}
        return RuleAnswer(
            both(self.silent, anew.silent),
            both(self.unknown, anew.unknown),
            others | anew.standing,
            min(self.until, anew.until),
        )


class KeptAnswers:
    """The last answers of rules."""

    def __init__(self) -> None:
        self._kept: dict[str, RuleAnswer] = {}
        self._read: tuple[object, object] = (None, None)  # events and graph of the last evaluation
        self._known: object = None  # the components with an alert, at the last evaluation
        self._timed: dict[str, float] = {}  # rules whose answers time alone changes, and from when
        self._noted: LastMade[tuple[RulesByKey, RulesByKey]] = LastMade()

    def due(
        self, view: View, rules: Iterable[Rule], known: Mapping[str, AbstractSet[Key]]
    ) -> Iterator[tuple[Rule, Sequence[Entity] | None]]:
        """Yield the rules to evaluate now, each with the components to evaluate; None for all.

        Of all other rules the last answer holds. `known` are by rule the components with an alert:
        the same object as the last time only if no alert has begun, changed or ended since.
        """
        events, graph = self._read
        self._read = (view.events_mark, view.graph)
        other_events, other_graph = events != view.events_mark, graph is not view.graph
        now, changed, new = view.now, view.components.rules, view.components.new
        if known is self._known and not other_events and not other_graph:
            timed = self._timed
            rules = [it for it in rules if it.id in changed or timed.get(it.id, now) < now]
        self._known = known
        for rule in rules:
            kept = self._kept.get(rule.id)
            if (
                kept is None
                or kept.until < now
                or kept.standing.keys() != known.get(rule.id, NONE_KNOWN)
                or (other_events and rule.reads_events)
                or (other_graph and rule.reads_graph)
            ):
                yield rule, None
            elif rule.id in changed:
                is_own = not rule.related and rule.needed is None
                yield rule, new.get(rule.entity) if is_own else None

    def keep(self, rule: Rule, answer: RuleAnswer, of: Sequence[Entity] | None, view: View) -> None:
        """Keep an answer of all components, or of some that joins the last answer."""
        if of is not None:
            new, order = {entity.key for entity in of}, view.by_kind.get(rule.entity, ())
            answer = self._kept[rule.id].joined(answer, new, order)
        self._kept[rule.id] = answer
        self._timed.pop(rule.id, None)
        if answer.until != math.inf:
            self._timed[rule.id] = answer.until

    def forget(self, rule: Rule) -> None:
        """Forget the answer of a rule that failed."""
        self._kept.pop(rule.id, None)

    def standing(self) -> Iterator[tuple[str, Mapping[Key, Alert]]]:
        """Yield the rules with faults that go on, each with their alerts by component."""
        return ((rule, kept.standing) for rule, kept in self._kept.items() if kept.standing)

    def noted(self) -> tuple[RulesByKey, RulesByKey]:
        """Return the unknown rules by component, and the silent rules by component."""
        return self._noted.made(
            [it.unknown for it in self._kept.values()] + [it.silent for it in self._kept.values()],
            lambda: (
                _by_key((rule, kept.unknown) for rule, kept in self._kept.items()),
                _by_key((rule, kept.silent) for rule, kept in self._kept.items()),
            ),
        )


def _by_key(rows: Iterable[tuple[str, Iterable[Key]]]) -> RulesByKey:
    found: dict[Key, list[str]] = {}
    for rule, keys in rows:
        for key in keys:
            found.setdefault(key, []).append(rule)
    return found
