"""Why a process or component is slow or broken: ranked causes, each with its path."""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.model.incident import incidents_of
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import SEVERITIES, Conclusions, Edge, Fault, Key, Subject
from exporter.reports.faults import fault_document, incident_documents, subject_document
from exporter.reports.incidents import entity_name

MAX_STEPS = 4
"""How far from the subject faults are looked for: a workload, its process, its GPU, its slot."""

MAX_CAUSES = 50
SHARED = ("both are on this node",)
NO_WAY = ("peer",)
"""Relations that do not lead to causes: a neighbour by NVLink is no part of what is asked about."""

WORDS = {
    "consumes": "uses",
    "runs_in": "runs in",
    "part_of": "depends on",
    "below": "is below",
    "waits_on": "waits for",
}
"""Relations as a sentence has them, from the component that depends to what it depends on."""

LED_BACK = {"consumes": "is used by", "runs_in": "runs", "part_of": "has"}
"""Relations that are also followed against their direction, from the subject only.

Anywhere else that would lead to neighbours: who shares a GPU with a process is no cause for it.
"""


class NoSuchSubject(Exception):
    """There is no process or component of that name; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked about: a process by its pid, a component by its id, or with neither all.

    With `everything` also what is well is named, not only counted.
    """

    pid: str = ""
    hw_id: str = ""
    everything: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A component near the subject, and the words that lead to it."""

    subject: Subject
    path: tuple[str, ...]


def why_document(
    snapshot: Snapshot, wanted: Wanted, *, max_causes: int = MAX_CAUSES
) -> dict[str, Any]:
    """Say what it waits for, the causes, what is well, and what could not be looked at.

    Raises NoSuchSubject.
    """
    conclusions = snapshot.conclusions or Conclusions()
    subject = _subject(conclusions, snapshot.node, wanted)
    places = list(_around(conclusions, subject))
    own = {
        (fault.root.rule, fault.root.subject)
        for fault in conclusions.active
        if fault.subject == subject
    }
    found = _causes(conclusions, places, subject)
    ranked = sorted(found, key=lambda row: _rank(row, own))
    healthy = list(_healthy(conclusions, places))
    kinds = Counter(row["entity"]["hw_type"] for row in healthy)
    number_of = {
        (fault.rule, fault.subject): number
        for number, incident in enumerate(incidents_of(conclusions))
        for fault in incident.faults
    }
    return {
        "node": snapshot.node,
        "subject": subject_document(subject),
        "waits": list(_waits(conclusions, subject)),
        "incidents": incident_documents(conclusions),
        "causes": [
            {
                **_cause_document(fault, place),
                "incident": number_of[fault.rule, fault.subject],
            }
            for fault, place in ranked[:max_causes]
        ],
        "healthy_counts": dict(kinds),
        "healthy": healthy if wanted.everything else [],
        "unknown": list(_unknown(conclusions, places)),
    }


def _subject(conclusions: Conclusions, node: str, wanted: Wanted) -> Subject:
    """Find the component or process that is asked about."""
    named = [each for fault in conclusions.faults for each in (fault.subject, *fault.affected)]
    for subject in (*conclusions.subjects, *named):
        if wanted.pid and subject.kind == "process" and subject.hw_id == wanted.pid:
            return subject
        if wanted.hw_id and wanted.hw_id in (subject.hw_id, subject.hw_name):
            return subject
        if not wanted.pid and not wanted.hw_id and subject.kind == "node":
            return subject
    if wanted.pid:
        raise NoSuchSubject(f"no process {wanted.pid} is known here: only those on GPUs are")
    if wanted.hw_id:
        return _workload_of(conclusions, wanted.hw_id)
    return Subject("node", "node", node, node)


def _workload_of(conclusions: Conclusions, pod: str) -> Subject:
    """Find the only workload of a pod; raise NoSuchSubject where there is none or a choice."""
    found = {each.hw_id: each for each in conclusions.subjects if pod in _pod_names(each)}
    if len(found) > 1:
        raise NoSuchSubject(f"{pod!r} is one of: {', '.join(sorted(found))}")
    if not found:
        raise NoSuchSubject(f"no component {pod!r} is known here")
    return next(iter(found.values()))


def _pod_names(subject: Subject) -> tuple[str, ...]:
    """Return the names of a workload's pod, with and without its namespace."""
    whole, _, _ = subject.hw_id.rpartition("/")
    return (whole, whole.partition("/")[2]) if subject.kind == "workload" and "/" in whole else ()


