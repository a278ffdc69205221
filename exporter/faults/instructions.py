"""Decides how grave each fault is and what to do: one incident, one instruction."""

from collections.abc import Mapping

from exporter.faults.alert_state import Alert
from exporter.faults.entities.graph import SIBLINGS
from exporter.faults.root_cause import Place, place_of
from exporter.faults.rules.rule import Rule
from exporter.model.verdict import SEVERITIES, STATUS_OF_SEVERITY
from exporter.record import dataclass


@dataclass(slots=True)
class Instruction:
    """How grave one fault is, and what to do: a slug for programs, a sentence for people."""

    severity: str
    status: str
    action: str
    advice: str


def instructions(
    alerts: Mapping[Place, Alert], rules: Mapping[str, Rule]
) -> dict[Place, Instruction]:
    """Return the instruction of each active fault, for consequences that of their root.

    A root that is less severe than a consequence gets the severity of the gravest of these.
    """
    own = {place: _own(rules[place[0]], alert) for place, alert in alerts.items()}
    root_of = {
        place: place_of(alert.causes[-1]) if alert.causes else place
        for place, alert in alerts.items()
    }
    gravest: dict[Place, Place] = {}
    for place, root in root_of.items():
        if root in own:
            before = own[gravest.get(root, root)].severity
            if SEVERITIES.index(own[place].severity) < SEVERITIES.index(before):
                gravest[root] = place
    raised = {}
    for root, place in gravest.items():
        severity = own[place].severity
        guide = own[place if place[1] == root[1] else root]
        status = STATUS_OF_SEVERITY[severity]
        raised[root] = Instruction(severity, status, guide.action, guide.advice)
    own |= raised
    for place, root in root_of.items():
        if root != place and root in own:
            own[place].action, own[place].advice = own[root].action, own[root].advice
    return own


def _own(rule: Rule, alert: Alert) -> Instruction:
    is_escalated = alert.is_escalated and rule.escalate is not None  # a site may have said so since
    usual = rule.escalate_to if is_escalated else rule.severity
    severity = alert.severity or usual
    if rule.symptom and all(cause.via == SIBLINGS for cause in alert.causes):
        severity = "info"
    status = rule.status if severity == rule.severity else STATUS_OF_SEVERITY[severity]
    return Instruction(severity, status, rule.action, alert.advice)
