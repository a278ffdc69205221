"""Decides how grave each fault is and what to do: one incident, one instruction."""

from collections.abc import Mapping

from exporter.faults.alert_state import Alert
from exporter.faults.entities.graph import SIBLINGS
from exporter.faults.root_cause import Place, place_of
from exporter.faults.rules.rule import Rule
from exporter.model.verdict import SEVERITIES, STATUS_OF_SEVERITY
from exporter.record import dataclass

ALERTED_SECS = 60.0
"""A root that is active for so long has an alert: it waits at most 30 s, and is evaluated."""

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


@dataclass(slots=True)
class _Raise:
    """The instruction that a consequence gives its root, and since when, in seconds since boot."""

    given: Instruction
    consequence: Place
    since: float


class Instructions:
    """Gives each active fault its instruction, a consequence that of its root.

    A root that is less severe than a consequence gets the severity of the gravest of these. If it
    had this severity for so long that an alert has told of it, it keeps the severity for KEPT_SECS
    after the end of the consequence.
    """

    def __init__(self) -> None:
        self._raised: dict[Place, _Raise] = {}
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
        kept = {root: it for root, it in self._kept.items() if now < it[1]}
        for root, raised in self._raised.items():
            if raised.consequence not in alerts and now - raised.since >= ALERTED_SECS:
                kept.setdefault(root, (raised.given, now + KEPT_SECS))
        self._raised = self._raises(own, root_of, now)
        given = own | {root: it.given for root, it in self._raised.items()}
        self._kept = {
            root: (before, until)
            for root, (before, until) in kept.items()
            if root_of.get(root) == root and before.is_graver_than(given[root])
        }
        given |= {root: before for root, (before, _) in self._kept.items()}
        for place, root in root_of.items():
            if root != place and root in given:
                given[place].action, given[place].advice = given[root].action, given[root].advice
        return given

    def _raises(
        self, own: Mapping[Place, Instruction], root_of: Mapping[Place, Place], now: float
    ) -> dict[Place, _Raise]:
        """Return what the gravest consequence of each less severe root gives it."""
        gravest: dict[Place, Place] = {}
        for place, root in root_of.items():
            if root in own and own[place].is_graver_than(own[gravest.get(root, root)]):
                gravest[root] = place
        found = {}
        for root, place in gravest.items():
            severity = own[place].severity
            guide = own[place if place[1] == root[1] else root]
            status = STATUS_OF_SEVERITY[severity]
            given = Instruction(severity, status, guide.action, guide.advice)
            before = self._raised.get(root)
            goes_on = before is not None and before.given.severity == severity
            found[root] = _Raise(given, place, before.since if before and goes_on else now)
        return found


def _own(rule: Rule, alert: Alert) -> Instruction:
    is_escalated = alert.is_escalated and rule.escalate is not None  # a site may have said so since
    usual = rule.escalate_to if is_escalated else rule.severity
    severity = alert.severity or usual
    if rule.symptom and all(cause.via == SIBLINGS for cause in alert.causes):
        severity = "info"
    status = rule.status if severity == rule.severity else STATUS_OF_SEVERITY[severity]
    return Instruction(severity, status, rule.action, alert.advice)
