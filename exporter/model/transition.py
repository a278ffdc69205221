"""One transition of a fault, a row of the history of faults."""

from collections.abc import Iterable
from typing import NamedTuple

BEGAN, ENDED, SEVERITY = "began", "ended", "severity"
KEPT_DAYS = 14
KEPT_SECS = KEPT_DAYS * 86_400.0
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


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


def times_text(times: int) -> str:
    """Say how often a fault began in the last days; empty for the first time."""
    if times < 2:  # noqa: PLR2004 - the second time
        return ""
    which = ORDINALS[times - 1] if times <= len(ORDINALS) else f"{times}th"
    return f"{which} time in {KEPT_DAYS} days"


def lasted(
    rows: Iterable[Transition], now: float
) -> list[tuple[tuple[str, str, str], str, float, float]]:
    """Return each fault of a history: place, highest severity, beginning and end."""
    found = []
    running: dict[tuple[str, str, str], tuple[str, float]] = {}
    for row in rows:
        severity, began = running.pop(row.place, (row.severity, row.at))
        if row.change == ENDED:
            found.append((row.place, severity, began, row.at))
        else:
            ranked = ("critical", "warning", "info")
            worst = min(severity, row.severity, key=ranked.index)
            running[row.place] = (worst, began)
    return [*found, *((place, *state, now) for place, state in running.items())]
