"""One transition of a fault, a row of the history of faults."""

from typing import NamedTuple

BEGAN, ENDED, SEVERITY = "began", "ended", "severity"
KEPT_DAYS = 14
KEPT_SECS = KEPT_DAYS * 86_400.0


class Transition(NamedTuple):
    """The beginning, end or new severity of a fault, at a time in seconds since the epoch.

    `kind` is the component's kind in rules; `is_root` is true if nothing explained the fault.
    """

    at: float
    change: str
    rule: str
    severity: str
    kind: str
    hw_type: str
    hw_id: str
    hw_name: str
    is_root: bool
    summary: str

    @property
    def place(self) -> tuple[str, str, str]:
        """The rule, and the kind and id of the component."""
        return self.rule, self.kind, self.hw_id
