"""What the detectors and their rules say of simulated nodes, against the labels."""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from bench.figures import Figure
from bench.unusual.incidents import KINDS, Incident, incidents
from bench.unusual.jobs import DAY, GPUS, HOUR, jobs
from bench.unusual.node import BOOTED_AT, Node
from bench.unusual.visits import visits
from exporter.collectors.detectors.detectors import OWN_RULES, Detectors
from exporter.collectors.detectors.past import AnomalyDetector
from exporter.collectors.detectors.siblings import SiblingDetector
from exporter.collectors.everything import EVERYTHING, rule_book
from exporter.faults.engine import RuleEngine
from exporter.faults.rules.loader import RuleBook

TUNED_ON = (1, 2, 3, 4)
JUDGED_ON = (301, 302, 303, 304)
DAYS = 15.0
MONTH = 30 * DAY
SLICES = 5
ENDS_LATE_SECS = HOUR
"""So long after its end an incident may still be what is said: rules clear after a time."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """One fault of one GPU, since when in seconds."""

    rule: str
    gpu: int
    since: float


@dataclass(slots=True)
class Outcome:
    """One node: its labels, for how long its GPUs were seen, and what was said."""

    labels: Sequence[Incident]
    gpu_secs: float
    alarms: list[Alarm] = field(default_factory=list)

    def found(self) -> list[Incident]:
        """Return the incidents that were said before their end."""
        return [
            label
            for label in self.labels
            if any(
                alarm.gpu == label.gpu and label.begins <= alarm.since < label.ends
                for alarm in self.alarms
            )
        ]

    def false(self) -> list[Alarm]:
        """Return the faults of GPUs that nothing was wrong with."""
        return [
            alarm
            for alarm in self.alarms
            if not any(
                alarm.gpu == label.gpu and label.begins <= alarm.since < label.ends + ENDS_LATE_SECS
                for label in self.labels
            )
        ]


def judged(seed: int, days: float = DAYS) -> Outcome:
    """Run one node through the detectors and their rules."""
    logging.disable(logging.WARNING)
    planned = jobs(seed, days)
    labels = incidents(seed, days, planned)
    outcome = Outcome(labels, GPUS * days * DAY)
    rules = tuple(rule for rule in rule_book().rules if rule.id in OWN_RULES)
    detectors = Detectors(SiblingDetector(), AnomalyDetector())
    engine = RuleEngine(
        RuleBook(rules), EVERYTHING.subjects, time.perf_counter, "", detect=detectors.see
    )
    known: set[tuple[str, str]] = set()
    node = Node(seed, planned, labels, visits(seed, days, planned))
    for snapshot in node.snapshots(days):
        conclusions = engine.conclude(snapshot)
        for _ in range(SLICES):
            if not detectors.advance():
                break
        active = {(fault.rule, fault.subject.hw_id): fault for fault in conclusions.active}
        for place in active.keys() - known:
            since = snapshot.taken_at - BOOTED_AT
            outcome.alarms.append(Alarm(place[0], int(place[1].removeprefix("GPU-")), since))
        known = set(active)
    return outcome


def all_figures() -> Iterator[Figure]:
    """Yield the figures of the nodes that were used for tuning, and of those that were not."""
    with ProcessPoolExecutor() as pool:
        for name, seeds in (("tuned on", TUNED_ON), ("not tuned on", JUDGED_ON)):
            outcomes = [*pool.map(judged, seeds)]
            for seed, outcome in zip(seeds, outcomes, strict=True):
                _misses(seed, outcome)
            yield from figures(f"seeds {seeds[0]} to {seeds[-1]}, {name}", outcomes)


def _misses(seed: int, outcome: Outcome) -> None:
    """Print what was not found, and what was said of GPUs that nothing was wrong with."""
    for label in outcome.labels:
        if label not in outcome.found():
            print(f"seed {seed}: not found: {label.kind} of GPU {label.gpu}, size {label.size:.2f}")
    for alarm in outcome.false():
        print(f"seed {seed}: false: {alarm.rule} of GPU {alarm.gpu} at {alarm.since / HOUR:.1f} h")


def figures(name: str, outcomes: Sequence[Outcome]) -> Iterable[Figure]:
    """Yield detection and false alarms of several nodes together."""
    labels = [label for outcome in outcomes for label in outcome.labels]
    found = [label for outcome in outcomes for label in outcome.found()]
    months = sum(outcome.gpu_secs for outcome in outcomes) / MONTH
    yield Figure(f"unusual GPUs, {name}: GPU months", months)
    yield Figure(f"unusual GPUs, {name}: incidents", len(labels))
    yield Figure(
        f"unusual GPUs, {name}: found", len(found) / len(labels), budget=0.9, at_least=True
    )
    for kind in KINDS:
        of_kind = [label for label in labels if label.kind == kind]
        share = sum(label.kind == kind for label in found) / max(1, len(of_kind))
        yield Figure(f"unusual GPUs, {name}: found, {kind} ({len(of_kind)})", share)
    false = sum(len(outcome.false()) for outcome in outcomes)
    yield Figure(
        f"unusual GPUs, {name}: false alarms", false / months, "per GPU and month", budget=1
    )
