"""Evaluates the rules, and keeps the active faults between two evaluations."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from types import MappingProxyType

from exporter.faults.alert_state import Alert, AlertKey, AlertState, AlertStore, Change
from exporter.faults.answers import NONE_KNOWN, KeptAnswers, RuleAnswer
from exporter.faults.conditions import clears, gated, holds_after
from exporter.faults.entities.graph import AliasIndex
from exporter.faults.evidence import describe, first_moment, related_of
from exporter.faults.expr.compile import EvalContext
from exporter.faults.observation import Observer, View
from exporter.faults.report import ReportBuilder
from exporter.faults.root_cause import confirmed, standing_of
from exporter.faults.rules.loader import RuleBook
from exporter.faults.rules.rule import Rule
from exporter.faults.subject import Subjects
from exporter.faults.values import Entity, Scene
from exporter.model.verdict import Conclusions, Key, dated
from exporter.record import dataclass

log = logging.getLogger("exporter.faults")


@dataclass(slots=True)
class _Round:
    """The state of one evaluation."""

    view: View
    known: Mapping[str, AbstractSet[Key]]  # by rule the components with an alert
    touched: dict[str, set[Key]] = field(default_factory=dict)  # those that were evaluated


NOBODY = Entity(("", ""), "")
NO_RELATED: Mapping[str, Entity] = MappingProxyType({})


class Evaluator:
    """Evaluates one scene after the other by the rules of a book.

    `stopwatch` returns seconds of any origin, to measure the time of rules. A longer pause between
    two scenes than `longest_pause_secs` does not count towards the `for` of a rule.
    """

    def __init__(
        self,
        book: RuleBook,
        subjects: Subjects,
        stopwatch: Callable[[], float],
        longest_pause_secs: float = math.inf,
    ) -> None:
        self._rules = {rule.id: rule for rule in book.rules}
        traits = self._traits = subjects.traits
        self._stopwatch = stopwatch
        self._longest_pause_secs = longest_pause_secs
        types = reversed([*traits.hw_types.items()])
        kind_of = {kind: kind for kind in traits.hw_types} | {of: kind for kind, of in types}
        self.observer = Observer(tuple(book.rules), subjects, AliasIndex(kind_of))
        self.store = AlertStore()
        self._report = ReportBuilder(
            self._rules, traits, dict(book.skipped), subjects.counted_elsewhere
        )
        self._answers = KeptAnswers()
        self._broken: set[str] = set()
        self._rule_seconds = 0.0

    def take(self, book: RuleBook, subjects: Subjects) -> None:
        """Replace the rule book; faults of rules that remain go on."""
        self._rules = {rule.id: rule for rule in book.rules}
        self._traits = subjects.traits
        self._answers = KeptAnswers()
        self.store.keep_only(self._rules)
        self._broken.clear()
        self.observer.learn(tuple(book.rules), subjects)
        self._report.take(self._rules, dict(book.skipped))

    def evaluate(self, scene: Scene) -> Conclusions:
        """Return the conclusions of this scene."""
        started = self._stopwatch()
        before = self.observer.now
        view = self.observer.observe(scene)
        if view.now - before > self._longest_pause_secs:
            for alert in self.store.alerts.values():
                alert.seen = alert.seen if alert.is_active else view.now
        for event in scene.events:
            self._report.count_event(event)
        round_ = _Round(view, self.store.known())
        self._evaluate_rules(round_)
        self._end_untouched(round_)
        self._confirm(round_)
        self._rule_seconds += self._stopwatch() - started
        self._report.rule_seconds = self._rule_seconds
        moved = self.store.settle()
        alerts = self.store.alerts
        return self._report.conclude(view, alerts, *self._answers.noted(), have_moved=moved)

    def _evaluate_rules(self, round_: _Round) -> None:
        """Evaluate the rules that may have another answer; the faults of all others stand."""
        rules = [rule for rule in self._rules.values() if rule.id not in self._broken]
        for rule, changed in self._answers.due(round_.view, rules, round_.known):
            answer = self._evaluate_rule(rule, changed, round_)
            if answer is not None:
                self._answers.keep(rule, answer, changed, round_.view)
        self.store.have_moved |= bool(round_.touched)
        for rule_id, alerts in self._answers.standing():
            round_.touched.setdefault(rule_id, set()).update(alerts)
            for alert in alerts.values():
                alert.stand(round_.view.now)

    def clear(self, rule: str, key: Key | None, now: float) -> None:
        """End the faults of this rule, of one component or of all, until new evidence comes."""
        for of, alert in [*self.store.alerts.items()]:
            if of.rule == rule and key in (None, of.key) and alert.is_active:
                self._report.end(*of, Change.CLEARED)
                self.store.clear(of, now)

    def recall(
        self,
        alerts: Mapping[AlertKey, Alert],
        ended: Mapping[AlertKey, float] | None = None,
        cleared: Mapping[AlertKey, float] | None = None,
    ) -> None:
        """Take over faults that were active, ended or cleared before a restart."""
        self.store.alerts |= alerts
        self.store.ended |= ended or {}
        self.store.cleared |= cleared or {}
        self.store.keep_only(self._rules)

    def kept(self) -> dict[AlertKey, Alert]:
        """Return the active faults to save: from events, or from a comparison with the past."""
        return {
            key: alert
            for key, alert in self.store.alerts.items()
            if alert.is_active
            and (self._rules[key.rule].is_from_events or self._rules[key.rule].compares_with_past)
        }

    def _confirm(self, round_: _Round) -> None:
        """Begin the waiting faults whose consequence has begun."""
        rows = self.store.alerts.items()
        while waits := [row for row in rows if row[1].is_waiting and not row[1].is_confirmed]:
            waiting, active = (
                [standing_of(self._rules[rule], key, alert) for (rule, key), alert in found]
                for found in (waits, [row for row in rows if row[1].is_active])
            )
            causes = confirmed(waiting, active, round_.view.past_graph)
            if not causes:
                return
            for cause in causes:  # whose own causes may be waiting as well
                self.store.alerts[AlertKey(cause.rule.id, cause.key)].is_confirmed = True
                entity = round_.view.entities.get(cause.key)
                self._evaluate_rule(cause.rule, [entity] if entity else [], round_)

    def _evaluate_rule(
        self, rule: Rule, only: Sequence[Entity] | None, round_: _Round
    ) -> RuleAnswer | None:
        """Evaluate one rule for these components, None for all; a rule that fails is disabled."""
        try:
            known = round_.known.get(rule.id, NONE_KNOWN)
            candidates = self._candidates(rule, round_.view, known) if only is None else only
            # Without a later moment, a sample of the last evaluation seems to be one of this.
            answer = RuleAnswer(until=math.inf if round_.view.is_later else -math.inf)
            if candidates:  # else the functions of the rule, made at first use, are not needed
                self._evaluate_candidates(rule, candidates, known, round_, answer)
        except Exception:  # a rule fails: only this rule is disabled
            log.exception("rule %s failed and is disabled", rule.id)
            self._broken.add(rule.id)
            self._answers.forget(rule)
            self._report.count_skipped("broken")
            return None
        return answer

    def _evaluate_candidates(
        self,
        rule: Rule,
        candidates: Sequence[Entity],
        known: AbstractSet[Key],
        round_: _Round,
        answer: RuleAnswer,
    ) -> None:
        """Evaluate one rule for these components; `known` have an alert of it."""
        view = round_.view
        ctx = EvalContext(
            view.now, self.observer.history, view, NOBODY, {}, lasts_until=answer.until
        )
        words = self._traits.related.get(rule.entity, {})
        kinds = {word: words[word] for word in rule.related}  # empty for most rules
        can_be_silent = rule.can_be_silent and rule.entity not in self._traits.ending
        has_pasts = bool(self.store.cleared or (rule.clear is not None and self.store.ended))
        holds = rule.when.evaluate
        for entity in candidates:
            ctx.entity = entity
            ctx.related = related_of(entity, kinds, view) if kinds else NO_RELATED
            if entity.is_fresh and entity.key not in known:  # no alert can end
                value = holds(ctx)
                if value is False:  # as nearly always
                    if can_be_silent and rule.is_silent(ctx):
                        answer.silent.append(entity.key)
                    continue
                if value is None and not has_pasts:  # as of fields that nobody reports
                    if rule.only_if is None or rule.only_if.evaluate(ctx) is not False:
                        answer.unknown.append(entity.key)
                    continue
            if not self._evaluate_one(rule, ctx, round_, answer):
                ctx.lasts_until = -math.inf
            ctx.after = -math.inf
        answer.until = ctx.lasts_until

    def _candidates(self, rule: Rule, view: View, known: AbstractSet[Key]) -> Sequence[Entity]:
        """Find the entities for which the rule may hold or has an alert."""
        entities = view.by_kind.get(rule.entity, ())
        needed = rule.needed
        if needed is None or rule.entity == "node" or not all(map(view.has_source, needed)):
            return entities
        with_events = {
            address for wanted in needed for address in view.memory.addresses_with(wanted.what)
        }
        if not with_events and not known:
            return ()
        return [e for e in entities if e.key in known or not with_events.isdisjoint(e.addresses)]

    def _evaluate_one(
        self, rule: Rule, ctx: EvalContext, round_: _Round, answer: RuleAnswer
    ) -> bool:
        """Evaluate one rule for the entity of the context; tell whether a fault goes on."""
        key = AlertKey(rule.id, ctx.entity.key)
        alert = self.store.alerts.get(key)
        ctx.after = self.store.cleared.get(key, -math.inf)
        if rule.clear is not None:
            ctx.after = max(ctx.after, self.store.ended.get(key, -math.inf))
        if alert is None and rule.until:  # what was repaired does not begin anew by what was before
            ctx.after = max(ctx.after, round_.view.repaired_at(ctx.entity, rule.until))
        holds = gated(rule, ctx, is_known=alert is not None)
        if alert is None:
            if not holds or self.store.is_full(rule.id):
                if holds is None:
                    answer.unknown.append(key.key)
                return False
            onset = first_moment(rule, ctx, round_.view, after=self.store.ended.get(key, -math.inf))
            alert = self.store.add(key, Alert(onset, round_.view.now))
        round_.touched.setdefault(rule.id, set()).add(key.key)
        clear = self._take_verdict(rule, alert, ctx, round_.view, holds=holds)
        if holds is None and (clear is None or not alert.is_active):
            answer.unknown.append(key.key)
        goes_on = bool(holds) and not clear and alert.state is AlertState.ACTIVE
        if goes_on:
            answer.standing[key.key] = alert
        return goes_on

    def _take_verdict(
        self, rule: Rule, alert: Alert, ctx: EvalContext, view: View, *, holds: bool | None
    ) -> bool | None:
        """Bring the alert to its next state; return whether its end was seen."""
        repaired = view.repaired_at(ctx.entity, rule.until)
        is_repaired = repaired > alert.active_since and not holds_after(rule, ctx, repaired)
        clear = is_repaired or clears(rule, ctx, holds=holds)
        if clear and holds and alert.is_active:
            holds = holds_after(rule, ctx, alert.end_seen)
        if not holds:  # the values are those of the last evaluation, or of one before
            alert.evidence = dated(alert.evidence, view.scene.wall_of(alert.seen))
        clear_for_secs = 0.0 if is_repaired else rule.clear_for_secs
        change = alert.step(holds, clear, view.now, rule.for_secs, clear_for_secs)
        if alert.is_active and holds:
            describe(rule, alert, ctx, view)
        if change in (Change.CLEARED, Change.UNJUDGED):
            self._end(AlertKey(rule.id, ctx.entity.key), change)
        elif alert.state is AlertState.INACTIVE:
            del self.store.alerts[AlertKey(rule.id, ctx.entity.key)]
        return clear

    def _end(self, key: AlertKey, change: Change) -> None:
        self._report.end(*key, change)
        self.store.end(key)

    def _end_untouched(self, round_: _Round) -> None:
        """End alerts of components that are gone; evaluate the others without fresh fields."""
        view = round_.view
        touched = round_.touched
        for key in [key for key in self.store.alerts if key.key not in touched.get(key.rule, ())]:
            self.store.have_moved = True
            alert = self.store.alerts[key]
            if not alert.is_active:
                del self.store.alerts[key]
            elif self._is_gone(key, view):
                self._end(key, Change.CLEARED)
            else:
                rule = self._rules[key.rule]
                names = self.observer.aliases.addresses_of(key.key)
                gone = Entity(key.key, key.key[1], addresses=names, is_fresh=False)
                ctx = EvalContext(view.now, self.observer.history, view, gone, {})
                ctx.after = self.store.cleared.get(key, -math.inf)
                holds = None if rule.id in self._broken else gated(rule, ctx, is_known=True)
                self._take_verdict(rule, alert, ctx, view, holds=holds)

    def _is_gone(self, key: AlertKey, view: View) -> bool:
        """Whether the entity has ended, if its source was read, or has a new key."""
        kind = key.key[0]
        is_renamed = self.observer.aliases.key_of(key.key) not in (None, key.key)
        is_read = kind in self._traits.ending and kind in view.scene.read_kinds
        return is_renamed or (is_read and key.key not in view.entities)
