"""The document of `/why`: why a process or component is slow or broken."""

from collections.abc import Iterator
from typing import Any

from exporter.clock import rfc3339
from exporter.collectors.exporter.incidents import incidents_of
from exporter.faults.explain import GraphStep, Place, Wanted, explain
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Fault, Subject
from exporter.reports.faults import fault_document, incident_documents, subject_document
from exporter.reports.incidents import entity_name

MAX_CAUSES = 50

WORDS = {
    "consumes": "uses",
    "runs_in": "runs in",
    "part_of": "depends on",
    "below": "is below",
    "waits_on": "waits for",
    "reached_over": "is reached over the network by",
}
"""The verb of each relation in a sentence, from the dependent component to the other."""

WORDS_BACK = {"consumes": "is used by", "runs_in": "runs", "part_of": "has"}
"""The verbs of relations that are followed against their direction."""


def why_document(
    snapshot: Snapshot, wanted: Wanted, *, max_causes: int = MAX_CAUSES
) -> dict[str, Any]:
    """Return what the subject waits for, the causes, and the healthy and unknown components.

    Raises NoSuchSubject.
    """
    conclusions = snapshot.conclusions or Conclusions()
    found = explain(conclusions, snapshot.node, wanted)
    number_of = {
        (fault.rule, fault.subject): number
        for number, incident in enumerate(incidents_of(conclusions))
        for fault in incident.faults
    }
    return {
        "node": snapshot.node,
        "evaluated": snapshot.conclusions is not None,
        "subject": subject_document(found.subject),
        "waits": [
            {"entity": subject_document(other), "evidence": evidence}
            for other, evidence in found.waits
        ],
        "incidents": incident_documents(conclusions),
        "causes": [
            {
                **_cause_document(fault, list(_way(found.subject, place)), conclusions.at),
                "incident": number_of[fault.rule, fault.subject],
            }
            for fault, place in found.causes[:max_causes]
        ],
        "healthy_counts": found.healthy_counts,
        "healthy": [
            {"entity": subject_document(subject), "rules": list(rules)}
            for subject, rules in (found.healthy if wanted.everything else ())
        ],
        "unknown": [
            {"entity": subject_document(subject), "rules": list(rules)}
            for subject, rules in found.unknown
        ],
    }


def _way(subject: Subject, place: Place) -> Iterator[str]:
    """Yield the sentences that lead from the subject to a place."""
    yield from map(_sentence, place.steps)
    if place.is_shared:
        yield "both are on this node"
    if place.is_affecting:
        yield f"{_name(subject)} is affected by it"


def _sentence(step: GraphStep) -> str:
    relation = step.edge.relation
    word = WORDS_BACK[relation] if step.is_back else WORDS.get(relation, "needs")
    evidence = f" ({step.edge.evidence})" if step.edge.evidence else ""
    return f"{_name(step.near)} {word} {_name(step.far)}{evidence}"


def _cause_document(fault: Fault, way: list[str], at: float) -> dict[str, Any]:
    path = [*way, f"{_name(fault.subject)} has {fault.rule} since {rfc3339(fault.since)}"]
    for cause in fault.causes:
        since = "" if cause.since is None else f" since {rfc3339(cause.since)}"
        path.append(f"which follows from {cause.rule} of {_name(cause.subject)}{since}")
    root = fault.root
    return {
        "fault": fault_document(fault, at),
        "root": {
            "rule": root.rule,
            "entity": subject_document(root.subject),
            "summary": root.summary,
        },
        "path": path,
    }


def _name(subject: Subject) -> str:
    return entity_name(subject_document(subject))
