"""A fault as the search for causes sees it."""

from exporter.faults.rules.rule import LAYERS, Rule
from exporter.model.verdict import SEVERITIES, Key
from exporter.record import dataclass

PRINT_ORDER_SECS = 2.0
"""Lines of one incident may be printed in any order within this time."""

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

    @property
    def gravity(self) -> int:
        """The place of the severity in `SEVERITIES`, 0 for the gravest."""
        return SEVERITIES.index(self.rule.severity)
