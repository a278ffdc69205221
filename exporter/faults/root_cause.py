"""Finds the root cause of each fault, also if rules explain each other in cycles."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from exporter.faults.alert_state import Alert
from exporter.faults.entities.graph import NODE_WIDE, SAME, Graph
from exporter.faults.plausible import BESIDE_SECS, NODE, PROCESS, Plausible
from exporter.faults.rules.rule import Explanation, Rule
from exporter.faults.standing import (
    NOTIFIED_SECS,
    PRINT_ORDER_SECS,
    SAMPLING_SECS,
    Standing,
    Step,
    circle_from,
    keep_steps,
    path_to_root,
)
from exporter.model.verdict import Cause, Fault, Key

Place: TypeAlias = "tuple[str, Key]"
"""A fault: its rule and its component."""

PEER = "link_peer"

BACK: Mapping[str, str] = MappingProxyType(
    {
        SAME: SAME,
        "upstream_of": "downstream_of",
        "downstream_of": "upstream_of",
        "reached_over": "reached_over",
    }
)
"""Relations on a component, each with the one in the other direction."""


def find_steps(
    alerts: Mapping[Place, Alert],
    rules: Mapping[str, Rule],
    graph: Graph,
    waiting: Mapping[Place, Alert],
) -> list[Step | None]:
    """Find the cause of each of `alerts`, then of the `waiting` ones; None for a root.

    A cause once known is kept while it is active. A waiting fault explains no fault; its own cause
    may have ended when its time has passed. What followed from it when it was active before does
    not explain that it comes back.
    """
    both = {**alerts, **waiting}
    standings = [standing_of(rules[rule], key, alert) for (rule, key), alert in both.items()]
    index_of = {place: index for index, place in enumerate(both)}
    known = [_known_causes(alert, index_of) for alert in both.values()]
    steps = find_causes(standings, graph, known, len(alerts))
    for index in range(len(alerts), len(both)):
        if any(_has_followed(step.cause, index, known) for step in path_to_root(index, steps)):
            steps[index] = None
    last = [[step for step in row if step.cause < len(alerts)] for row in known]
    keep_steps(steps, [row[0] if row else None for row in last])
    return steps


def confirmed(
    waiting: Sequence[Standing], active: Sequence[Standing], graph: Graph
) -> list[Standing]:
    """Return the waiting faults that explain an active fault which nothing else explains.

    A waiting alarm may be a flicker, but not once its consequence has been seen. A root that was
    told long before is no consequence of it. A symptom that is a root itself explains nothing. Of
    two that explain each other the first is the cause.
    """
    pending = _by_rule(waiting)
    known = _by_rule(it for it in active if not it.rule.symptom or it.shown_secs is None)
    found: dict[Place, tuple[Standing, Standing]] = {}
    for effect in active if waiting else ():
        is_root = effect.shown_secs is not None and effect.shown_secs <= SAMPLING_SECS
        if is_root or not effect.was_shown:  # other faults have a cause, or were told long ago
            causes = list(_explaining(effect, pending, graph))
            if causes and not any(_explaining(effect, known, graph)):
                found |= {(cause.rule.id, cause.key): (cause, effect) for cause in causes}
    return [
        cause
        for cause, effect in found.values()
        if all(it is effect and _is_first(cause, it) for it in _explaining(cause, known, graph))
    ]


def _is_first(one: Standing, other: Standing) -> bool:
    """Tell whether one fault is the cause of the other where each would explain the other."""
    return one.rank[:3] < other.rank[:3]


def _by_rule(standings: Iterable[Standing]) -> dict[str, list[Standing]]:
    found: dict[str, list[Standing]] = {}
    for standing in standings:
        found.setdefault(standing.rule.id, []).append(standing)
    return found


def _explaining(
    effect: Standing, by_rule: Mapping[str, Sequence[Standing]], graph: Graph
) -> Iterator[Standing]:
    """Yield the causes of the effect that are not only plausible."""
    for explanation in effect.rule.explained_by:
        causes = by_rule.get(explanation.rule, ())
        if causes and not explanation.is_weak:
            for place in _in_place(effect, explanation, range(len(causes)), causes, graph):
                if causes[place] is not effect and _in_time(causes[place], effect, explanation):
                    yield causes[place]


def place_of(row: Cause | Fault) -> Place:
    """Return the rule and the component of a fault or cause."""
    return row.rule, row.subject.key


def standing_of(rule: Rule, key: Key, alert: Alert) -> Standing:
    """Return the fault with the values that decide on causes."""
    is_event = alert.has_events or rule.needed is not None
    seen = alert.seen if alert.is_waiting else alert.last_evidence
    was_shown = alert.shown_since is not None
    shown_secs = alert.seen - (alert.shown_since or 0.0) if was_shown and not alert.causes else None
    return Standing(rule, key, alert.active_since, seen, is_event, was_shown, shown_secs)


def _known_causes(alert: Alert, index_of: Mapping[Place, int]) -> list[Step]:
    """Return those of the last known causes that are here, the nearest first."""
    places = ((index_of.get(place_of(cause)), cause.via) for cause in alert.causes)
    return [Step(index, via) for index, via in places if index is not None]


def find_causes(
    standings: Sequence[Standing],
    graph: Graph,
    known: Sequence[Sequence[Step]],
    causes: int,
) -> list[Step | None]:
    """Find the strongest cause of each fault; None for a root.

    Only the first `causes` faults may be causes.

    Steps always end at a root: where faults explain each other in a circle, the strongest of them
    has no cause within the circle, of those first whose cause no rule names. A fault that followed
    from another by the steps `known` last does not explain that this other comes back.
    """
    by_rule: dict[str, list[int]] = {}
    for index, standing in enumerate(standings[:causes]):
        by_rule.setdefault(standing.rule.id, []).append(index)
    choices = [_choices(index, standings, by_rule, graph) for index in range(len(standings))]
    _keep_roots(choices, standings, by_rule, graph)
    plausible = Plausible(standings, causes, graph)
    is_named = [bool(row) for row in choices]
    for index, row in enumerate(choices):
        found = row or plausible.causes(index)
        followed = {s.cause for s in found if _has_followed(s.cause, index, known)}
        choices[index] = _without(followed, found, standings)
    steps: list[Step | None] = [row[0] if row else None for row in choices]
    for index in sorted(range(len(standings)), key=lambda place: standings[place].rank):
        circle = circle_from(index, steps)
        while circle:
            strongest = min(circle, key=lambda it: (is_named[it], standings[it].rank))
            choices[strongest] = _without(circle, choices[strongest], standings)
            steps[strongest] = choices[strongest][0] if choices[strongest] else None
            circle = circle_from(index, steps)
    return steps


def _without(
    effects: Collection[int], choices: Sequence[Step], standings: Sequence[Standing]
) -> list[Step]:
    """Return the choices that are no effects.

    Where an effect would explain the fault, a weak choice is one only if it is of the same rule.
    """
    left = [step for step in choices if step.cause not in effects]
    better = {
        standings[step.cause].rule.id
        for step in choices
        if step.cause in effects and not step.is_weak
    }
    if not better:
        return left
    return [s for s in left if not s.is_weak or standings[s.cause].rule.id in better]


def _has_followed(effect: int, cause: int, known: Sequence[Sequence[Step]]) -> bool:
    """Tell whether the effect followed from the cause by the steps that were told last.

    Steps told at different times may lead in a circle.
    """
    seen = {effect}
    left = [effect]
    while left:
        for step in known[left.pop()]:
            if step.cause == cause:
                return True
            if step.cause not in seen:
                seen.add(step.cause)
                left.append(step.cause)
    return False


def _choices(
    index: int,
    standings: Sequence[Standing],
    by_rule: Mapping[str, list[int]],
    graph: Graph,
) -> list[Step]:
    """Return all possible causes of one fault, the strongest first, each by its nearest relation.

    Causes on the component or on what it waits for come before causes on what it uses, then those
    elsewhere on the node; weak explanations come last.
    """
    effect = standings[index]
    found: dict[int, Explanation] = {}
    for explanation in effect.rule.near_causes_first:
        if explanation.rule not in by_rule:
            continue  # as for most rules
        candidates = by_rule[explanation.rule]
        for place in _in_place(effect, explanation, candidates, standings, graph):
            if place != index and _in_time(standings[place], effect, explanation):
                found.setdefault(place, explanation)

    def weight(place: int) -> tuple[bool, tuple[bool, int], tuple[object, ...]]:
        cause = standings[place]
        return (cause.rule.symptom, found[place].distance, cause.rank)

    return [Step(at, found[at].via, found[at].is_weak) for at in sorted(found, key=weight)]


def _keep_roots(
    choices: Sequence[list[Step]],
    standings: Sequence[Standing],
    by_rule: Mapping[str, list[int]],
    graph: Graph,
) -> None:
    """Let what would explain a shown root, and begins later on its component, follow from it.

    A symptom may be seen long before its cause. An incident keeps its root: told again as another,
    it would be a second notification.
    """
    for index, root in enumerate(standings):
        if root.shown_secs is None or root.rule.symptom or root.rule.severity == "info":
            continue
        for explanation in root.rule.explained_by:
            candidates = by_rule.get(explanation.rule, ())
            for place in _in_place(root, explanation, candidates, standings, graph):
                cause = standings[place]
                via = _way_back(cause, root, explanation)
                if via and _is_late(cause, root, explanation):
                    choices[index][:] = [s for s in choices[index] if s.cause != place]
                    choices[place].append(Step(index, via))


def _way_back(cause: Standing, root: Standing, explanation: Explanation) -> str | None:
    """Return the relation by which a late cause may follow from the root; None without one.

    On a neighbour it follows if it is the same fault. Elsewhere on the node it follows if it begins
    soon and is of the layer of the root, but for programs, which have nothing in common; a part of
    the node also from a fault of the node that it explains otherwise.
    """
    if cause.key == root.key:
        return SAME
    if explanation.via == PEER and cause.rule is root.rule:
        return PEER
    if explanation.via != NODE:
        return BACK.get(explanation.via)
    is_near = cause.onset - root.onset <= (explanation.within_secs or BESIDE_SECS)
    is_alike = cause.rule.layer == root.rule.layer != PROCESS and is_near
    is_part = root.key[0] == NODE and _in_time(cause, root, explanation)
    return NODE if is_alike or is_part else None


def _is_late(cause: Standing, root: Standing, explanation: Explanation) -> bool:
    """Tell whether a cause begins when the fault that it would explain has been told as a root."""
    within = explanation.within_secs or BESIDE_SECS
    later_secs = cause.onset - root.onset
    was_notified = (root.shown_secs or 0.0) >= max(NOTIFIED_SECS, explanation.ahead_secs)
    is_late = was_notified or later_secs > min(SAMPLING_SECS, _ahead_secs(cause, root, explanation))
    return is_late and not cause.was_shown and root.last_evidence >= cause.onset - within


def _ahead_secs(cause: Standing, effect: Standing, explanation: Explanation) -> float:
    """Return by how many seconds a cause may be seen after its effect."""
    slack = PRINT_ORDER_SECS if cause.is_event and effect.is_event else SAMPLING_SECS
    return max(slack, explanation.ahead_secs)


def _in_place(
    effect: Standing,
    explanation: Explanation,
    candidates: Sequence[int],
    standings: Sequence[Standing],
    graph: Graph,
) -> Sequence[int]:
    """Return the candidates that have the relation to the effect."""
    if explanation.via in NODE_WIDE:
        return candidates
    related = graph.related(effect.key, explanation.via)
    return [place for place in candidates if standings[place].key in related]


def _in_time(cause: Standing, effect: Standing, explanation: Explanation) -> bool:
    """Whether the cause began before the effect, and was last seen within the window before it."""
    ahead_secs = -explanation.after_secs or _ahead_secs(cause, effect, explanation)
    if cause.onset > effect.onset + ahead_secs:
        return False
    within = explanation.within_secs
    return within is None or cause.last_evidence >= effect.onset - within
