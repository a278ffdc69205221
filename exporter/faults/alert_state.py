"""The state of alerts between two evaluations, each of one rule for one component."""

from collections.abc import Container
from dataclasses import field
from enum import Enum
from itertools import takewhile
from typing import NamedTuple

from exporter.faults.events.query import MAX_WINDOW_SECS
from exporter.model.verdict import Cause, Evidence, Key
from exporter.record import dataclass

UNKNOWN_ENDS_SECS = 300.0
"""An active fault that is unknown for so long is no longer shown; the cache lasts as long."""

BRIDGED_SECS = 60.0
"""A pause without a result between two evaluations that held counts as held up to this time.

A pause between two evaluations that saw the end counts towards `clear_for`.

A driver that hangs is tried again every half minute: until then nothing is known.
"""

MAX_ALERTS = 5_000
MAX_CLEARED = 500
MAX_OF_ONE_RULE = 200
"""The most components with alerts of one rule: a flood must not cost the other rules."""


class AlertState(Enum):
    """The state of an alert: all but the first two are shown as an active fault."""

    INACTIVE = "inactive"
    PENDING = "pending"  # `when` holds, but not yet for as long as `for` says
    ACTIVE = "active"
    CLEARING = "clearing"  # its end is in sight, but not yet for as long as `clear_for` says
    UNKNOWN = "unknown"  # active, but nothing can be said of it at the moment


NOT_SHOWN = (AlertState.INACTIVE, AlertState.PENDING)


class Change(Enum):
    """What a judgement did to a fault."""

    NONE = "none"
    ACTIVE = "active"
    CLEARED = "cleared"
    UNJUDGED = "unjudged"


class AlertKey(NamedTuple):
    """What an alert belongs to: a rule and a component."""

    rule: str
    key: Key


@dataclass(slots=True)
class Alert:
    """The state of one rule for one component; times are boot times in seconds.

    `held_secs` counts the time between evaluations that held, with pauses up to BRIDGED_SECS.
    `severity` is the one that the site gives to the events, empty for that of the rule. `causes`
    are the last known ones: they are kept when the cause has ended.
    """

    active_since: float
    seen: float
    state: AlertState = AlertState.PENDING
    entered: float = 0.0  # when it came into this state
    held_secs: float = 0.0
    unknown_since: float | None = None  # while the alert is pending or unknown
    end_since: float | None = None  # when its end came in sight; a short unknown keeps it
    shown_since: float | None = None  # as a fault
    is_confirmed: bool = False  # its consequence has begun, so that `for` need not pass
    is_escalated: bool = False
    severity: str = ""
    confidence: float = 1.0
    summary: str = ""
    advice: str = ""
    last_evidence: float = 0.0
    described: tuple[float, int] = (0.0, 0)  # the last event and their number, at `describe`
    has_events: bool = False  # whether the evidence has events, of any source
    evidence: tuple[Evidence, ...] = field(default_factory=tuple)
    causes: tuple[Cause, ...] = ()

    @property
    def is_active(self) -> bool:
        """Whether the alert is shown as a fault."""
        return self.state not in NOT_SHOWN

    @property
    def is_waiting(self) -> bool:
        """Whether the condition holds, but not yet for as long as `for` says."""
        return self.state is AlertState.PENDING and self.unknown_since is None

    @property
    def decisive(self) -> tuple[object, ...]:
        """What of an active or waiting alert decides on causes.

        It is the same for as long as only time goes on: when a fault was last seen is compared only
        with when faults began, how long it has been shown matters only where another begins.
        """
        seen = None if self.last_evidence == self.seen else self.last_evidence
        return (self.active_since, seen, self.has_events, self.shown_since, self.causes)

    @property
    def end_seen(self) -> float:
        """When the end of the fault was seen first; the last evaluation if it was not."""
        if self.state is AlertState.CLEARING and self.end_since is not None:
            return self.end_since
        return self.seen

    def stand(self, now: float) -> None:
        """Go on, at this boot time, as at the last evaluation: a value is still so."""
        self.seen = now
        if not self.described[1]:
            self.described, self.last_evidence = (now, 0), now

    def step(
        self,
        when: bool | None,  # noqa: FBT001 - one of three values
        clear: bool | None,  # noqa: FBT001 - as above
        now: float,
        for_secs: float,
        clear_for_secs: float,
    ) -> Change:
        """Apply the conditions of the rule at this boot time (None: unknown); return the change."""
        passed = max(0.0, now - self.seen)
        self.seen = now
        if not self.is_active:
            return self._wait(when, passed, now, for_secs)
        if when or clear is False:
            self.end_since = None
            self._enter(AlertState.ACTIVE, now)
            return Change.NONE
        is_unknown = self.state is AlertState.UNKNOWN
        if clear is None:
            self.unknown_since = self.unknown_since if is_unknown else now - passed
            self._enter(AlertState.UNKNOWN, now)
            return Change.UNJUDGED if now - self.entered > UNKNOWN_ENDS_SECS else Change.NONE
        if is_unknown and now - (self.unknown_since or 0.0) > BRIDGED_SECS:
            self.end_since = None
        self.end_since = now if self.end_since is None else self.end_since
        self._enter(AlertState.CLEARING, now)
        return Change.CLEARED if now - self.end_since >= clear_for_secs else Change.NONE

    def _wait(self, when: bool | None, passed: float, now: float, for_secs: float) -> Change:  # noqa: FBT001 - as above
        if when is None:
            if self.unknown_since is None:
                self.unknown_since = now - passed
            if now - self.unknown_since > UNKNOWN_ENDS_SECS:
                self.state = AlertState.INACTIVE
            return Change.NONE
        if not when:
            self.state = AlertState.INACTIVE
            return Change.NONE
        if self.unknown_since is None:
            self.held_secs += passed
        elif now - self.unknown_since <= BRIDGED_SECS:
            self.held_secs += now - self.unknown_since
        self.unknown_since = None
        if self.held_secs < for_secs and not self.is_confirmed:
            return Change.NONE
        self._enter(AlertState.ACTIVE, now)
        return Change.ACTIVE

    def _enter(self, state: AlertState, now: float) -> None:
        if self.state is not state:
            self.state, self.entered = state, now


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
