"""`/faults`, `/why` and `/runbooks/` as static HTML pages."""

from collections.abc import Mapping
from typing import Any

from exporter.reports.incidents import (
    NOT_EVALUATED,
    entity_name,
    first_of_each,
    incidents,
    silence_sentence,
    verdict_of,
)
from exporter.web.answer import HTML_TYPE, NO_STORE, Answer
from exporter.web.html.builder import Html, join, page, policy, tag
from exporter.web.html.incident import ended_list, fact, facts, incident_cards, links
from exporter.web.html.markdown import markdown
from exporter.web.html.node import PROCESSES, table

MAX_UNJUDGED = 30


def _page(title: str, node: str, heading: str, content: object) -> Answer:
    """Answer with a page that links to the live page."""
    header = tag(
        "header",
        tag("span", tag("a", "hw-exporter", href="/"), class_="brand"),
        tag("h1", f"{node}: {heading}" if node else heading),
    )
    body = join([header, tag("main", content, id="main", class_="document")])
    headers = {**NO_STORE, "Content-Security-Policy": policy(with_script=False)}
    return Answer(page(title, body).encode("utf-8", "replace"), HTML_TYPE, headers=headers)


def faults_page(document: dict[str, Any], now: float) -> Answer:
    """Draw the document of /faults; `now` is in seconds since the epoch."""
    rows = document["faults"]
    roots = incidents(document)
    summary = verdict_of(document)
    head = tag("p", summary.sentence, class_="sentence", role="status")
    ended = [row for row in rows if row["state"] != "active"]
    sections = [
        tag("section", head, class_=f"verdict {summary.state}"),
        tag("section", incident_cards(roots, now)) if roots else None,
        _section("Recently ended", ended_list(ended, now)) if ended else None,
        _unjudged(document["unjudged"]),
    ]
    node = document["node"]
    return _page(f"Faults of {node}", node, "faults", sections)


def why_page(document: dict[str, Any]) -> Answer:
    """Draw the document of /why: the ranked causes, each with the path to it."""
    subject = entity_name(document["subject"])
    waits = [
        f"Waits for {entity_name(row['entity'])}: {row['evidence']}" for row in document["waits"]
    ]
    incident = document["incidents"]
    causes = [_cause(row, incident[row["incident"]]) for row in first_of_each(document["causes"])]
    nothing = "No active fault explains it." if document["evaluated"] else NOT_EVALUATED
    well = sum(document["healthy_counts"].values())
    sections = [
        [tag("p", sentence) for sentence in waits],
        tag("ol", causes, class_="causes") if causes else tag("p", nothing, class_="card"),
        tag("p", f"{well} components were evaluated and have no fault.", class_="muted")
        if well
        else None,
        _unjudged(document["unknown"]),
    ]
    node = document["node"]
    return _page(f"Why: {node}", node, f"why {subject}", sections)


def processes_page(document: dict[str, Any]) -> Answer:
    """Draw the document of /processes as a table."""
    rows, left_out = document["processes"], document["left_out"]
    nothing = tag("p", "No process is on a GPU, or none can be seen.", class_="card")
    more = tag("p", f"and {left_out} more processes", class_="muted") if left_out else None
    node = document["node"]
    content = [table("Processes on GPUs", PROCESSES, rows) if rows else nothing, more]
    return _page(f"Processes: {node}", node, "processes on GPUs", content)


def _cause(row: dict[str, Any], incident: dict[str, Any]) -> Html:
    fault = row["fault"]
    severity = tag("span", incident["severity"], class_=f"pill {incident['severity']}")
    steps = tag("ol", [tag("li", step) for step in row["path"]], class_="steps")
    shown = [fact("Connection", tag("dd", steps))]
    if quiet := silence_sentence(incident) or silence_sentence(fault):
        shown.append(fact("Silence", tag("dd", quiet)))
    shown += facts(incident, fault)
    return tag(
        "li",
        tag("h3", severity, " ", incident["summary"]),
        tag("dl", shown, class_="facts"),
        links(fault, entity_name(fault["entity"])),
        class_=f"card incident {incident['severity']} plain",
    )


def _section(title: str, content: Html) -> Html:
    return tag("section", tag("h2", title), tag("div", content, class_="card"))


def _unjudged(rows: list[dict[str, Any]]) -> Html | None:
    if not rows:
        return None
    shown = [
        tag("li", tag("b", entity_name(row["entity"])), " ", tag("small", ", ".join(row["rules"])))
        for row in rows[:MAX_UNJUDGED]
    ]
    if len(rows) > MAX_UNJUDGED:
        shown.append(tag("li", f"and {len(rows) - MAX_UNJUDGED} more"))
    number = f"{len(rows)} component{'s' if len(rows) > 1 else ''}"
    folded = tag("details", tag("summary", number), tag("ul", shown))
    return _section("Rules that could not be evaluated", folded)


def runbook_page(rule: str, title: str, text: str, commands: str) -> Answer:
    """Draw one runbook: the text, then commands to run manually."""
    by_hand = [tag("h2", "By hand"), *markdown(commands)] if commands else []
    content = tag("div", list(markdown(text)), by_hand, class_="card text")
    return _page(f"Runbook {rule}", "", f"Runbook {rule} ({title})", content)


def runbooks_page(titles: Mapping[str, str]) -> Answer:
    """List all runbooks."""
    rows = [
        tag("li", tag("a", rule, href=f"/runbooks/{rule}"), " ", tag("small", title))
        for rule, title in titles.items()
    ]
    return _page("Runbooks", "", "Runbooks", tag("ul", rows, class_="card"))