def _waits(conclusions: Conclusions, subject: Subject) -> Iterator[dict[str, Any]]:
    """Yield what the subject waits for, broken or not: also who holds its lock."""
    known = {each.key: each for each in conclusions.subjects}
    for edge in conclusions.graph:
        if edge.relation == "waits_on" and edge.source == subject.key and edge.target in known:
            other = subject_document(known[edge.target])
            yield {"entity": other, "evidence": edge.evidence}


def _around(conclusions: Conclusions, subject: Subject) -> Iterator[_Place]:
    """Yield the subject and what it depends on, nearest first, each with the way there."""
    if subject.kind == "node":
        for other in conclusions.subjects:
            yield _Place(other, ())
        return
    known = {each.key: each for each in conclusions.subjects}
    edges: dict[Key, list[Edge]] = {}
    for edge in conclusions.graph:
        if edge.relation in NO_WAY:
            continue
        edges.setdefault(edge.source, []).append(edge)
        if edge.target == subject.key and edge.relation in LED_BACK:
            edges.setdefault(edge.target, []).append(edge)
    level = [_Place(known.pop(subject.key, subject), ())]
    for _ in range(MAX_STEPS):
        yield from level
        level = [place for near in level for place in _beyond(near, edges, known)]
    yield from level
    yield from (_Place(s, SHARED) for s in conclusions.subjects if s.kind == "node")


def _beyond(
    place: _Place, edges: Mapping[Key, Iterable[Edge]], unseen: dict[Key, Subject]
) -> Iterator[_Place]:
    """Yield what one place depends on, and take it out of what is unseen."""
    for edge in edges.get(place.subject.key, ()):
        is_back = edge.source != place.subject.key
        other = unseen.pop(edge.source if is_back else edge.target, None)
        if other is not None:
            word = LED_BACK[edge.relation] if is_back else WORDS.get(edge.relation, "needs")
            evidence = f" ({edge.evidence})" if edge.evidence else ""
            step = f"{_name(place.subject)} {word} {_name(other)}{evidence}"
            yield _Place(other, (*place.path, step))


def _causes(
    conclusions: Conclusions, places: Iterable[_Place], subject: Subject
) -> Iterator[tuple[Fault, _Place]]:
    """Yield the active faults of all places, and those that affect the subject, each once."""
    by_subject: dict[Subject, list[Fault]] = {}
    for fault in conclusions.active:
        by_subject.setdefault(fault.subject, []).append(fault)
    for place in places:
        for fault in by_subject.pop(place.subject, ()):
            yield fault, place
    for faults in by_subject.values():
        for fault in faults:
            if subject in fault.affected:
                yield fault, _Place(fault.subject, (f"{_name(subject)} is affected by it",))


def _rank(
    found: tuple[Fault, _Place], own: Collection[tuple[str, Subject]]
) -> tuple[bool, bool, bool, int, int, float]:
    """Order by what the subject's own faults follow from; then roots, the severe, the near.

    What only has the node in common with the subject comes after what it depends on.
    """
    fault, place = found
    is_own = (fault.root.rule, fault.root.subject) in own
    is_shared = place.path == SHARED
    severity = SEVERITIES.index(fault.severity)
    return (not is_own, is_shared, not fault.is_root, severity, len(place.path), fault.since)


def _cause_document(fault: Fault, place: _Place) -> dict[str, Any]:
    path = [*place.path, f"{_name(fault.subject)} has {fault.rule} since {_when(fault.since)}"]
    for cause in fault.causes:
        since = "" if cause.since is None else f" since {_when(cause.since)}"
        path.append(f"which follows from {cause.rule} of {_name(cause.subject)}{since}")
    root = fault.root
    return {
        "fault": fault_document(fault),
        "root": {
            "rule": root.rule,
            "entity": subject_document(root.subject),
            "summary": root.summary,
        },
        "path": path,
    }


def _name(subject: Subject) -> str:
    return entity_name(subject_document(subject))


def _when(wall: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall))


def _healthy(conclusions: Conclusions, places: Iterable[_Place]) -> Iterator[dict[str, Any]]:
    """Yield the places that have no fault and no rule that could not be judged, with the rules.

    A rule that is off where nothing is said of its matter does not speak for health.
    """
    broken = {fault.subject for fault in conclusions.active}
    for place in places:
        if place.subject in broken or conclusions.unknown.get(place.subject):
            continue
        silent = conclusions.silent.get(place.subject, ())
        rules = conclusions.rules.get(place.subject.kind, ())
        if judged := [rule for rule in rules if rule not in silent]:
            yield {"entity": subject_document(place.subject), "rules": judged}


def _unknown(conclusions: Conclusions, places: Iterable[_Place]) -> Iterator[dict[str, Any]]:
    for place in places:
        if rules := conclusions.unknown.get(place.subject):
            yield {"entity": subject_document(place.subject), "rules": list(rules)}
