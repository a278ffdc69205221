"""Finds the root cause of each fault, also if rules explain each other in cycles."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from exporter.faults.alert_state import Alert
from exporter.faults.entities.graph import NODE_WIDE, SAME, Graph
from exporter.faults.rules.rule import LAYERS, Explanation, Rule
from exporter.model.verdict import SEVERITIES, Cause, Fault, Key
from exporter.record import dataclass

Place: TypeAlias = "tuple[str, Key]"
"""A fault: its rule and its component."""

PRINT_ORDER_SECS = 2.0
"""Lines of one incident are printed in any order within this time."""

ON_COMPONENT = (SAME, "upstream_of")
NOT_HARDWARE = ("node", "process", "workload")
BESIDE_SECS = 600.0
"""Faults of one component that begin within this time are one incident."""

NO_ALERTS: Mapping[Place, Alert] = MappingProxyType({})
SAMPLING_SECS = 120.0
"""Thresholds are noticed late: a cause may be seen so long after its effect."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One active fault as causes see it; times in seconds since boot."""

    rule: Rule
    key: Key
    onset: float
    last_evidence: float
    is_event: bool
    was_shown: bool = False
    was_shown_as_root: bool = False

    @property
    def rank(self) -> tuple[bool, bool, float, int, str, Key]:
        """What makes it the stronger cause, smallest first; no two are equal."""
        layer = LAYERS.index(self.rule.layer)
        return (self.rule.symptom, not self.is_event, self.onset, layer, self.rule.id, self.key)


@dataclass(frozen=True, slots=True)
class Step:
    """The cause of a fault, and the relation by which it explains it."""

    cause: int
    via: str


def find_steps(
    alerts: Mapping[Place, Alert],
    rules: Mapping[str, Rule],
    graph: Graph,
    waiting: Mapping[Place, Alert] = NO_ALERTS,
) -> list[Step | None]:
    """Find the cause of each of these faults, then of those that wait; None for a root.

    A cause that was known once is not forgotten while it is active. A fault that waits explains
    none; what it follows from may have ended when its own time is over.
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
    """Return the faults that wait for their time, while a fault that nothing else explains follows.

    An alarm may be a flicker, but not when its consequence has been seen.
    """
    pending, known = _by_rule(waiting), _by_rule(active)
    found: dict[Place, Standing] = {}
    for effect in active if waiting else ():
        if effect.was_shown_as_root or not effect.was_shown:  # the others have a cause
            causes = list(_explaining(effect, pending, graph))
            if causes and not any(_explaining(effect, known, graph)):
                found |= {(cause.rule.id, cause.key): cause for cause in causes}
    return [
        cause
        for cause in found.values()
        if not cause.rule.symptom and not any(_explaining(cause, known, graph))
    ]


def _by_rule(standings: Iterable[Standing]) -> dict[str, list[Standing]]:
    found: dict[str, list[Standing]] = {}
    for standing in standings:
        found.setdefault(standing.rule.id, []).append(standing)
    return found


def _explaining(
    effect: Standing, by_rule: Mapping[str, Sequence[Standing]], graph: Graph
) -> Iterator[Standing]:
    """Yield what explains the effect, by more than that it is plausible."""
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
    """Return the fault as causes see it."""
    is_event = alert.has_events or rule.needed is not None
    seen = alert.seen if alert.is_waiting else alert.last_evidence
    is_root = alert.was_shown and not alert.causes
    return Standing(rule, key, alert.active_since, seen, is_event, alert.was_shown, is_root)


def _known_cause(alert: Alert, index_of: Mapping[Place, int]) -> Step | None:
    """Return the nearest of the causes known last that still holds."""
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
    """For each fault the strongest of those that explain it; None for a root.

    Only the first so many faults may be `causes`, or all.

    Following the steps ends at a root always: where faults explain each other in a circle, the
    strongest of them is not explained from within it. What followed from a fault by the `known`
    steps does not explain that it comes back.
    """
    by_rule: dict[str, list[int]] = {}
    by_key: dict[Key, list[int]] = {}
    for index, standing in enumerate(standings[:causes]):
        by_rule.setdefault(standing.rule.id, []).append(index)
        by_key.setdefault(standing.key, []).append(index)
    choices = [_choices(index, standings, by_rule, graph) for index in range(len(standings))]
    _keep_roots(choices, standings)
    for index, row in enumerate(choices):
        found = row or _beside(index, standings, by_key, graph)
        choices[index] = [s for s in found if not _has_followed(s.cause, index, known)]
    steps: list[Step | None] = [row[0] if row else None for row in choices]
    for index in sorted(range(len(standings)), key=lambda place: standings[place].rank):
        circle = _circle(index, steps)
        while circle:
            strongest = min(circle, key=lambda place: standings[place].rank)
            choices[strongest] = [s for s in choices[strongest] if s.cause not in circle]
            steps[strongest] = choices[strongest][0] if choices[strongest] else None
            circle = _circle(index, steps)
    return tuple(steps)


def keep_steps(steps: list[Step | None], known: Sequence[Step | None]) -> None:
    """Give each fault without a cause the one that was known before, unless that makes a circle.

    At recovery the relation or the time may not show the cause any more.
    """
    for index, step in enumerate(known):
        if steps[index] is None and step is not None:
            steps[index] = step
            if _circle(index, steps):
                steps[index] = None


def _has_followed(effect: int, cause: int, known: Sequence[Step | None]) -> bool:
    """Tell whether `effect` was known to follow from `cause`.

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


