"""The documents `/faults` and `/why`: faults, their times and causes."""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from exporter.collectors.exporter.incidents import Incident, incidents_of, number_ranges
from exporter.collectors.gpu.values import Gpus
from exporter.model.silence import Silence
from exporter.model.snapshot import Snapshot
from exporter.model.transition import ENDED, KEPT_DAYS, Transition
from exporter.model.verdict import SEVERITIES, Cause, Conclusions, Evidence, Fault, Subject, dated
from exporter.reports.fields import fields_of

DAY_SECS = 86_400.0
MAX_LISTED = 500
"""The most components in one list: a node may have ten thousand processes."""


def faults_document(snapshot: Snapshot) -> dict[str, Any]:
    """Return active and lately ended faults; `healthy` is null while no rule is evaluated."""
    reported = snapshot.conclusions
    return {
        "node": snapshot.node,
        "healthy": None if reported is None else reported.is_healthy,
        "faults": [fault_document(it, reported.at) for it in reported.faults] if reported else [],
        "incidents": incident_documents(reported),
        "stale_gpus": _stale_gpus(snapshot),
        "unjudged": _unjudged(reported)[:MAX_LISTED],
    }


def history_document(rows: Iterable[Transition]) -> list[dict[str, Any]]:
    """Return transitions of faults, the newest first."""
    return [
        {
            "time": round(row.at, 3),
            "change": row.change,
            "rule": row.rule,
            "severity": row.severity,
            "entity": {"hw_type": row.hw_type, "hw_id": row.hw_id, "hw_name": row.hw_name},
            "root": row.is_root,
            "summary": row.summary,
        }
        for row in reversed(list(rows))
    ]


def days_document(reported: Conclusions | None, now: float) -> list[dict[str, Any]]:
    """Count the faults of each of the last days (UTC); empty without a history.

    Days before the first fault of the history are unknown: the exporter may not have run.
    """
    spans = lasted(reported.history, now) if reported else []
    known_since = min((at for _, _, at, _ in spans), default=now)
    today = now // DAY_SECS
    days = [(day * DAY_SECS, (day + 1) * DAY_SECS) for day in _last_days(today)]
    return [
        {
            "day": time.strftime("%Y-%m-%d", time.gmtime(begin)),
            "known": until > known_since,
            **dict.fromkeys(SEVERITIES, 0),
            **Counter(worst for _, worst, at, end in spans if at < until and end >= begin),
        }
        for begin, until in (days if spans else ())
    ]


def _last_days(today: float) -> list[float]:
    return [today - back for back in reversed(range(KEPT_DAYS))]


def _stale_gpus(snapshot: Snapshot) -> str:
    """Name the GPUs that are up but cannot be read now; empty if there are none."""
    gpus = snapshot.reading(Gpus)
    states = gpus.states if gpus else ()
    return number_ranges(f"GPU {state.gpu.index}" for state in states if state.is_unread)


def incident_documents(reported: Conclusions | None) -> list[dict[str, Any]]:
    """Return each incident: what is broken, affected GPUs and pods, since when, what to do."""
    return [
        {
            **fields_of(incident, "rule", "severity", "summary", "affects", "details"),
            "since": round(incident.since, 3),
            "action_text": incident.action,
            "roots": [_place(root.rule, root.subject) for root in _roots(incident)][:MAX_LISTED],
            "follow_count": len(incident.follows),
            "silenced": _silence_document(incident.silence),
        }
        for incident in incidents_of(reported)
    ]


def _silence_document(silence: Silence | None) -> dict[str, Any] | None:
    """Return the silence of a fault as JSON: id, end, author, reason; None without a silence."""
    if silence is None:
        return None
    return {
        "id": silence.id,
        "until": round(silence.until, 3),
        "by": silence.by,
        "reason": silence.reason,
    }


def _roots(incident: Incident) -> tuple[Fault | Cause, ...]:
    """Return the roots of an incident; an ended root from the causes of its consequences."""
    return incident.roots or tuple(dict.fromkeys(fault.root for fault in incident.follows))


def _place(rule: str, subject: Subject) -> dict[str, str]:
    return {"rule": rule, "hw_type": subject.hw_type, "hw_id": subject.hw_id}


def _unjudged(reported: Conclusions | None) -> list[dict[str, Any]]:
    """Return the rules that could not be evaluated, by component."""
    rows = reported.unknown.items() if reported else ()
    return [{"entity": subject_document(subject), "rules": list(rules)} for subject, rules in rows]


def fault_document(fault: Fault, at: float) -> dict[str, Any]:
    """Return all fields of one fault; `at` is the time of the conclusions, since the epoch."""
    return {
        "rule": fault.rule,
        "severity": fault.severity,
        "state": fault.state.value,
        "entity": subject_document(fault.subject),
        "since": round(fault.since, 3),
        "ended": None if fault.ended is None else round(fault.ended, 3),
        "confidence": fault.confidence,
        "summary": fault.summary,
        "evidence": [_evidence(piece) for piece in dated(fault.evidence, at)],
        "root": fault.is_root,
        "causes": [_cause(cause) for cause in fault.causes],
        "action": fault.action,
        "action_text": fault.advice,
        "runbook": fault.runbook,
        "affected": [subject_document(subject) for subject in fault.affected[:MAX_LISTED]],
        "affected_count": len(fault.affected),
        "silenced": _silence_document(fault.silence),
        "times": fault.times,
    }


def subject_document(subject: Subject) -> dict[str, str]:
    """Return the component of a fault."""
    return fields_of(subject, "hw_type", "hw_id", "hw_name")


def _evidence(piece: Evidence) -> dict[str, Any]:
    return {
        **fields_of(piece, "name", "value", "threshold"),
        "time": piece.at and round(piece.at, 3),
        "raw": piece.raw or None,
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "rule": cause.rule,
        "entity": subject_document(cause.subject),
        "via": cause.via,
        "summary": cause.summary,
        "since": None if cause.since is None else round(cause.since, 3),
    }


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
            worst = min(severity, row.severity, key=SEVERITIES.index)
            running[row.place] = (worst, began)
    return [*found, *((place, *state, now) for place, state in running.items())]
