"""Finds the root cause of each fault, also if rules explain each other in cycles."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from exporter.faults.alert_state import Alert
from exporter.faults.entities.graph import NODE_WIDE, SAME, Graph
from exporter.faults.rules.rule import LAYERS, Explanation, Rule
from exporter.faults.steps import Step, circle_from, keep_steps
from exporter.model.verdict import SEVERITIES, Cause, Fault, Key
from exporter.record import dataclass

Place: TypeAlias = "tuple[str, Key]"
"""A fault: its rule and its component."""

PRINT_ORDER_SECS = 2.0
"""Lines of one incident may be printed in any order within this time."""

BACK: Mapping[str, str] = MappingProxyType({SAME: SAME, "upstream_of": "downstream_of"})
"""Relations on a component, each with the one in the other direction."""

NOT_HARDWARE = ("node", "process", "workload")
BESIDE_SECS = 600.0
"""Faults of one component that begin within this time are one incident."""

NO_ALERTS: Mapping[Place, Alert] = MappingProxyType({})
NOTIFIED_SECS = 30.0
"""No alert waits longer for a better cause: afterwards a root has been told to somebody."""

SAMPLING_SECS = 120.0
"""A threshold is noticed late: a cause may be seen this long after its effect."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One active fault in the search for causes; times in seconds since boot."""

    rule: Rule
    key: Key
    onset: float
    last_evidence: float
    is_event: bool
    was_shown: bool = False
    shown_secs: float | None = None  # for how long it has been shown as a root

    @property
    def rank(self) -> tuple[bool, bool, float, int, str, Key]:
        """The sort key of causes, the strongest first; no two faults have the same."""
        layer = LAYERS.index(self.rule.layer)
        return (self.rule.symptom, not self.is_event, self.onset, layer, self.rule.id, self.key)


def find_steps(
    alerts: Mapping[Place, Alert],
    rules: Mapping[str, Rule],
    graph: Graph,
    waiting: Mapping[Place, Alert] = NO_ALERTS,
) -> list[Step | None]:
    """Find the cause of each of `alerts`, then of the `waiting` ones; None for a root.

    A cause once known is kept while it is active. A waiting fault explains no fault; its own cause
    may have ended when its time has passed.
    """
    both = {**alerts, **waiting}
    standings = [standing_of(rules[rule], key, alert) for (rule, key), alert in both.items()]
    index_of = {place: index for index, place in enumerate(alerts)}
    known = [_known_cause(alert, index_of) for alert in both.values()]
    steps = list(find_causes(standings, graph, known, causes=len(alerts)))
    keep_steps(steps, known)
    return steps


def confirmed(
    waiting: Sequence[Standing], active: Sequence[Standing], graph: Graph
) -> list[Standing]:
    """Return the waiting faults that explain an active fault which nothing else explains.

    A waiting alarm may be a flicker, but not once its consequence has been seen.
    """
    pending, known = _by_rule(waiting), _by_rule(active)
    found: dict[Place, Standing] = {}
    for effect in active if waiting else ():
        if effect.shown_secs is not None or not effect.was_shown:  # other faults have a cause
            causes = list(_explaining(effect, pending, graph))
            if causes and not any(_explaining(effect, known, graph)):
                found |= {(cause.rule.id, cause.key): cause for cause in causes}
    return [cause for cause in found.values() if not any(_explaining(cause, known, graph))]


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


def _known_cause(alert: Alert, index_of: Mapping[Place, int]) -> Step | None:
    """Return the nearest of the last known causes that is still active."""
    for cause in alert.causes:
        index = index_of.get(place_of(cause))
        if index is not None:
            return Step(index, cause.via)
    return None


def find_causes(
    standings: Sequence[Standing],
    graph: Graph,
    known: Sequence[Step | None] = (),
    *,
    causes: int | None = None,
) -> tuple[Step | None, ...]:
    """Find the strongest cause of each fault; None for a root.

    Only the first `causes` faults may be causes; all for None.

    Steps always end at a root: where faults explain each other in a circle, the strongest of them
    has no cause within the circle. A fault that followed from another by the `known` steps does not
    explain that this other comes back.
    """
    by_rule: dict[str, list[int]] = {}
    by_key: dict[Key, list[int]] = {}
    for index, standing in enumerate(standings[:causes]):
        by_rule.setdefault(standing.rule.id, []).append(index)
        by_key.setdefault(standing.key, []).append(index)
    choices = [_choices(index, standings, by_rule, graph) for index in range(len(standings))]
    _keep_roots(choices, standings, by_rule, graph)
    for index, row in enumerate(choices):
        found = row or _beside(index, standings, by_key, graph)
        choices[index] = [s for s in found if not _has_followed(s.cause, index, known)]
    steps: list[Step | None] = [row[0] if row else None for row in choices]
    for index in sorted(range(len(standings)), key=lambda place: standings[place].rank):
        circle = circle_from(index, steps)
        while circle:
            strongest = min(circle, key=lambda place: standings[place].rank)
            choices[strongest] = [s for s in choices[strongest] if s.cause not in circle]
            steps[strongest] = choices[strongest][0] if choices[strongest] else None
            circle = circle_from(index, steps)
    return tuple(steps)


