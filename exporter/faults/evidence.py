"""From what a rule found to what is said of it: sentence, evidence, confidence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from exporter.faults.alert_state import Binding
from exporter.faults.entities.entity import Entity
from exporter.faults.events.store import number_of
from exporter.faults.expr.compile import Situation
from exporter.faults.expr.syntax import (
    Compare,
    Events,
    Literal,
    Name,
    Value,
)
from exporter.faults.observation import View
from exporter.faults.rules.rule import Condition, Leaf, Rule
from exporter.faults.rules.templates import EVENT, NAME
from exporter.model.event import Event
from exporter.model.verdict import Evidence

DOUBT_FACTOR = 0.8
"""What the confidence is multiplied with while a part of the evidence could not be judged."""

MAX_EVIDENCE = 8
MAX_RAW_CHARS = 512

Found: TypeAlias = tuple[Leaf, Value]
"""A part of a condition, and what it was found to be."""


def describe(rule: Rule, binding: Binding, situation: Situation, view: View) -> None:
    """Put sentence, evidence and confidence of this moment into the binding."""
    found = [(leaf, leaf.meaning(situation)) for leaf in rule.when.leaves]
    told = _told(found, situation, view)
    moment = max((events[-1].boottime for events in told), default=view.now)
    mark = (moment, sum(map(len, told)))
    if binding.summary and rule.needed is not None and mark == binding.described:
        return  # nothing has happened since
    binding.described = mark
    last = _last_event(rule, situation, view)
    pieces = _evidence(rule.when, found, situation, view)
    seen = {(e.name, e.raw, e.threshold if not e.raw else ""): e for e in pieces}
    binding.evidence = tuple(seen.values())[:MAX_EVIDENCE]
    binding.summary = rule.summary.fill(lambda name: _value(name, situation, last))
    doubt = DOUBT_FACTOR if _doubts(rule, found, situation) else 1.0
    binding.confidence = rule.confidence * doubt
    binding.last_evidence = moment
    if rule.escalate is not None and rule.escalate.meaning(situation):
        binding.is_escalated = True


def first_moment(rule: Rule, situation: Situation, view: View, *, after: float) -> float:
    """Since when, in seconds since boot, the condition holds that was just found to hold.

    Events up to `after` belong to a fault that has ended.
    """
    lasted = None if rule.lasts is None else rule.lasts(situation)
    if isinstance(lasted, (int, float)):
        return view.now - lasted
    found = [(leaf, leaf.meaning(situation)) for leaf in rule.when.leaves]
    told = _told(found, situation, view)
    moments = (event.boottime for events in told for event in events)
    return min((moment for moment in moments if moment > after), default=view.now)


def _told(found: Sequence[Found], situation: Situation, view: View) -> list[list[Event]]:
    """The events of each part of the condition that counts some and holds."""
    counted = (
        leaf.tree.left
        for leaf, value in found
        if isinstance(leaf.tree, Compare) and value is leaf.wanted
    )
    told = (view.of(situation.entity, wanted) for wanted in counted if isinstance(wanted, Events))
    return [events for events in told if events]


def _last_event(rule: Rule, situation: Situation, view: View) -> Event | None:
    found = [
        event
        for wanted in rule.when.looks_at_events()
        for event in (view.of(situation.entity, wanted) or [])[-1:]
    ]
    return max(found, key=lambda event: event.boottime, default=None)


def _value(name: Name, situation: Situation, last: Event | None) -> Value:
    if name.kin == EVENT:
        return None if last is None else last.fields.get(name.field)
    if not name.kin and name.field == NAME:
        return situation.entity.name
    owner = situation.whose(name.kin)
    return None if owner is None else owner.fields.get(name.key)


def _doubts(rule: Rule, found: Sequence[Found], situation: Situation) -> bool:
    """Whether a piece of the evidence, or the gate, could not be judged."""
    if any(value is None for _, value in found):
        return True
    return rule.only_if is not None and rule.only_if.meaning(situation) is None


def _evidence(
    condition: Condition, found: Sequence[Found], situation: Situation, view: View
) -> Iterator[Evidence]:
    """What was seen: the events, and each comparison that holds with what stood in it."""
    for counted in condition.looks_at_events():
        yield from _event_evidence(counted, situation, view)
    for leaf, value in found:
        tree = leaf.tree
        if value is None or bool(value) is not leaf.wanted:
            continue
        if isinstance(tree, Compare) and not isinstance(tree.left, Events):
            yield _comparison(leaf, tree, situation, view)
        elif isinstance(tree, Name):
            threshold = "is " + str(leaf.wanted).lower()
            yield Evidence(tree.text, bool(value), threshold, view.scene.wall)


def _comparison(leaf: Leaf, tree: Compare, situation: Situation, view: View) -> Evidence:
    (name, left), (other, right) = leaf.sides
    limit = right(situation)
    shown = f"{limit:g}" if isinstance(limit, float) else str(limit)
    if not isinstance(tree.right, Literal):
        shown = f"{other} = {shown}"
    threshold = f"{'' if leaf.wanted else 'not '}{tree.operator} {shown}"
    return Evidence(name, _json(left(situation)), threshold, view.scene.wall)


def _event_evidence(node: Events, situation: Situation, view: View) -> Iterator[Evidence]:
    found = view.of(situation.entity, node) or []
    if found:
        last = found[-1]
        span = f"in {node.within_secs:g} s"
        yield Evidence(node.what, number_of(found, node), span, last.at, last.raw[:MAX_RAW_CHARS])


def _json(value: Value) -> Value:
    return round(value, 6) if isinstance(value, float) else value


def kin_of(entity: Entity, kin: Mapping[str, str], view: View) -> dict[str, Entity]:
    """The kin of which an entity has one at most, by the word rules use for it."""
    found = {}
    for word, kind in kin.items():
        if kind == "node":
            found[word] = view.by_kind.get("node", [None])[0]
        else:
            found[word] = _nearest(entity, kind, view)
    return {word: other for word, other in found.items() if other is not None}


def _nearest(entity: Entity, kind: str, view: View) -> Entity | None:
    keys = [*view.graph.same(entity.key), *view.graph.neighbours("runs_in", entity.key)]
    return next((view.entities[k] for k in keys if k[0] == kind and k in view.entities), None)
