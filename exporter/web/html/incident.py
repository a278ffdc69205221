"""Incidents as HTML: each root cause with the tree of the faults that follow from it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from exporter.reports.incidents import Node, action_sentence, entity_name, silence_sentence
from exporter.reports.text.faults import MAX_EVIDENCE, affected_line, evidence_line
from exporter.reports.units import duration, moment, times_text
from exporter.web.html.builder import Html, join, tag
from exporter.web.html.markdown import inline


def incident_cards(roots: Sequence[Node], now: float) -> Html:
    """Draw all incidents; `now` is in seconds since the epoch.

    The headline of a single incident repeats the verdict and is hidden.
    """
    hidden = "hidden" if len(roots) == 1 else None
    return tag("div", [_card(root, now, hidden) for root in roots], class_="incidents")


def _card(root: Node, now: float, hidden: str | None) -> Html:
    severity = tag("span", root.severity, class_=f"pill {root.severity}")
    return tag(
        "article",
        tag("h3", severity, " ", root.incident["summary"], class_=hidden),
        tag("ul", _branch(root, now, is_root=True), class_="tree", aria_label="causes and effects"),
        tag(
            "div",
            tag("dl", list(facts(root.incident, root.fault)), class_="facts"),
            links(root.fault, "All details"),
        ),
        class_=f"card incident {root.severity}",
    )


def _branch(node: Node, now: float, *, is_root: bool = False) -> Html:
    fault = node.fault
    role = "root cause" if is_root and node.follows else ""
    alike = len(node.incident["roots"]) - 1 if is_root else 0
    more = f"and {alike} more alike" if alike else ""
    since = f"since {moment(fault['since'], now)} ({duration(now - fault['since'])})"
    when = since if fault["state"] == "active" else "ended before the faults that follow from it"
    again = times_text(fault.get("times") or 1)
    box = tag(
        "div",
        tag("div", fault["summary"], class_="what"),
        tag(
            "div", " · ".join(filter(None, [role, fault["rule"], when, again, more])), class_="meta"
        ),
        tag("div", f"affects {affected_line(fault)}", class_="meta") if fault["affected"] else None,
        tag("div", quiet, class_="meta") if (quiet := silence_sentence(fault)) else None,
        class_=f"node {'root' if is_root else 'effect'} {fault['severity']}",
    )
    effects = tag("ul", [_branch(each, now) for each in node.follows]) if node.follows else None
    return tag("li", box, effects)


def facts(incident: dict[str, Any], fault: dict[str, Any]) -> Iterator[Html]:
    """Yield what an incident affects, what to do, and the evidence of its fault, each line once."""
    if incident["affects"]:
        yield fact("Affects", tag("dd", incident["affects"]))
    if action := action_sentence(incident):
        yield fact("What to do", tag("dd", *inline(action), class_="do"))
    lines = list(dict.fromkeys(evidence_line(row) for row in fault["evidence"]))
    if lines:
        shown = [tag("code", line) for line in lines[:MAX_EVIDENCE]]
        yield fact("Evidence", tag("dd", shown, class_="lines"))


def fact(name: str, content: Html) -> Html:
    """Return a name with its content, an element dd."""
    return join([tag("dt", name), content])


def links(fault: dict[str, Any], component: str) -> Html:
    """Return the links to the runbook of a fault, and to its component by this text."""
    runbook = fault["runbook"]
    about_rule = tag("a", f"Runbook {runbook}", href=f"/runbooks/{runbook}") if runbook else None
    about_component = tag("a", component, href=why_link(fault["entity"]["hw_id"]))
    return tag("p", about_rule, about_component, class_="links")


def why_link(hw_id: str) -> str:
    """Return the link to the `/why` page of a component."""
    return f"/why?{urlencode({'hw_id': hw_id})}"


def ended_list(faults: Iterable[dict[str, Any]], now: float) -> Html:
    """List faults that ended lately or can no longer be evaluated."""
    rows = [
        tag(
            "li",
            fault["summary"],
            " ",
            tag(
                "small",
                f"{fault['rule']} of {entity_name(fault['entity'])}, ",
                f"ended {duration(now - fault['ended'])} ago" if fault["ended"] else fault["state"],
            ),
        )
        for fault in faults
    ]
    return tag("ul", rows)
