"""Builds summary, evidence and confidence of a fault."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from exporter.faults.alert_state import Alert
from exporter.faults.events.query import Events
from exporter.faults.events.store import number_of
from exporter.faults.expr.compile import EvalContext
from exporter.faults.expr.syntax import Literal, Name, Operation
from exporter.faults.observation import View
from exporter.faults.rules.rule import Condition, Leaf, Rule
from exporter.faults.rules.site import severity_of
from exporter.faults.rules.templates import EVENT, NAME
from exporter.faults.values import Entity, Value
from exporter.model.event import Event
from exporter.model.verdict import Evidence

DOUBT_FACTOR = 0.8
"""The factor of the confidence while a part of the evidence is unknown."""

MAX_EVIDENCE = 8
MAX_RAW_CHARS = 512

Judged: TypeAlias = tuple[Leaf, Value]
"""A part of a condition, and its value."""


def describe(rule: Rule, alert: Alert, ctx: EvalContext, view: View) -> None:
    """Set summary, advice, evidence and confidence of an alert to those of this evaluation."""
    judged = [(leaf, leaf.evaluate(ctx)) for leaf in rule.when.leaves]
    matched = _matched(judged, ctx)
    moment, mark = view.now, (view.now, 0)
    if matched:
        moment = max(events[-1].boottime for events in matched)
        mark = (moment, sum(map(len, matched)))
    if rule.needed is not None and mark == alert.described:
        return  # no new events since
    alert.described = mark
    # Evidence that only new events renew is of this time, all other for as long as the fault holds.
    at = None if rule.needed is None else view.scene.wall
    pieces = [*_evidence(rule.when, judged, ctx, at)]
    case = next((case for case in rule.cases if case.when.evaluate(ctx)), None)
    for counted in case.when.events if case else ():
        pieces += _event_evidence(counted, ctx)
    if len(pieces) > 1:
        seen = {(e.name, e.raw, e.threshold if not e.raw else ""): e for e in pieces}
        pieces = [*seen.values()][:MAX_EVIDENCE]
    alert.evidence = tuple(pieces)
    alert.has_events = bool(matched) or any(piece.raw for piece in pieces)
    summary, advice = (case.summary, case.advice) if case else (None, None)

    def value_of(name: Name) -> Value:
        return _value(name, rule, ctx)

    alert.summary = (summary or rule.summary).fill(value_of)
    alert.advice = (advice or rule.advice).fill(value_of)
    doubt = DOUBT_FACTOR if _doubts(rule, judged, ctx) else 1.0
    alert.confidence = rule.confidence * doubt
    alert.last_evidence = moment
    if rule.needed is not None:  # else the fault may hold without these events
        alert.severity = severity_of(event for events in matched for event in events)
    if rule.escalate is not None and rule.escalate.evaluate(ctx):
        alert.is_escalated = True


def first_moment(rule: Rule, ctx: EvalContext, view: View, *, after: float) -> float:
    """Return since when, in seconds since boot, a condition that has just become true holds.

    Events up to `after` belong to a fault that has ended.
    """
    lasted = None if rule.lasts is None else rule.lasts(ctx)
    if isinstance(lasted, (int, float)):
        return view.now - lasted
    judged = [(leaf, leaf.evaluate(ctx)) for leaf in rule.when.leaves]
    moments = (event.boottime for events in _matched(judged, ctx) for event in events)
    return min((moment for moment in moments if moment > after), default=view.now)


def _matched(judged: Sequence[Judged], ctx: EvalContext) -> list[list[Event]]:
    """Return the events of each part of the condition that counts events and holds."""
    counted = [leaf.counted for leaf, value in judged if leaf.counted and value is leaf.wanted]
    return [events for wanted in counted if (events := ctx.matching_events(wanted))]


def _last_event(rule: Rule, ctx: EvalContext) -> Event | None:
    last = [
        event for wanted in rule.when.events for event in (ctx.matching_events(wanted) or [])[-1:]
    ]
    return max(last, key=lambda event: event.boottime, default=None)


def _value(name: Name, rule: Rule, ctx: EvalContext) -> Value:
    if name.related == EVENT:
        last = _last_event(rule, ctx)
        return None if last is None else last.fields.get(name.field)
    if not name.related and name.field == NAME:
        return ctx.entity.name
    owner = ctx.entity_for(name.related)
    return None if owner is None else owner.fields.get(name.key)


def _doubts(rule: Rule, judged: Sequence[Judged], ctx: EvalContext) -> bool:
    """Whether a part of the evidence, or the gate, is unknown."""
    if any(value is None for _, value in judged):
        return True
    return rule.only_if is not None and rule.only_if.evaluate(ctx) is None


def _evidence(
    condition: Condition, judged: Sequence[Judged], ctx: EvalContext, at: float | None
) -> Iterator[Evidence]:
    """Yield the evidence: events, and each comparison that holds, with its value and limit."""
    for counted in condition.events:
        yield from _event_evidence(counted, ctx)
    for leaf, value in judged:
        tree = leaf.tree
        if value is None or bool(value) is not leaf.wanted:
            continue
        if isinstance(tree, Operation) and not leaf.counted:
            yield _comparison(leaf, tree, ctx, at)
        elif isinstance(tree, Name):
            threshold = "is " + str(leaf.wanted).lower()
            yield Evidence(tree.text, bool(value), threshold, at)


def _comparison(leaf: Leaf, tree: Operation, ctx: EvalContext, at: float | None) -> Evidence:
    (name, left), (other, right) = leaf.sides
    shown = leaf.limit
    if not isinstance(tree.parts[1], Literal):
        limit = right(ctx)
        shown = f"{other} = {limit:g}" if isinstance(limit, float) else f"{other} = {limit}"
    threshold = f"{'' if leaf.wanted else 'not '}{tree.sign} {shown}"
    return Evidence(name, _json(left(ctx)), threshold, at)


def _event_evidence(node: Events, ctx: EvalContext) -> Iterator[Evidence]:
    events = ctx.matching_events(node) or []
    if events:
        last = events[-1]
        span = f"in {node.within_secs:g} s"
        yield Evidence(node.what, number_of(events, node), span, last.at, last.raw[:MAX_RAW_CHARS])


def _json(value: Value) -> Value:
    return round(value, 6) if isinstance(value, float) else value


def related_of(entity: Entity, kinds: Mapping[str, str], view: View) -> dict[str, Entity]:
    """Find the related components by the words that rules use for their kinds."""
    related = {}
    for word, kind in kinds.items():
        if kind == "node":
            related[word] = view.by_kind.get("node", [None])[0]
        else:
            related[word] = _nearest(entity, kind, view)
    return {word: other for word, other in related.items() if other is not None}


def _nearest(entity: Entity, kind: str, view: View) -> Entity | None:
    key, graph = entity.key, view.graph
    keys = graph.targets("runs_in", key) if kind == "workload" else graph.same(key)
    return next((view.entities[k] for k in keys if k[0] == kind and k in view.entities), None)
