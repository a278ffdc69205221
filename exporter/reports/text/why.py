"""`/why` as text: first the causes, then one line about healthy components."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from exporter.reports.incidents import (
    NOT_EVALUATED,
    action_sentence,
    entity_name,
    first_of_each,
    silence_sentence,
)
from exporter.reports.text.faults import MAX_EVIDENCE, MAX_NAMES, evidence_line
from exporter.reports.units import counted

MAX_LINES = 5
"""The most unknown rules that are named, unless `everything` is."""


def why_text(document: dict[str, Any], *, everything: bool = False) -> str:
    """Format the document of `/why`; `everything` names healthy components, one line each."""
    subject = document["subject"]
    where = "" if subject["hw_type"] == "node" else f" on {document['node']}"
    lines = [f"{entity_name(subject)}{where}"]
    lines += [
        f"waits for {entity_name(row['entity'])}: {row['evidence']}" for row in document["waits"]
    ]
    lines += _causes(document)
    unknown = document["unknown"]
    lines += _counted(document["healthy_counts"])
    if everything:
        lines += _section("Healthy:", map(_all_named, document["healthy"]))
        lines += _section("Not evaluated:", map(_all_named, unknown))
    else:
        some = [*map(_named, unknown[:MAX_LINES]), *_more(len(unknown) - MAX_LINES)]
        lines += _section("Not evaluated:", some)
    return "\n".join(lines) + "\n"


def _causes(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield each incident: its text, the path to it, and its evidence."""
    number = 0
    for number, cause in enumerate(first_of_each(document["causes"]), start=1):
        fault, incident = cause["fault"], document["incidents"][cause["incident"]]
        yield f"{number}. {incident['summary']} ({incident['severity']})"
        if quiet := silence_sentence(incident) or silence_sentence(fault):
            yield f"   {quiet}"
        yield from (f"   {step}" for step in cause["path"])
        for piece in fault["evidence"][:MAX_EVIDENCE]:
            yield f"   evidence: {evidence_line(piece)}"
        if incident["affects"]:
            yield f"   affects: {incident['affects']}"
        yield f"   do: {action_sentence(incident)}"
        yield f"   runbook: /runbooks/{fault['runbook']}"
    if not number:
        yield "No active fault." if document["evaluated"] else NOT_EVALUATED


def _counted(kinds: Mapping[str, int]) -> Iterator[str]:
    """Yield one line with the number of healthy components by kind."""
    total = sum(kinds.values())
    if total:
        which = ", ".join(counted(number, kind) for kind, number in kinds.items())
        yield f"{counted(total, 'component')} healthy ({which})"


def _section(title: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield a title with lines below it; nothing without lines."""
    lines = [f"   {row}" for row in rows]
    yield from [title, *lines] if lines else []


def _all_named(row: dict[str, Any]) -> str:
    return f"{entity_name(row['entity'])}: {', '.join(row['rules'])}"


def _named(row: dict[str, Any]) -> str:
    names = [*row["rules"][:MAX_NAMES], *_more(len(row["rules"]) - MAX_NAMES)]
    return f"{entity_name(row['entity'])}: {', '.join(names)}"


def _more(number: int) -> list[str]:
    return [f"and {number} more"] if number > 0 else []
