"""The only thing that remembers between two collections: which faults hold, since when, and why."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from exporter.faults.alert_state import Binding, Change, Slot, Verdicts
from exporter.faults.entities.aliases import Naming
from exporter.faults.entities.entity import Entity, Scene
from exporter.faults.evidence import describe, first_moment, kin_of
from exporter.faults.expr.compile import Situation
from exporter.faults.expr.syntax import Value
from exporter.faults.observation import Observer, View
from exporter.faults.report import Saying
from exporter.faults.rules.loader import RuleBook
from exporter.faults.rules.rule import Rule
from exporter.model.verdict import Conclusions, Key

MAX_BINDINGS = 5_000
MAX_OF_ONE_RULE = 200
"""Components one rule may find something about at a time: a flood must not cost the others."""

log = logging.getLogger("exporter.faults")


@dataclass(frozen=True, slots=True)
class KindTraits:
    """What the judge must know of kinds: label types, kin words, and whose faults end with them."""

    hw_types: Mapping[str, str]
    kin: Mapping[str, Mapping[str, str]]
    ending: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Round:
    """One judgement while it is made: `touched` are the bindings looked at."""

    view: View
    bound: dict[str, set[Key]]
    touched: set[Slot] = field(default_factory=set)
    unknown: dict[Key, list[str]] = field(default_factory=dict)

    def note(self, slot: Slot, *, is_unknown: bool) -> None:
        """A binding was looked at."""
        self.touched.add(slot)
        rules = self.unknown.setdefault(slot.key, []) if is_unknown else None
        if rules is not None and (not rules or rules[-1] != slot.rule):
            rules.append(slot.rule)


NOBODY = Entity(("", ""), "")


class Judge:
    """Judges one scene after the other by the rules of a book.

    `stopwatch` gives seconds of any origin, for the time that rules take.
    """

    def __init__(self, book: RuleBook, traits: KindTraits, stopwatch: Callable[[], float]) -> None:
        self._rules = {rule.id: rule for rule in book.rules}
        self._traits = traits
        self._stopwatch = stopwatch
        types = reversed([*traits.hw_types.items()])
        kind_of = {kind: kind for kind in traits.hw_types} | {of: kind for kind, of in types}
        self.observer = Observer(tuple(book.rules), traits.kin, Naming(kind_of))
        self.bindings: dict[Slot, Binding] = {}
        self._saying = Saying(self._rules, traits.hw_types, dict(book.skipped))
        self._broken: set[str] = set()
        self._ended: dict[Slot, float] = {}
        self._rule_seconds = 0.0

    def judge(self, scene: Scene) -> Conclusions:
        """Everything that holds now, with what it follows from."""
        started = self._stopwatch()
        view = self.observer.observe(scene)
        for event in scene.events:
            self._saying.count_event(event)
        round_ = _Round(view, self._bound())
        for rule in self._rules.values():
            if rule.id not in self._broken:
                self._judge_rule(rule, round_)
        self._end_untouched(view, round_.touched)
        self._rule_seconds += self._stopwatch() - started
        self._saying.rule_seconds = self._rule_seconds
        return self._saying.conclude(view, self._active(), round_.unknown)

    def recall(self, bindings: Mapping[Slot, Binding]) -> None:
        """Take over faults that held before a restart within the same boot."""
        for slot, binding in bindings.items():
            if slot.rule in self._rules:
                self.bindings[slot] = binding

    def kept(self) -> dict[Slot, Binding]:
        """The active faults whose evidence are events: nothing tells of them a second time."""
        return {
            slot: binding
            for slot, binding in self.bindings.items()
            if binding.is_active and self._rules[slot.rule].is_from_events
        }

    def _active(self) -> list[tuple[Slot, Binding]]:
        return [(slot, binding) for slot, binding in self.bindings.items() if binding.is_active]

    def _bound(self) -> dict[str, set[Key]]:
        """By rule the entities it had found something about."""
        bound: dict[str, set[Key]] = {}
        for slot in self.bindings:
            bound.setdefault(slot.rule, set()).add(slot.key)
        return bound

    def _judge_rule(self, rule: Rule, now: _Round) -> None:
        """Judge one rule; one that breaks costs itself and is not asked again."""
        situation = Situation(now.view.now, self.observer.history, now.view, NOBODY, {})
        bound = now.bound.get(rule.id, set())
        try:
            for entity in self._candidates(rule, now.view, bound):
                situation.entity = entity
                if rule.kin:
                    self._judge_with_kin(rule, situation, now)
                    continue
                is_bound = entity.key in bound
                if not is_bound and entity.is_fresh and rule.when.meaning(situation) is False:
                    continue  # as nearly always: there is nothing to end, and nothing begins
                holds = _gated(rule, situation, is_bound=is_bound)
                if holds is not False or is_bound:
                    slot = Slot(rule.id, entity.key)
                    now.note(slot, is_unknown=self._judge_slot(rule, slot, holds, situation, now))
        except Exception:  # a rule breaks: it costs itself only
            log.exception("rule %s broke and is left out from now on", rule.id)
            self._broken.add(rule.id)
            self._saying.count_skipped("broken")

    def _candidates(self, rule: Rule, view: View, bound: set[Key]) -> Iterable[Entity]:
        """The entities for which the rule can say anything."""
        entities = view.by_kind.get(rule.entity, [])
        needed = rule.needed
        if needed is None or rule.entity == "node" or not all(map(view.is_heard, needed)):
            return entities
        told = {address for wanted in needed for address in view.memory.addresses_with(wanted.what)}
        if not told and not bound:
            return ()
        return [e for e in entities if e.key in bound or not told.isdisjoint(e.addresses)]

    def _judge_with_kin(self, rule: Rule, situation: Situation, now: _Round) -> None:
        """Judge one entity together with its kin, one partner after the other."""
        entity = situation.entity
        kinds = self._traits.kin.get(rule.entity, {})
        kin = kin_of(entity, {word: kinds[word] for word in rule.kin - {rule.bound_kin}}, now.view)
        for partner in self._partners(rule, entity, now.view):
            situation.kin = kin if partner is None else {**kin, rule.bound_kin: partner}
            slot = Slot(rule.id, entity.key, partner.key if partner else None)
            holds = _gated(rule, situation, is_bound=slot in self.bindings)
            now.note(slot, is_unknown=self._judge_slot(rule, slot, holds, situation, now))

    def _partners(self, rule: Rule, entity: Entity, view: View) -> Iterator[Entity | None]:
        """The kin that the rule binds, one after the other; None where it binds none."""
        if not rule.bound_kin:
            yield None
            return
        kind = self._traits.kin[rule.entity][rule.bound_kin]
        for key in dict.fromkeys(view.graph.used(entity.key)):
            if key[0] == kind and key in view.entities:
                yield view.entities[key]

    def _judge_slot(
        self,
        rule: Rule,
        slot: Slot,
        holds: bool | None,  # noqa: FBT001 - one of three values
        situation: Situation,
        now: _Round,
    ) -> bool:
        """Judge one binding; whether it could not be judged."""
        view = now.view
        binding = self.bindings.get(slot)
        if binding is None:
            if not holds or self._is_full(slot, now):
                return holds is None
            onset = first_moment(rule, situation, view, after=self._ended.get(slot, -1.0))
            binding = self.bindings[slot] = Binding(onset, view.now)
        ended = (
            bool(rule.until) and view.ended_at(situation.entity, rule.until) > binding.last_evidence
        )
        clear = ended or _clears(rule, situation, holds=holds)
        clear_for_secs = 0.0 if ended else rule.clear_for_secs
        change = binding.judge(Verdicts(holds, clear), view.now, rule.for_secs, clear_for_secs)
        if binding.is_active and holds:
            describe(rule, binding, situation, view)
        self._note(slot, change)
        if binding.is_idle:
            self.bindings.pop(slot, None)
        return holds is None and (clear is None or not binding.is_active)

    def _is_full(self, slot: Slot, now: _Round) -> bool:
        """Whether no more can be remembered of this rule, or of all."""
        bound = now.bound.setdefault(slot.rule, set())
        if len(bound) >= MAX_OF_ONE_RULE or len(self.bindings) >= MAX_BINDINGS:
            return slot.key not in bound
        bound.add(slot.key)
        return False

    def _note(self, slot: Slot, change: Change) -> None:
        if change is Change.NONE:
            return
        if change in (Change.CLEARED, Change.UNJUDGED):
            self._saying.end(slot.rule, slot.key, change)
            binding = self.bindings.pop(slot, None)
            if binding is not None:
                self._remember_end(slot, binding.seen)

    def _remember_end(self, slot: Slot, ended: float) -> None:
        """What happened before the end is not when the fault begins that comes after it."""
        self._ended.pop(slot, None)
        self._ended[slot] = ended
        if len(self._ended) > MAX_BINDINGS:
            del self._ended[next(iter(self._ended))]

    def _end_untouched(self, view: View, touched: set[Slot]) -> None:
        """What is about something that is not there any more is over, or in doubt."""
        for slot in [slot for slot in self.bindings if slot not in touched]:
            binding = self.bindings[slot]
            if not binding.is_active or self._is_gone(slot, view):
                if binding.is_active:
                    self._saying.end(slot.rule, slot.key, Change.CLEARED)
                del self.bindings[slot]
                continue
            rule = self._rules[slot.rule]
            verdicts = _of_vanished(rule, view)
            change = binding.judge(verdicts, view.now, rule.for_secs, rule.clear_for_secs)
            self._note(slot, change)

    def _is_gone(self, slot: Slot, view: View) -> bool:
        """Whether the entity or its partner has ended, as far as its source was read."""
        kinds = {key[0] for key in (slot.key, slot.partner) if key and key not in view.entities}
        if slot.partner and not kinds:
            return True  # both are there, but have no longer to do with each other
        return bool(kinds & self._traits.ending & view.scene.read_kinds)


def _of_vanished(rule: Rule, view: View) -> Verdicts:
    """What can be said of something that is not there: that events it needs have passed."""
    if rule.until:
        return Verdicts(when=False, clear=False)
    if rule.clear is None and rule.needed and all(map(view.is_heard, rule.needed)):
        return Verdicts(when=False, clear=True)
    return Verdicts(None, None)


def _gated(rule: Rule, situation: Situation, *, is_bound: bool) -> bool | None:
    """Whether the condition holds where the gate is open; unknown where either is.

    Where the gate is closed the rule is off: it does not hold, but a fault that it had found
    before is not over while its evidence is unknown.
    """
    holds = _believed(rule, situation, rule.when.meaning(situation), doubted=False)
    if holds is False or rule.only_if is None:
        return holds
    is_open = rule.only_if.meaning(situation)
    if is_open is False:
        is_doubted = is_bound or not situation.entity.is_fresh
        return None if is_doubted and holds is None else False
    return None if is_open is None else holds


def _clears(rule: Rule, situation: Situation, *, holds: bool | None) -> bool | None:
    if rule.clear is None:
        if rule.until and holds is False:
            return False  # an event is over with what ends it, not when it leaves a window
        return None if holds is None else not holds
    return _believed(rule, situation, rule.clear.meaning(situation), doubted=True)


def _believed(rule: Rule, situation: Situation, value: Value, *, doubted: bool) -> bool | None:
    """The value as a verdict; what would speak for health is not believed of old values."""
    if value is None or situation.entity.is_fresh or rule.needed is not None:
        return None if value is None else bool(value)
    return None if bool(value) is doubted else bool(value)
