"""Families of faults, root causes and rules."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol, runtime_checkable

from exporter.collectors.exporter.incidents import incidents_of
from exporter.exposition.family import Family, Sample, family
from exporter.exposition.rows import Items, Row, families
from exporter.model.event import EventType
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import SEVERITIES, STATUSES, Conclusions, Fault, FaultState

MAX_SHOWN = 64
"""The most faults with own series, the most severe first; `hw_faults` counts all."""


CONCLUSIONS = Items(
    (),
    Conclusions,
    lambda snapshot: (((), snapshot.conclusions),) if snapshot.conclusions else (),
)


@runtime_checkable
class CountsEvents(Protocol):
    """A reading that counts its events itself, dropped ones included."""

    def counted_events(self) -> tuple[tuple[str, int], ...]:
        """Return the number of events of each type since the start."""
        ...


def _family(
    name: str, help_text: str, samples: Callable[[Conclusions], Iterable[Sample]], *labels: str
) -> Family:
    """Return a family that is absent where no rule is evaluated."""
    return family(
        name,
        help_text,
        lambda snapshot: samples(snapshot.conclusions) if snapshot.conclusions else (),
        *labels,
    )


def _shown(conclusions: Conclusions) -> list[Fault]:
    """Return the faults with series; a fault that can no longer be evaluated has none."""
    known = [fault for fault in conclusions.faults if fault.state is not FaultState.UNJUDGED]
    return known[:MAX_SHOWN]


def _active(conclusions: Conclusions) -> list[Fault]:
    return [fault for fault in _shown(conclusions) if fault.is_active]


def _fault_labels(fault: Fault) -> tuple[str, str, str]:
    return (fault.rule, fault.subject.hw_type, fault.subject.hw_id)


def _states(conclusions: Conclusions) -> Iterable[Sample]:
    for fault in _shown(conclusions):
        subject = fault.subject
        labels = (fault.rule, fault.severity, subject.hw_type, subject.hw_id, subject.hw_name)
        yield labels, fault.is_active


def _root_causes(conclusions: Conclusions) -> Iterable[Sample]:
    for fault in _active(conclusions):
        root = fault.root
        yield (*_fault_labels(fault), root.rule, root.subject.hw_type, root.subject.hw_id), 1


def _silenced(conclusions: Conclusions) -> Iterable[Sample]:
    return ((_fault_labels(it), 1) for it in _active(conclusions) if it.silence is not None)


def _incidents(conclusions: Conclusions) -> Iterable[Sample]:
    """Yield the text of the incident for each of its heads; equal ones have the same text."""
    shown = {_fault_labels(fault) for fault in _active(conclusions)}
    for incident in incidents_of(conclusions):
        for head in incident.heads:
            labels = _fault_labels(head)
            if labels in shown:
                yield (*labels, incident.summary, incident.details), 1


def _counts(conclusions: Conclusions) -> Iterable[Sample]:
    counts = Counter(fault.severity for fault in conclusions.active)
    for severity in SEVERITIES:
        yield (severity,), counts[severity]


def _statuses(conclusions: Conclusions) -> Iterable[Sample]:
    for subject, status in conclusions.statuses:
        for state in STATUSES:
            yield (subject.hw_type, subject.hw_id, state), state == status


def _events(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield the counts of events by type, with those that readings count themselves."""
    conclusions = snapshot.conclusions
    named = (each for each in snapshot.readings.values() if hasattr(each, "counted_events"))
    counting = [each for each in named if isinstance(each, CountsEvents)]
    if not counting and conclusions is None:
        return ()
    counts = Counter(dict(conclusions.events if conclusions else ()))
    for reading in counting:
        counts.update(dict(reading.counted_events()))
    return [((each.value,), counts[each.value]) for each in EventType]


FAULT = ("fault", "hw_type", "hw_id")
ACTIVE = Items(
    FAULT,
    Fault,
    lambda snapshot: (
        (_fault_labels(fault), fault)
        for fault in (_active(snapshot.conclusions) if snapshot.conclusions else ())
    ),
)

FAMILIES = (
    _family(
        "hw_fault_active",
        "Active faults (1), and faults that cleared in the last 15 minutes (0).",
        _states,
        *("fault", "severity", "hw_type", "hw_id", "hw_name"),
    ),
    _family(
        "hw_fault_root_cause",
        "Root cause of each active fault; always 1. The root cause of a root cause is the"
        " fault itself.",
        _root_causes,
        *(*FAULT, "cause", "cause_hw_type", "cause_hw_id"),
    ),
    _family(
        "hw_incident_info",
        "Text of the incident of each active root cause, for alert annotations; always 1. Where the"
        " root cause has ended, the gravest fault that follows and has had no alert has the text."
        " It may change during the incident: do not alert on these labels.",
        _incidents,
        *(*FAULT, "summary", "details"),
    ),
    _family(
        "hw_fault_silenced",
        "Active faults that are silenced; always 1.",
        _silenced,
        *FAULT,
    ),
    *families(
        "hw_fault_",
        ACTIVE,
        Row(
            "since_timestamp_seconds",
            "When the fault became active (Unix time).",
            "since",
            digits=3,
        ),
        Row("confidence_ratio", "Confidence in the active fault, 0 to 1.", "confidence"),
    ),
    *families(
        "hw_fault_",
        CONCLUSIONS,
        Row(
            "transitions_total",
            "Transitions of the fault to active, cleared or unknown.",
            labels=("fault", "state"),
        ),
    ),
    _family(
        "hw_faults",
        "Number of faults that are active now, by severity, silenced faults included.",
        _counts,
        "severity",
    ),
    _family(
        "hw_status",
        "State of a component: 1 for the current state. Only for components that report to be up"
        " and components with a fault.",
        _statuses,
        *("hw_type", "hw_id", "hw_state"),
    ),
    *families(
        "hw_node_",
        CONCLUSIONS,
        Row(
            "healthy",
            "Whether no critical fault is active on this node, except silenced faults.",
            "is_healthy",
        ),
    ),
    family(
        "hw_events_total",
        "Events by type: from the kernel log, drivers and external probes.",
        _events,
        "event_type",
    ),
    *families(
        "hw_causal_",
        CONCLUSIONS,
        Row(
            "nodes",
            "Components, processes and workloads in the causal graph.",
            labels=("type",),
        ),
        Row(
            "edges",
            "Dependencies in the causal graph: consumes, waits_on, blocked_by.",
            labels=("type",),
        ),
    ),
    *families(
        "hw_exporter_",
        CONCLUSIONS,
        Row("rules_loaded", "Number of fault rules that are loaded and evaluated."),
        Row(
            "rules_skipped",
            "Rule files (unreadable) and rules (syntax, invalid) left out, and rules that failed"
            " during evaluation (broken).",
            labels=("reason",),
        ),
    ),
    _family(
        "hw_exporter_rules_unjudged",
        "Components with at least one rule that could not be evaluated: their health is unknown.",
        lambda conclusions: [((), len(conclusions.unknown))],
    ),
    *families(
        "hw_exporter_",
        CONCLUSIONS,
        Row(
            "rule_duration_seconds_total",
            "Time spent on evaluating the fault rules.",
            "rule_seconds",
            digits=6,
        ),
    ),
)
