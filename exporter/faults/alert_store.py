"""The alerts of all rules between two evaluations, and when each ended or was cleared."""

from collections.abc import Container
from dataclasses import field
from itertools import takewhile

from exporter.faults.alert_state import Alert, AlertKey
from exporter.faults.events.query import MAX_WINDOW_SECS
from exporter.model.verdict import Key
from exporter.record import dataclass

MAX_ALERTS = 5_000
MAX_CLEARED = 500
MAX_OF_ONE_RULE = 200
"""The most components with alerts of one rule: a flood must not cost the other rules."""


@dataclass(slots=True)
class AlertStore:
    """The alerts by rule and component, at most MAX_ALERTS.

    `ended` and `cleared` have the boot times in seconds at which alerts ended, or were cleared by
    an operator. `have_moved` is set while an alert may differ from what the last conclusions say.
    """

    alerts: dict[AlertKey, Alert] = field(default_factory=dict)
    ended: dict[AlertKey, float] = field(default_factory=dict)
    cleared: dict[AlertKey, float] = field(default_factory=dict)
    have_moved: bool = True
    _known: dict[str, set[Key]] = field(default_factory=dict)
    _is_stale: bool = True  # whether alerts moved in the last round

    def known(self) -> dict[str, set[Key]]:
        """Return by rule the components with an alert, as a round begins.

        It is the same object as in the last round only if no alert moved in that round or since.
        """
        if self._is_stale or self.have_moved:
            self._known = {}
            for key in self.alerts:
                self._known.setdefault(key.rule, set()).add(key.key)
        return self._known

    def is_full(self, rule: str) -> bool:
        """Tell whether the limit of alerts, of this rule or of all, is reached."""
        return len(self._known.get(rule, ())) >= MAX_OF_ONE_RULE or len(self.alerts) >= MAX_ALERTS

    def add(self, key: AlertKey, alert: Alert) -> Alert:
        """Add an alert, and return it."""
        self._known.setdefault(key.rule, set()).add(key.key)
        self.alerts[key] = alert
        return alert

    def end(self, key: AlertKey) -> None:
        """Delete an alert but keep its end: events before it are no evidence any more."""
        self.have_moved = True
        alert = self.alerts.pop(key)
        self.ended.pop(key, None)
        self.ended[key] = alert.seen
        if len(self.ended) > MAX_ALERTS:
            del self.ended[next(iter(self.ended))]

    def clear(self, key: AlertKey, now: float) -> None:
        """End an alert until evidence after this boot time comes."""
        self.cleared[key] = self.alerts[key].seen = now
        self.end(key)
        latest = sorted(self.cleared.items(), key=lambda row: row[1])[-MAX_CLEARED:]
        self.cleared = {of: at for of, at in latest if at > now - MAX_WINDOW_SECS}

    def keep_only(self, rules: Container[str]) -> None:
        """Forget the alerts and ends of other rules, and causes that are faults of such."""
        self.have_moved = True
        self.alerts = {key: alert for key, alert in self.alerts.items() if key.rule in rules}
        self.ended = {key: at for key, at in self.ended.items() if key.rule in rules}
        for alert in self.alerts.values():
            alert.causes = tuple(takewhile(lambda cause: cause.rule in rules, alert.causes))

    def settle(self) -> bool:
        """Tell whether an alert has moved since the last conclusions; new ones are made now."""
        self._is_stale, self.have_moved = self.have_moved, False
        return self._is_stale
