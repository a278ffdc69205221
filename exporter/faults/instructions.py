"""Decides how grave each fault is and what to do: one incident, one instruction."""

from collections.abc import Mapping

from exporter.faults.alert_state import Alert
from exporter.faults.entities.graph import SIBLINGS
from exporter.faults.root_cause import Place, place_of
from exporter.faults.rules.rule import Rule
from exporter.model.verdict import SEVERITIES, STATUS_OF_SEVERITY
from exporter.record import dataclass

KEPT_SECS = 120.0
"""What recovers together, a consequence before its root, is not told again as less severe."""


@dataclass(slots=True)
class Instruction:
    """How grave one fault is, and what to do: a slug for programs, a sentence for people."""

    severity: str
    status: str
    action: str
    advice: str

    def is_graver_than(self, other: "Instruction") -> bool:
        """Tell whether its severity is higher than the other's."""
        return SEVERITIES.index(self.severity) < SEVERITIES.index(other.severity)


class Instructions:
    """Gives each active fault its instruction, a consequence that of its root.

    A root that is less severe than a consequence gets the severity of the gravest of these, and
    keeps it for KEPT_SECS after the end of this consequence.
    """

    def __init__(self) -> None:
        self._raised: dict[Place, Instruction] = {}
        self._kept: dict[Place, tuple[Instruction, float]] = {}  # and until when, since boot

    def kept(self, now: float) -> tuple[Place, ...]:
        """Return the roots that keep a severity at this time, in seconds since boot."""
        return tuple(root for root, (_, until) in self._kept.items() if now < until)

    def of(
        self, alerts: Mapping[Place, Alert], rules: Mapping[str, Rule], now: float
    ) -> dict[Place, Instruction]:
        """Return the instruction of each of these active faults at this time."""
        own = {place: _own(rules[place[0]], alert) for place, alert in alerts.items()}
        root_of = {
            place: place_of(alert.causes[-1]) if alert.causes else place
            for place, alert in alerts.items()
        }
        raised = _raised(own, root_of)
        lowered = {root: (before, now + KEPT_SECS) for root, before in self._raised.items()}
        given = own | raised
        self._kept = {
            root: (before, until)
            for root, (before, until) in {**lowered, **self._kept_until(now)}.items()
            if root_of.get(root) == root and before.is_graver_than(given[root])
        }
        self._raised = raised
        given |= {root: before for root, (before, _) in self._kept.items()}
        for place, root in root_of.items():
            if root != place and root in given:
                given[place].action, given[place].advice = given[root].action, given[root].advice
        return given

    def _kept_until(self, now: float) -> dict[Place, tuple[Instruction, float]]:
        return {root: it for root, it in self._kept.items() if now < it[1]}


def _raised(
    own: Mapping[Place, Instruction], root_of: Mapping[Place, Place]
) -> dict[Place, Instruction]:
    """Return the instructions of the roots that have a graver consequence."""
    gravest: dict[Place, Place] = {}
    for place, root in root_of.items():
        if root in own and own[place].is_graver_than(own[gravest.get(root, root)]):
            gravest[root] = place
    raised = {}
    for root, place in gravest.items():
        severity = own[place].severity
        guide = own[place if place[1] == root[1] else root]
        status = STATUS_OF_SEVERITY[severity]
        raised[root] = Instruction(severity, status, guide.action, guide.advice)
    return raised


def _own(rule: Rule, alert: Alert) -> Instruction:
    is_escalated = alert.is_escalated and rule.escalate is not None  # a site may have said so since
    usual = rule.escalate_to if is_escalated else rule.severity
    severity = alert.severity or usual
    if rule.symptom and all(cause.via == SIBLINGS for cause in alert.causes):
        severity = "info"
    status = rule.status if severity == rule.severity else STATUS_OF_SEVERITY[severity]
    return Instruction(severity, status, rule.action, alert.advice)