def _has_followed(effect: int, cause: int, known: Sequence[Step | None]) -> bool:
    """Tell whether the effect followed from the cause by the known steps.

    Steps known at different times may lead in a circle.
    """
    seen: set[int] = set()
    step = known[effect] if known else None
    while step is not None and step.cause not in seen:
        if step.cause == cause:
            return True
        seen.add(step.cause)
        step = known[step.cause]
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
            if _in_time(standings[place], effect, explanation):
                found.setdefault(place, explanation)

    def weight(place: int) -> tuple[bool, tuple[bool, int], tuple[object, ...]]:
        cause = standings[place]
        return (cause.rule.symptom, found[place].distance, cause.rank)

    return [Step(place, found[place].via) for place in sorted(found, key=weight)]


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
                via = SAME if cause.key == root.key else BACK.get(explanation.via)
                if via and _is_late(cause, root, explanation):
                    choices[index][:] = [s for s in choices[index] if s.cause != place]
                    choices[place].append(Step(index, via))


def _is_late(cause: Standing, root: Standing, explanation: Explanation) -> bool:
    """Tell whether a cause begins when the fault that it would explain has been told as a root."""
    within = explanation.within_secs or BESIDE_SECS
    later_secs = cause.onset - root.onset
    was_notified = (root.shown_secs or 0.0) >= NOTIFIED_SECS and later_secs > explanation.ahead_secs
    is_late = was_notified or later_secs > SAMPLING_SECS
    return is_late and not cause.was_shown and root.last_evidence >= cause.onset - within


def _beside(
    index: int, standings: Sequence[Standing], by_key: Mapping[Key, list[int]], graph: Graph
) -> list[Step]:
    """Return other faults that began on the component just before, the strongest first.

    No rule relates the two faults, but one component rarely breaks in two ways within minutes: they
    are one incident.
    """
    effect = standings[index]
    if effect.key[0] in NOT_HARDWARE or effect.rule.severity == "info":
        return []
    found = [
        place
        for key in graph.related(effect.key, SAME)
        for place in by_key.get(key, ())
        if place != index and _is_beside(standings[place], effect)
    ]
    return [Step(place, SAME) for place in sorted(found, key=lambda it: standings[it].rank)]


def _is_beside(cause: Standing, effect: Standing) -> bool:
    """Return whether the cause began within BESIDE_SECS before the effect."""
    if cause.rule.symptom or cause.rule.severity == "info":
        return False
    if SEVERITIES.index(effect.rule.severity) < SEVERITIES.index(cause.rule.severity):
        return False  # what is plausible may not name a page after less than it is about
    if effect.is_event > cause.is_event or _is_edge(cause, effect) or _is_edge(effect, cause):
        return False  # a rule that names the other has its own conditions
    is_one_layer = cause.rule.layer == effect.rule.layer
    began = cause.last_evidence if is_one_layer else cause.onset
    return cause.onset <= effect.onset + PRINT_ORDER_SECS and effect.onset - began <= BESIDE_SECS


def _is_edge(cause: Standing, effect: Standing) -> bool:
    return cause.rule.id in effect.rule.named_causes


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
    slack = PRINT_ORDER_SECS if cause.is_event and effect.is_event else SAMPLING_SECS
    if cause.onset > effect.onset + max(slack, explanation.ahead_secs):
        return False
    within = explanation.within_secs
    return within is None or cause.last_evidence >= effect.onset - within


def raised(faults: Mapping[Place, Fault]) -> dict[Place, Fault]:
    """Return the roots that are less severe than a consequence, with the gravest of these."""
    raised: dict[Place, Fault] = {}
    for fault in faults.values():
        place = place_of(fault.root)
        if place in faults:
            before = raised.get(place, faults[place]).severity
            if SEVERITIES.index(fault.severity) < SEVERITIES.index(before):
                raised[place] = fault
    return raised
