"""Faults as the search for causes sees them, and the steps from a fault to its root."""

from collections.abc import Sequence
from typing import NamedTuple

from exporter.faults.rules.rule import LAYERS, Rule
from exporter.model.verdict import SEVERITIES, Key
from exporter.record import dataclass

PRINT_ORDER_SECS = 10.0
"""Lines of one incident may be printed in any order within this time."""

SAMPLING_SECS = 120.0
"""A threshold is noticed late: a cause may be seen this long after its effect."""

NOTIFIED_SECS = 30.0
"""No alert waits longer for a better cause: afterwards a root has been told to somebody."""


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

    @property
    def gravity(self) -> int:
        """The place of the severity in `SEVERITIES`, 0 for the gravest."""
        return SEVERITIES.index(self.rule.severity)


class Step(NamedTuple):
    """The index of the cause of a fault, the relation, and whether it is only plausible."""

    cause: int
    via: str
    is_weak: bool = False


def keep_steps(steps: list[Step | None], known: Sequence[Step | None]) -> None:
    """Give each fault without a cause the last known one, unless that makes a circle.

    During recovery, the relation or the time may no longer show the cause.
    """
    for index, step in enumerate(known):
        if steps[index] is None and step is not None:
            steps[index] = step
            if circle_from(index, steps):
                steps[index] = None


def path_to_root(index: int, steps: Sequence[Step | None]) -> list[Step]:
    """Return the steps from a fault to its root, nearest first."""
    path = []
    step = steps[index]
    while step is not None:
        path.append(step)
        step = steps[step.cause]
    return path


def circle_from(index: int, steps: Sequence[Step | None]) -> set[int]:
    """Return the faults that explain each other on the way from the fault `index`; may be empty."""
    seen: dict[int, int] = {}
    place: int | None = index
    while place is not None:
        if place in seen:
            return {other for other, order in seen.items() if order >= seen[place]}
        seen[place] = len(seen)
        step = steps[place]
        place = None if step is None else step.cause
    return set()  # untested: nothing is as empty
