"""Whether somebody is told of each incident: that an alert of one of its heads fires."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from exporter.collectors.everything import rule_book
from exporter.collectors.exporter.incidents import incidents_of
from exporter.model.verdict import Cause, Conclusions, Fault
from tools.alerting.rules import wait_secs

PATIENCE_SECS = 300.0
"""An incident that goes on for so long has to be told."""


@cache
def _waits() -> Mapping[str, float]:
    rules = {rule.id: rule for rule in rule_book().rules}
    return {rule.id: wait_secs(rule, rules) for rule in rules.values()}


def wait_of(name: str) -> float:
    """Return for how many seconds the alert of a fault waits; the fault as `rule@component`."""
    return _waits().get(name.partition("@")[0], 0.0)


def written(row: Fault | Cause) -> str:
    """Return a fault or cause as `rule@component`."""
    return f"{row.rule}@{row.subject.hw_id}"


@dataclass(slots=True)
class Alerted:
    """Follows the incidents of one recording; times in seconds."""

    _since: dict[str, float] = field(default_factory=dict)  # incidents above info, by root
    _heads: dict[tuple[str, str], float] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def look(self, now: float, conclusions: Conclusions) -> Iterator[str]:
        """Take in one moment; yield the incidents that went on and had no alert."""
        loud = {
            written(it.faults[0].root): it
            for it in incidents_of(conclusions)
            if it.severity != "info"
        }
        heads = {(root, written(head)) for root, it in loud.items() for head in it.heads}
        lasted = {**dict.fromkeys(heads, now), **self._heads}  # up to now, or to just before
        self._told |= {root for (root, head), at in lasted.items() if now - at >= wait_of(head)}
        self._told &= loud.keys()
        self._heads = {each: lasted[each] for each in heads}
        self._since = {root: self._since.get(root, now) for root in loud}
        for root, since in self._since.items():
            if now - since > PATIENCE_SECS and root not in self._told:
                yield root
