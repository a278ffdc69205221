"""Trees of incidents: each root cause with the faults that follow from it, and the verdict.

This module reads only documents of `/faults`: a program that requests them over HTTP shows the same
as the exporter.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any, TypeAlias

from exporter.model.verdict import SEVERITIES
from exporter.record import dataclass
from exporter.reports.units import kind_name

Document: TypeAlias = "dict[str, Any]"
Place: TypeAlias = "tuple[str, str, str]"

STATE_OF = {"critical": "critical", "warning": "warning", "info": "healthy"}
NOT_EVALUATED = "Unknown: no rules are evaluated on this node"


@dataclass(slots=True)
class Node:
    """One fault in the tree of an incident, and the faults that follow from it directly."""

    fault: Document
    follows: list["Node"] = field(default_factory=list)
    incident: Document = field(default_factory=dict)
    """The incident of a root in `/faults`; empty for other faults."""

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Node"]]:
        """Yield the fault and all faults that follow from it, each with its depth."""
        yield depth, self
        for child in self.follows:
            yield from child.walk(depth + 1)

    @property
    def severity(self) -> str:
        """Return the highest severity in the incident."""
        return str(self.incident["severity"])


def incidents(document: Document) -> list[Node]:
    """Return the tree of each incident of a document; of equal roots only the first."""
    roots = {place_of(root.fault): root for root in _trees(document["faults"])}
    drawn = []
    for incident in document["incidents"]:
        root = next((roots[key] for row in incident["roots"] if (key := _key(row)) in roots), None)
        if root is not None:
            root.incident = incident
            drawn.append(root)
    return drawn


def _trees(faults: Iterable[Document]) -> list[Node]:
    """Return the active faults as trees under their roots."""
    active = [fault for fault in faults if fault["state"] == "active"]
    nodes = {place_of(fault): Node(fault) for fault in active}
    roots: dict[Place, Node] = {}
    for place, node in nodes.items():
        parent = _parent(node.fault, nodes, place)
        if parent is not None:
            parent.follows.append(node)
        elif node.fault["causes"]:
            root = _ended_root(node.fault)
            roots.setdefault(place_of(root), Node(root)).follows.append(node)
        else:
            roots[place] = node
    return list(roots.values())


def first_of_each(causes: Iterable[Document]) -> list[Document]:
    """Return the first cause of each incident; further ones have the same root or are equal."""
    kept: dict[int, Document] = {}
    for cause in causes:
        kept.setdefault(cause["incident"], cause)
    return list(kept.values())


def _key(row: Document) -> Place:
    return row["rule"], row["hw_type"], row["hw_id"]


def place_of(row: Document) -> Place:
    """Return rule and component of a fault or of a cause."""
    return row["rule"], row["entity"]["hw_type"], row["entity"]["hw_id"]


def _parent(fault: Document, nodes: dict[Place, Node], place: Place) -> Node | None:
    """Return the nearest cause that is active; causes never form a cycle."""
    for cause in fault["causes"]:
        parent = nodes.get(place_of(cause))
        if parent is not None and place_of(cause) != place:
            return parent
    return None


def _ended_root(fault: Document) -> Document:
    """Return a row for an ended root with active consequences."""
    cause = fault["causes"][-1]
    return {
        **dict.fromkeys(("action", "runbook"), ""),
        **cause,
        "severity": fault["severity"],
        "state": "cleared",
        "evidence": [],
        "causes": [],
        "affected": [],
        "affected_count": 0,
        "ended": None,
        "since": cause["since"] or fault["since"],
    }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of a node (critical, warning, healthy or unknown), and a sentence that says why."""

    state: str
    sentence: str


def verdict_of(document: Document, well: str = "") -> Verdict:
    """Return the verdict on the document of /faults, which may list only some of the faults.

    With unread GPUs a node is never healthy. `well` counts the healthy components.
    """
    if document["healthy"] is None:
        return Verdict("unknown", NOT_EVALUATED)
    stale = document.get("stale_gpus", "")
    unread = f"{stale} cannot be read now" if stale else ""
    loud = [row for row in document["incidents"] if not row.get("silenced")]
    if quiet := len(document["incidents"]) - len(loud):
        well = f"{well or 'no other active faults'}; {quiet} silenced"
    if not loud:
        rest = well or "no active faults"
        if unread:
            return Verdict("unknown", f"Unknown: {unread}; otherwise healthy: {rest}")
        return Verdict("healthy", f"Healthy: {rest}")
    counts = Counter(row["severity"] for row in loud)
    numbers = ", ".join(f"{counts[name]} {name}" for name in SEVERITIES if counts[name])
    state = STATE_OF.get(loud[0]["severity"], "healthy")
    if unread and state == "healthy":
        state, numbers = "unknown", f"Unknown: {unread}; {numbers}"
    elif unread:
        numbers = f"{unread}; {numbers}"
    if quiet:
        numbers = f"{numbers}, {quiet} silenced"
    return Verdict(state, f"{numbers}: {loud[0]['summary']}")


def entity_name(entity: Document) -> str:
    """Return type and name of a component; the type only if the name does not begin with it."""
    kind, name = entity["hw_type"], entity["hw_name"]
    return name if name.lower().startswith(kind.lower()) else f"{kind_name(kind)} {name}"


def silence_sentence(row: Document) -> str:
    """Return the end, author and reason of the silence of a fault or incident; empty if none."""
    silence = row.get("silenced")
    if not silence:
        return ""
    end = time.strftime("%Y-%m-%d %H:%MZ", time.gmtime(silence["until"]))
    return f"silenced until {end} by {silence['by']}: {silence['reason']}"


def action_sentence(fault: Document) -> str:
    """Return the advice of a fault as a sentence, else the slug in `action` as words."""
    sentence = fault.get("action_text") or ""
    word = fault.get("action") or ""
    return str(sentence or word.replace("_", " ").capitalize())
