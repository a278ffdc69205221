"""Finds plausible causes: active faults that no rule relates to a fault, but place and time do.

One component rarely breaks in two ways within minutes; a device is lost with the port above it; a
process hangs in what it waits for; a fault of the node is a view of a fault of its components; and
a rule says what else of the node its component needs.
"""

from collections.abc import Iterable, Iterator, Sequence

from exporter.faults.entities.graph import SAME, Graph
from exporter.faults.rules.rule import Rule
from exporter.faults.standing import (
    NOTIFIED_SECS,
    PRINT_ORDER_SECS,
    SAMPLING_SECS,
    Standing,
    Step,
)
from exporter.model.verdict import Key

BESIDE_SECS = 600.0
"""Faults that meet and begin within this time are one incident."""

NODE, PROCESS, WORKLOAD = "node", "process", "workload"
WHOLE = (NODE, "expected")
"""Kinds that stand for the whole node; no edge of the graph leads to them."""

FORECAST = "predicted_failure"
"""The status of what works but may fail soon."""

PLACES = (SAME, "upstream_of")
"""Relations by which the fault of one component explains any fault of another."""

WAITING = ("waits_on", "consumes")
"""Relations by which a fault of hardware explains one of a process."""


class Plausible:
    """The faults that may be causes, by component and by matter."""

    def __init__(self, standings: Sequence[Standing], causes: int, graph: Graph) -> None:
        self._standings = standings
        self._graph = graph
        self._by_key: dict[Key, list[int]] = {}
        self._by_matter: dict[str, list[int]] = {}
        self._of_all: dict[str, list[int]] = {}  # faults of the node that are no views, by layer
        for index, standing in enumerate(standings[:causes]):
            if not standing.rule.symptom and standing.rule.severity != "info":
                self._by_key.setdefault(standing.key, []).append(index)
                is_forecast = standing.rule.status == FORECAST  # nothing else has failed by it
                for matter in () if is_forecast else _matters(standing.rule):
                    self._by_matter.setdefault(matter, []).append(index)
                is_of_all = standing.key[0] in WHOLE and not standing.rule.concerns
                if is_of_all and not standing.rule.needs:  # what needs others is not below them
                    for layer in _matters(standing.rule):
                        self._of_all.setdefault(layer, []).append(index)

    def causes(self, index: int) -> list[Step]:
        """Return plausible causes of a fault, the strongest of the nearest relation first."""
        effect = self._standings[index]
        if effect.rule.severity == "info" and not effect.rule.needs:
            return []
        steps: dict[int, Step] = {}
        for via, places in self._near(effect):
            found = {it: self._standings[it] for it in places if it != index}
            for place in sorted(found, key=lambda it: found[it].rank):
                if place not in steps and _may_explain(found[place], effect, via):
                    steps[place] = Step(place, via)
        return list(steps.values())

    def _near(self, effect: Standing) -> Iterator[tuple[str, Iterable[int]]]:
        """Yield the relations by which the effect may have causes, each with these."""
        kind = effect.key[0]
        needs = effect.rule.needs  # where a rule names them, nothing else of the node is meant
        if kind not in (*WHOLE, WORKLOAD):
            for via in WAITING if kind == PROCESS else PLACES:
                keys = self._near_keys(effect.key, via)
                yield via, (place for key in keys for place in self._by_key.get(key, ()))
            if kind != PROCESS and not needs:
                yield NODE, self._of_all.get(effect.rule.layer, ())
        matters = needs or (_matters(effect.rule) if kind in WHOLE else ())
        yield NODE, (place for it in matters for place in self._by_matter.get(it, ()))

    def _near_keys(self, key: Key, via: str) -> Iterable[Key]:
        """Return the related components; a component does not fail by its parts."""
        return (key, *self._graph.wholes(key)) if via == SAME else self._graph.related(key, via)


def _may_explain(cause: Standing, effect: Standing, via: str) -> bool:
    """Tell whether the cause began near enough before the effect.

    Of two faults of one component and layer, the graver is the cause: a page names what is worst.
    What has been read for long does not explain an event of now.
    """
    if _names(effect, cause) or _names(cause, effect):
        return False  # a rule that names the other has its own conditions
    is_needed = bool({*_matters(cause.rule)} & {*effect.rule.needs})
    if cause.rule is effect.rule and not is_needed:
        return False
    is_one_layer = cause.rule.layer == effect.rule.layer
    was_notified = (effect.shown_secs or 0.0) >= NOTIFIED_SECS and not cause.was_shown
    if was_notified and is_one_layer and via == NODE and cause.gravity >= effect.gravity:
        return False  # it follows from what somebody has been notified of
    slack = PRINT_ORDER_SECS if via == SAME else SAMPLING_SECS
    if cause.key == effect.key:
        if cause.gravity > effect.gravity or effect.is_event > cause.is_event:
            return False
        is_worse = is_one_layer and cause.gravity < effect.gravity
        slack = BESIDE_SECS if is_worse else PRINT_ORDER_SECS
    is_lasting = is_one_layer and not is_needed and cause.is_event >= effect.is_event
    began = cause.last_evidence if is_lasting else cause.onset
    return cause.onset <= effect.onset + slack and effect.onset - began <= BESIDE_SECS


def _matters(rule: Rule) -> Iterable[str]:
    """Return what the rule is about: its layer, and its kind of component."""
    found = (rule.layer, rule.concerns or rule.entity)
    return [matter for matter in found if matter != PROCESS and matter not in WHOLE]


def _names(effect: Standing, cause: Standing) -> bool:
    """Tell whether the rule of the effect names the other among its causes."""
    return cause.rule.id in effect.rule.named_causes
