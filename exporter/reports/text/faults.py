"""`/faults` as text."""

import time
from collections.abc import Iterator
from typing import Any

from exporter.reports.incidents import (
    Node,
    action_sentence,
    entity_name,
    incidents,
    silence_sentence,
    verdict_of,
)
from exporter.reports.units import times_text

MAX_NAMES = 4
MAX_EVIDENCE = 3
MAX_RAW_CHARS = 240
EXACTLY = ("==", "is ")
"""Limits that begin with these only repeat the value."""


def faults_text(document: dict[str, Any]) -> str:
    """Return the document of /faults as text: verdict, incidents, lately ended faults."""
    roots = incidents(document)
    lines = [f"{document['node']}: {verdict_of(document).sentence}"]
    for root in roots:
        lines += ["", *incident_lines(root)]
    ended = [fault for fault in document["faults"] if fault["state"] != "active"]
    if ended:
        lines += ["", "Recently ended:", *(f"  {_ended(fault)}" for fault in ended)]
    if "history" in document:
        rows = document["history"]
        lines += ["", "History:", *(map(_history_line, rows) if rows else ["  nothing changed"])]
    return "\n".join(lines) + "\n"


def _history_line(row: dict[str, Any]) -> str:
    change = "severity is" if row["change"] == "severity" else row["change"]
    what = f"{row['rule']} of {entity_name(row['entity'])}"
    return f"  {clock(row['time'])}  {change} {row['severity']} {what}: {row['summary']}"


def incident_lines(root: Node) -> Iterator[str]:
    """Yield the lines of one incident: its text, then each fault with its evidence."""
    incident = root.incident
    yield f"{root.severity.upper():<9}{incident['summary']}"
    if quiet := silence_sentence(incident):
        yield f"{'':<9}{quiet}"
    if incident["affects"]:
        yield f"{'':<9}affects: {incident['affects']}"
    if action := action_sentence(incident):
        yield f"{'':<9}do: {action}"
    for depth, node in root.walk():
        indent = " " * 9 if not depth else "   " * (depth + 1)
        if depth:
            yield f"{'   ' * depth}└─ {node.fault['summary']}"
        elif node.fault["summary"] != incident["summary"]:
            yield f"{indent}{node.fault['summary']}"
        yield from (f"{indent}{line}" for line in _details(node, is_root=not depth))


def _details(node: Node, *, is_root: bool) -> Iterator[str]:
    fault = node.fault
    since = "ended before the faults that follow from it" if fault["state"] != "active" else ""
    since = since or f"since {clock(fault['since'])}"
    alike = len(node.incident["roots"]) - 1 if is_root else 0
    more = f", and {alike} more alike" if alike else ""
    if again := times_text(fault.get("times") or 1):
        more = f", {again}{more}"
    yield f"{fault['rule']} of {entity_name(fault['entity'])}, {since}{more}"
    if (quiet := silence_sentence(fault)) and not node.incident.get("silenced"):
        yield quiet
    if is_root:
        yield from (f"evidence: {evidence_line(row)}" for row in fault["evidence"][:MAX_EVIDENCE])
        if fault["runbook"]:
            yield f"runbook: /runbooks/{fault['runbook']}"
    elif fault["affected"]:
        yield f"affects: {affected_line(fault)}"


def evidence_line(row: dict[str, Any]) -> str:
    """Return one piece of evidence: the line of the kernel log, else the value and its limit."""
    if row["raw"]:
        raw = str(row["raw"])
        return raw if len(raw) <= MAX_RAW_CHARS else f"{raw[:MAX_RAW_CHARS]}…"
    value, limit = row["value"], row["threshold"]
    if isinstance(value, bool):
        return f"{row['name']} is {str(value).lower()}"
    shown = f"{value:g}" if isinstance(value, float) else f"{value}"
    is_known = not limit or limit.startswith(EXACTLY)
    return f"{row['name']} is {shown}" + ("" if is_known else f" ({limit})")


def affected_line(fault: dict[str, Any]) -> str:
    """Name some of the affected workloads and processes, and count the rest."""
    names = [entity_name(entity) for entity in fault["affected"][:MAX_NAMES]]
    rest = fault["affected_count"] - len(names)
    return ", ".join([*names, *([f"and {rest} more"] if rest > 0 else [])])


def _ended(fault: dict[str, Any]) -> str:
    moment = "" if fault["ended"] is None else f", ended {clock(fault['ended'])}"
    return f"{fault['summary']} ({fault['rule']}{moment})"


def clock(wall: float) -> str:
    """Format a time as UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(wall))