def path_to_root(index: int, steps: Sequence[Step | None]) -> list[Step]:
    """Return the steps from a fault to its root, nearest first."""
    path = []
    step = steps[index]
    while step is not None:
        path.append(step)
        step = steps[step.cause]
    return path


def _choices(
    index: int,
    standings: Sequence[Standing],
    by_rule: Mapping[str, list[int]],
    graph: Graph,
) -> list[Step]:
    """All that explain one fault, the strongest first, each by its first relation.

    What the component is or waits for comes before what it uses, and that before what has only
    the node in common with it; what is only plausible comes last.
    """
    effect = standings[index]
    found: dict[int, Explanation] = {}
    for explanation in effect.rule.near_causes_first:
        if explanation.rule not in by_rule:
            continue  # as of most
        candidates = by_rule[explanation.rule]
        for place in _in_place(effect, explanation, candidates, standings, graph):
            if _in_time(standings[place], effect, explanation):
                found.setdefault(place, explanation)

    def weight(place: int) -> tuple[bool, tuple[bool, int], tuple[object, ...]]:
        cause = standings[place]
        return (cause.rule.symptom, found[place].distance, cause.rank)

    return [Step(place, found[place].via) for place in sorted(found, key=weight)]


def _keep_roots(choices: Sequence[list[Step]], standings: Sequence[Standing]) -> None:
    """Let a root that was shown be the root of what begins on its component later.

    An incident that was told as one thing is not told again as another, which is found later.
    """
    for index, row in enumerate(choices):
        if not standings[index].was_shown_as_root:
            continue
        for step in [step for step in row if step.via in ON_COMPONENT]:
            cause, effect = standings[step.cause], standings[index]
            if not cause.was_shown and cause.onset - effect.onset > SAMPLING_SECS:
                row.remove(step)
                choices[step.cause].append(Step(index, step.via))


def _beside(
    index: int, standings: Sequence[Standing], by_key: Mapping[Key, list[int]], graph: Graph
) -> list[Step]:
    """Return what else has begun on the component just before, the strongest first.

    No rule says that the one explains the other, but one component rarely breaks in two ways
    within minutes: it is one incident.
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
    """Return whether the cause is a fault that began within minutes before the effect."""
    if cause.rule.symptom or cause.rule.severity == "info":
        return False
    if SEVERITIES.index(effect.rule.severity) < SEVERITIES.index(cause.rule.severity):
        return False  # what is plausible may not name a page after less than it is about
    if effect.is_event > cause.is_event or _is_edge(cause, effect) or _is_edge(effect, cause):
        return False  # where a rule speaks of the other, it says all
    is_one_layer = cause.rule.layer == effect.rule.layer
    began = cause.last_evidence if is_one_layer else cause.onset
    return cause.onset <= effect.onset + PRINT_ORDER_SECS and effect.onset - began <= BESIDE_SECS


def _is_edge(cause: Standing, effect: Standing) -> bool:
    return any(explanation.rule == cause.rule.id for explanation in effect.rule.explained_by)


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
    """Whether the cause began before the effect, and was seen within the window before it."""
    slack = PRINT_ORDER_SECS if cause.is_event and effect.is_event else SAMPLING_SECS
    if cause.onset > effect.onset + max(slack, explanation.ahead_secs):
        return False
    within = explanation.within_secs
    return within is None or cause.last_evidence >= effect.onset - within


def _circle(index: int, steps: Sequence[Step | None]) -> set[int]:
    """Return the faults that explain each other on the way from this one.

    Empty when there are none.
    """
    seen: dict[int, int] = {}
    place: int | None = index
    while place is not None:
        if place in seen:
            return {other for other, order in seen.items() if order >= seen[place]}
        seen[place] = len(seen)
        step = steps[place]
        place = None if step is None else step.cause
    return set()  # untested: nothing is as empty


def raised(faults: Mapping[Place, Fault]) -> dict[Place, str]:
    """Return the roots less severe than something that follows from them, and that severity."""
    raised: dict[Place, str] = {}
    for fault in faults.values():
        place = place_of(fault.root)
        if place in faults:
            before = raised.get(place, faults[place].severity)
            if SEVERITIES.index(fault.severity) < SEVERITIES.index(before):
                raised[place] = fault.severity
    return raised
