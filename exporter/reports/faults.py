"""The documents `/faults` and `/why`: what is broken, since when, and what it follows from."""

from typing import Any

from exporter.collectors.gpu.values import Gpus
from exporter.model.incident import Incident, incidents_of, number_ranges
from exporter.model.silence import silence_document
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Cause, Conclusions, Evidence, Fault, Subject
from exporter.reports.fields import fields_of

MAX_LISTED = 500
"""So many components are named in one list: a node may have ten thousand processes."""


def faults_document(snapshot: Snapshot) -> dict[str, Any]:
    """All active faults and those that ended lately; `healthy` is null while nobody judges."""
    reported = snapshot.conclusions
    return {
        "node": snapshot.node,
        "healthy": None if reported is None else reported.is_healthy,
        "faults": [fault_document(fault) for fault in (reported.faults if reported else ())],
        "incidents": incident_documents(reported),
        "stale_gpus": stale_gpus(snapshot),
        "unjudged": unjudged(reported)[:MAX_LISTED],
    }


def stale_gpus(snapshot: Snapshot) -> str:
    """Name the GPUs that count as up and cannot be read now; empty where every GPU is read."""
    gpus = snapshot.reading(Gpus)
    states = gpus.states if gpus else ()
    return number_ranges(f"GPU {state.gpu.index}" for state in states if state.is_unread)


def incident_documents(reported: Conclusions | None) -> list[dict[str, Any]]:
    """Tell each incident: what is broken, whom it affects, since when, what to do."""
    return [
        {
            **fields_of(incident, "rule", "severity", "summary", "affects", "details"),
            "since": round(incident.since, 3),
            "action_text": incident.action,
            "roots": [_place(root.rule, root.subject) for root in _roots(incident)][:MAX_LISTED],
            "follow_count": len(incident.follows),
            "silenced": silence_document(incident.silence),
        }
        for incident in incidents_of(reported)
    ]


def _roots(incident: Incident) -> tuple[Fault | Cause, ...]:
    """Return the roots of an incident; what follows from one that has ended names it still."""
    return incident.roots or tuple(dict.fromkeys(fault.root for fault in incident.follows))


def _place(rule: str, subject: Subject) -> dict[str, str]:
    return {"rule": rule, "hw_type": subject.hw_type, "hw_id": subject.hw_id}


def unjudged(reported: Conclusions | None) -> list[dict[str, Any]]:
    """Which rules could not be judged, and about what."""
    rows = reported.unknown.items() if reported else ()
    return [{"entity": subject_document(subject), "rules": list(rules)} for subject, rules in rows]


def fault_document(fault: Fault) -> dict[str, Any]:
    """One fault with everything that is known of it."""
    return {
        "rule": fault.rule,
        "severity": fault.severity,
        "state": fault.state.value,
        "entity": subject_document(fault.subject),
        "since": round(fault.since, 3),
        "ended": None if fault.ended is None else round(fault.ended, 3),
        "confidence": fault.confidence,
        "summary": fault.summary,
        "evidence": [_evidence(piece) for piece in fault.evidence],
        "root": fault.is_root,
        "causes": [_cause(cause) for cause in fault.causes],
        "action": fault.action,
        "action_text": fault.advice,
        "runbook": fault.runbook,
        "affected": [subject_document(subject) for subject in fault.affected[:MAX_LISTED]],
        "affected_count": len(fault.affected),
        "silenced": silence_document(fault.silence),
    }


def subject_document(subject: Subject) -> dict[str, str]:
    """Return what a fault is about."""
    return fields_of(subject, "hw_type", "hw_id", "hw_name")


def _evidence(piece: Evidence) -> dict[str, Any]:
    return {
        **fields_of(piece, "name", "value", "threshold"),
        "time": round(piece.at, 3),
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
