"""From what a rule found to what is said of it: sentence, evidence, confidence."""

from collections.abc import Iterator, Mapping

from exporter.faults.bindings import Binding
from exporter.faults.entities import Entity
from exporter.faults.expression import (
    Compare,
    Events,
    Literal,
    Name,
    Node,
    Value,
    walk,
)
from exporter.faults.expression_meaning import Situation, meaning_of
from exporter.faults.observation import View
from exporter.faults.rules import Condition, Rule
from exporter.faults.texts import EVENT, NAME
from exporter.model.event import Event
from exporter.model.verdict import Evidence

DOUBT_FACTOR = 0.8
"""What the confidence is multiplied with while a part of the evidence could not be judged."""

MAX_EVIDENCE = 8
MAX_RAW_CHARS = 512


def describe(rule: Rule, binding: Binding, situation: Situation, view: View) -> None:
    """Put sentence, evidence and confidence of this moment into the binding."""
    told = _told(rule, situation, view)
    moment = max((events[-1].boottime for events in told), default=view.now)
    mark = (moment, sum(map(len, told)))
    if binding.summary and rule.needed is not None and mark == binding.described:
        return  # nothing has happened since
    binding.described = mark
    last = _last_event(rule, situation, view)
    pieces = _evidence(rule.when, situation, view)
    seen = {(e.name, e.raw, e.threshold if not e.raw else ""): e for e in pieces}
    binding.evidence = tuple(seen.values())[:MAX_EVIDENCE]
    binding.summary = rule.summary.fill(lambda name: _value(name, situation, last))
    binding.confidence = rule.confidence * (DOUBT_FACTOR if _doubts(rule, situation) else 1.0)
    binding.last_evidence = moment
    if rule.escalate is not None and rule.escalate.meaning(situation):
        binding.is_escalated = True


def first_moment(rule: Rule, situation: Situation, view: View) -> float:
    """Since when, in seconds since boot, the condition holds that was just found to hold."""
    told = _told(rule, situation, view)
    return min((events[0].boottime for events in told), default=view.now)


def _told(rule: Rule, situation: Situation, view: View) -> list[list[Event]]:
    """The events of each part of the condition that counts some and holds."""
    counted = (
        leaf.left
        for leaf, meaning, wanted in rule.when.leaves
        if isinstance(leaf, Compare) and meaning(situation) is wanted
    )
    found = (view.of(situation.entity, wanted) for wanted in counted if isinstance(wanted, Events))
    return [events for events in found if events]


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


def _doubts(rule: Rule, situation: Situation) -> bool:
    """Whether a piece of the evidence, or the gate, could not be judged."""
    if rule.only_if is not None and rule.only_if.meaning(situation) is None:
        return True
    return any(meaning(situation) is None for _, meaning, _ in rule.when.leaves)


def _evidence(condition: Condition, situation: Situation, view: View) -> Iterator[Evidence]:
    """What was seen: the events, and each comparison that holds with what stood in it."""
    for counted in condition.looks_at_events():
        yield from _event_evidence(counted, situation, view)
    for leaf, meaning, wanted in condition.leaves:
        found = meaning(situation)
        if found is None or bool(found) is not wanted:
            continue
        if isinstance(leaf, Compare) and not isinstance(leaf.left, Events):
            word = "" if wanted else "not "
            threshold = f"{word}{leaf.operator} {_show(leaf.right, situation)}"
            value = meaning_of(leaf.left)(situation)
            yield Evidence(_written(leaf.left), _json(value), threshold, view.scene.wall)
        elif isinstance(leaf, Name):
            yield Evidence(leaf.text, bool(found), "is " + str(wanted).lower(), view.scene.wall)


def _event_evidence(node: Events, situation: Situation, view: View) -> Iterator[Evidence]:
    found = view.of(situation.entity, node) or []
    if found:
        last = found[-1]
        span = f"in {node.within_secs:g} s"
        yield Evidence(node.what, len(found), span, last.at, last.raw[:MAX_RAW_CHARS])


def _show(node: Node, situation: Situation) -> str:
    value = meaning_of(node)(situation)
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return shown if isinstance(node, Literal) else f"{_written(node)} = {shown}"


def _json(value: Value) -> Value:
    return round(value, 6) if isinstance(value, float) else value


def _written(node: Node) -> str:
    """A part of an expression by the fields in it."""
    names: Mapping[str, None] = dict.fromkeys(n.text for n in walk(node) if isinstance(n, Name))
    return ", ".join(names) or "value"


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
