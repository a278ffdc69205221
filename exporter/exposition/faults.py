"""Families of what is broken and why, and of the judging itself."""

from collections import Counter
from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.model.event import EventType
from exporter.model.kernel_log import KernelLog
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import SEVERITIES, STATUSES, Conclusions, Fault, FaultState

MAX_SHOWN = 64
"""Faults that get series of their own, the most severe first; `hw_faults` counts them all."""


def _of(
    samples: Callable[[Conclusions], Iterable[Sample]],
) -> Callable[[Snapshot], Iterable[Sample]]:
    """The samples where there are conclusions, nothing where nobody judged."""
    return lambda snapshot: samples(snapshot.conclusions) if snapshot.conclusions else ()


def _shown(conclusions: Conclusions) -> list[Fault]:
    """The faults with series; what can no longer be judged has none: it may be well or not."""
    told = [fault for fault in conclusions.faults if fault.state is not FaultState.UNJUDGED]
    return told[:MAX_SHOWN]


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
        rule, subject = fault.rule, fault.subject
        if fault.causes:
            rule, subject = fault.causes[-1].rule, fault.causes[-1].subject
        yield (*_fault_labels(fault), rule, subject.hw_type, subject.hw_id), 1


def _since(conclusions: Conclusions) -> Iterable[Sample]:
    for fault in _active(conclusions):
        yield _fault_labels(fault), round(fault.since, 3)


def _confidence(conclusions: Conclusions) -> Iterable[Sample]:
    for fault in _active(conclusions):
        yield _fault_labels(fault), fault.confidence


def _counts(conclusions: Conclusions) -> Iterable[Sample]:
    counts = Counter(fault.severity for fault in conclusions.active)
    for severity in SEVERITIES:
        yield (severity,), counts[severity]


def _statuses(conclusions: Conclusions) -> Iterable[Sample]:
    for subject, status in conclusions.statuses:
        for state in STATUSES:
            yield (subject.hw_type, subject.hw_id, state), state == status


def _rows(rows: Iterable[tuple[str, int]]) -> Iterable[Sample]:
    for label, count in rows:
        yield (label,), count


def _events(snapshot: Snapshot) -> Iterable[Sample]:
    """Those of the kernel log, which counts them itself, and all others."""
    log, said = snapshot.reading(KernelLog), snapshot.conclusions
    if log is None and said is None:
        return ()
    counts = Counter(dict(log.types if log else ()))
    counts.update(dict(said.events if said else ()))
    return _rows((each.value, counts[each.value]) for each in EventType)


FAMILIES = (
    Family(
        "hw_fault_active",
        "Faults that hold (1), and those that ended in the last 15 minutes (0).",
        Kind.GAUGE,
        ("fault", "severity", "hw_type", "hw_id", "hw_name"),
        _of(_states),
    ),
    Family(
        "hw_fault_root_cause",
        "What each active fault follows from in the end; a root names itself; always 1.",
        Kind.GAUGE,
        ("fault", "hw_type", "hw_id", "cause", "cause_hw_type", "cause_hw_id"),
        _of(_root_causes),
    ),
    Family(
        "hw_fault_since_timestamp_seconds",
        "Since when an active fault holds.",
        Kind.GAUGE,
        ("fault", "hw_type", "hw_id"),
        _of(_since),
    ),
    Family(
        "hw_fault_confidence_ratio",
        "How sure an active fault is, 0 to 1.",
        Kind.GAUGE,
        ("fault", "hw_type", "hw_id"),
        _of(_confidence),
    ),
    Family(
        "hw_fault_transitions_total",
        "How often a fault began (active), ended (cleared) or could no longer be judged.",
        Kind.COUNTER,
        ("fault", "state"),
        _of(lambda said: [((rule, state), n) for rule, state, n in said.transitions]),
    ),
    Family(
        "hw_faults",
        "Active faults.",
        Kind.GAUGE,
        ("severity",),
        _of(_counts),
    ),
    Family(
        "hw_status",
        "State of a component: 1 for the state it is in. GPUs that answer, and what has a fault.",
        Kind.GAUGE,
        ("hw_type", "hw_id", "hw_state"),
        _of(_statuses),
    ),
    Family(
        "hw_node_healthy",
        "Whether no critical fault is active (1), root or not.",
        Kind.GAUGE,
        (),
        _of(lambda said: one(said.is_healthy)),
    ),
    Family(
        "hw_events_total",
        "Events seen: lines of the kernel log, GPU events, and what external probes report.",
        Kind.COUNTER,
        ("event_type",),
        _events,
    ),
    Family(
        "hw_causal_nodes",
        "Components, processes and workloads in the graph of causes.",
        Kind.GAUGE,
        ("type",),
        _of(lambda said: _rows(said.nodes)),
    ),
    Family(
        "hw_causal_edges",
        "Dependencies in the graph of causes: consumes, waits_on, blocked_by.",
        Kind.GAUGE,
        ("type",),
        _of(lambda said: _rows(said.edges)),
    ),
    Family(
        "hw_exporter_rules_loaded",
        "Fault rules in use.",
        Kind.GAUGE,
        (),
        _of(lambda said: one(said.rules_loaded)),
    ),
    Family(
        "hw_exporter_rules_skipped",
        "Rule files with a mistake (unreadable, syntax, invalid) and rules that broke (broken).",
        Kind.GAUGE,
        ("reason",),
        _of(lambda said: _rows(said.rules_skipped)),
    ),
    Family(
        "hw_exporter_rules_unjudged",
        "Components for which at least one rule could not be judged: their health is not known.",
        Kind.GAUGE,
        (),
        _of(lambda said: one(len(said.unknown))),
    ),
    Family(
        "hw_exporter_rule_duration_seconds_total",
        "Time spent judging.",
        Kind.COUNTER,
        (),
        _of(lambda said: one(round(said.rule_seconds, 6))),
    ),
)
