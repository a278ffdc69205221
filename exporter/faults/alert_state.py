"""The state of one rule about one entity from judgement to judgement."""

from dataclasses import dataclass, field
from enum import Enum

from exporter.model.verdict import Evidence, Key

UNKNOWN_ENDS_SECS = 300.0
"""A fault that could not be judged for so long is no longer shown as one: the cache's life."""


class Change(Enum):
    """What a judgement did to a fault."""

    NONE = "none"
    ACTIVE = "active"
    CLEARED = "cleared"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class Slot:
    """What a binding belongs to: a rule, an entity, and the partner it is bound to, if any."""

    rule: str
    key: Key
    partner: Key | None = None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the conditions of a rule said; None is unknown."""

    when: bool | None
    clear: bool | None


@dataclass(slots=True)
class Binding:
    """One rule about one entity (and one partner, where the rule binds one).

    Times are boot times in seconds. `held_secs` counts only time between two judgements that
    both held: what nobody saw does not count.
    """

    onset: float
    seen: float
    held_secs: float = 0.0
    is_active: bool = False
    is_clearing: bool = False
    cleared_secs: float = 0.0
    unknown_since: float | None = None
    is_escalated: bool = False
    confidence: float = 1.0
    summary: str = ""
    last_evidence: float = 0.0
    described: tuple[float, int] = (0.0, 0)  # the last event, and how many, when it was described
    evidence: tuple[Evidence, ...] = field(default_factory=tuple)

    @property
    def is_told(self) -> bool:
        """Whether events are among what it was found by, whoever told of them."""
        return self.described[1] > 0 or any(piece.raw for piece in self.evidence)

    def judge(
        self, verdicts: Verdicts, now: float, for_secs: float, clear_for_secs: float
    ) -> Change:
        """Take in one judgement at this boot time."""
        passed = max(0.0, now - self.seen)
        if not self.is_active:
            return self._wait(verdicts.when, passed, now, for_secs)
        self.seen = now
        if verdicts.when:
            self.is_clearing, self.unknown_since = False, None
            return Change.NONE
        if verdicts.clear is None:
            return self._doubt(now)
        self.unknown_since = None
        return self._clear(passed, clear_for_secs) if verdicts.clear else self._persist()

    @property
    def is_idle(self) -> bool:
        """Whether it neither holds nor is on the way to."""
        return not self.is_active and self.unknown_since is None and self.held_secs < 0

    def _wait(self, holds: bool | None, passed: float, now: float, for_secs: float) -> Change:  # noqa: FBT001 - one of three values
        if holds is None:
            if self.unknown_since is None:
                self.unknown_since = self.seen
            self.seen = now
            if now - self.unknown_since > UNKNOWN_ENDS_SECS:
                self.held_secs = -1.0
                self.unknown_since = None
            return Change.NONE
        if not holds:
            self.held_secs, self.unknown_since = -1.0, None
            return Change.NONE
        if self.unknown_since is None:
            self.held_secs += passed
        self.unknown_since = None
        self.seen = now
        if self.held_secs < for_secs:
            return Change.NONE
        self.is_active = True
        return Change.ACTIVE

    def _doubt(self, now: float) -> Change:
        if self.unknown_since is None:
            self.unknown_since = now
        self.is_clearing = False
        return Change.UNJUDGED if now - self.unknown_since > UNKNOWN_ENDS_SECS else Change.NONE

    def _persist(self) -> Change:
        self.is_clearing = False
        return Change.NONE

    def _clear(self, passed: float, clear_for_secs: float) -> Change:
        self.cleared_secs = self.cleared_secs + passed if self.is_clearing else 0.0
        self.is_clearing = True
        return Change.CLEARED if self.cleared_secs >= clear_for_secs else Change.NONE
