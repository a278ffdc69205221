"""Why a process or component is slow or broken: ranked causes, each with its path."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Edge, Fault, Key, Subject
from exporter.web.fault_documents import fault_document, name_of, root_of, subject_document

MAX_STEPS = 3
"""How far from the subject faults are looked for: process, its component, what that is part of."""

MAX_CAUSES = 50
SHARED = ("the node is shared by all",)
SEVERITY_ORDER = {"critical": 0, "warning": 1, "info": 2}


class NoSuchSubject(Exception):
    """There is no process or component of that name; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked about: a process by its pid, a component by its id, or with neither all."""

    pid: str = ""
    hw_id: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """A component near the subject, and the words that lead to it."""

    subject: Subject
    path: tuple[str, ...]


def why_document(snapshot: Snapshot, wanted: Wanted) -> dict[str, Any]:
    """What it waits for, the causes, what is well, and what could not be looked at.

    Raises NoSuchSubject.
    """
    said = snapshot.conclusions or Conclusions()
    subject = _subject(said, snapshot.node, wanted)
    places = list(_around(said, subject))
    own = {root_of(fault)[:2] for fault in said.active if fault.subject == subject}
    ranked = sorted(_causes(said, places), key=lambda found: _rank(found, own))
    return {
        "node": snapshot.node,
        "subject": subject_document(subject),
        "waits": list(_waits(said, subject)),
        "causes": [_cause_document(fault, place) for fault, place in ranked[:MAX_CAUSES]],
        "healthy": list(_healthy(said, places)),
        "unknown": list(_unknown(said, places)),
    }


def _subject(said: Conclusions, node: str, wanted: Wanted) -> Subject:
    """The component or process that is asked about."""
    named = [fault.subject for fault in said.faults]
    for subject in (*said.subjects, *named):
        if wanted.pid and subject.kind == "process" and subject.hw_id == wanted.pid:
            return subject
        if wanted.hw_id and wanted.hw_id in (subject.hw_id, subject.hw_name):
            return subject
        if not wanted.pid and not wanted.hw_id and subject.kind == "node":
            return subject
    if wanted.pid:
        raise NoSuchSubject(f"no process {wanted.pid} is known here: only those on GPUs are")
    if wanted.hw_id:
        raise NoSuchSubject(f"no component {wanted.hw_id!r} is known here")
    return Subject("node", "node", node, node)


def _waits(said: Conclusions, subject: Subject) -> Iterator[dict[str, Any]]:
    """What the subject waits for, also where that is not broken itself: who holds its lock."""
    known = {each.key: each for each in said.subjects}
    for edge in said.graph:
        if edge.relation == "waits_on" and edge.source == subject.key and edge.target in known:
            other = subject_document(known[edge.target])
            yield {"entity": other, "evidence": edge.evidence}


def _around(said: Conclusions, subject: Subject) -> Iterator[_Place]:
    """The subject and what it depends on, nearest first, each with the way there."""
    if subject.kind == "node":
        for other in said.subjects:
            yield _Place(other, ())
        return
    known = {each.key: each for each in said.subjects}
    edges: dict[Key, list[Edge]] = {}
    for edge in said.graph:
        edges.setdefault(edge.source, []).append(edge)
        if edge.relation == "consumes":
            edges.setdefault(edge.target, []).append(edge)
    level = [_Place(known.pop(subject.key, subject), ())]
    for _ in range(MAX_STEPS):
        yield from level
        level = [place for near in level for place in _beyond(near, edges, known)]
    yield from level
    yield from (_Place(s, SHARED) for s in said.subjects if s.kind == "node")


def _beyond(
    place: _Place, edges: Mapping[Key, Iterable[Edge]], unseen: dict[Key, Subject]
) -> Iterator[_Place]:
    """What one place depends on, and is not seen any more from now on."""
    for edge in edges.get(place.subject.key, ()):
        is_used = edge.source != place.subject.key
        if is_used and place.path:
            continue
        other = unseen.pop(edge.source if is_used else edge.target, None)
        if other is not None:
            word = "is used by" if is_used else edge.relation
            evidence = f" ({edge.evidence})" if edge.evidence else ""
            step = f"{name_of(place.subject)} {word} {name_of(other)}{evidence}"
            yield _Place(other, (*place.path, step))


def _causes(said: Conclusions, places: Iterable[_Place]) -> Iterator[tuple[Fault, _Place]]:
    """The active faults of all places, each once."""
    by_subject: dict[Subject, list[Fault]] = {}
    for fault in said.active:
        by_subject.setdefault(fault.subject, []).append(fault)
    for place in places:
        for fault in by_subject.pop(place.subject, ()):
            yield fault, place


def _rank(
    found: tuple[Fault, _Place], own: Collection[tuple[str, Subject]]
) -> tuple[bool, bool, bool, int, int, float]:
    """First what the subject's own faults follow from; roots first, then the severe, the near.

    What only has the node in common with the subject comes after what it depends on.
    """
    fault, place = found
    is_own = root_of(fault)[:2] in own
    is_shared = place.path == SHARED
    severity = SEVERITY_ORDER[fault.severity]
    return (not is_own, is_shared, not fault.is_root, severity, len(place.path), fault.since)


def _cause_document(fault: Fault, place: _Place) -> dict[str, Any]:
    path = [*place.path, f"{name_of(fault.subject)} has {fault.rule} since {_when(fault.since)}"]
    for cause in fault.causes:
        since = "" if cause.since is None else f" since {_when(cause.since)}"
        path.append(f"which follows from {cause.rule} of {name_of(cause.subject)}{since}")
    rule, subject, summary = root_of(fault)
    return {
        "fault": fault_document(fault),
        "root": {"rule": rule, "entity": subject_document(subject), "summary": summary},
        "path": path,
    }


def _when(wall: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall))


def _healthy(said: Conclusions, places: Iterable[_Place]) -> Iterator[dict[str, Any]]:
    """The rules that looked at the places and found nothing."""
    active = {(fault.rule, fault.subject) for fault in said.active}
    for place in places:
        unknown = said.unknown.get(place.subject, ())
        rules = [
            rule
            for rule in said.rules.get(place.subject.kind, ())
            if rule not in unknown and (rule, place.subject) not in active
        ]
        if rules:
            yield {"entity": subject_document(place.subject), "rules": rules}


def _unknown(said: Conclusions, places: Iterable[_Place]) -> Iterator[dict[str, Any]]:
    for place in places:
        rules = said.unknown.get(place.subject)
        if rules:
            yield {"entity": subject_document(place.subject), "rules": list(rules)}
