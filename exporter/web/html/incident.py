"""Incidents as HTML: each root cause with the tree of the faults that follow from it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from exporter.model.transition import times_text
from exporter.reports.incidents import Node, action_sentence, entity_name, silence_sentence
from exporter.reports.text.faults import MAX_EVIDENCE, affected_line, evidence_line
from exporter.reports.units import duration, moment
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
        tag("div", tag("dl", list(_facts(root)), class_="facts"), _links(root)),
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


def _facts(root: Node) -> Iterator[Html]:
    fault, incident = root.fault, root.incident
    if incident["affects"]:
        yield join([tag("dt", "Affects"), tag("dd", incident["affects"])])
    if action := action_sentence(incident):
        yield join([tag("dt", "What to do"), tag("dd", *inline(action), class_="do")])
    lines = evidence_lines(fault)
    if lines:
        yield join([tag("dt", "Evidence"), tag("dd", lines, class_="lines")])


def evidence_lines(fault: dict[str, Any]) -> list[Html]:
    """Return the evidence of a fault as lines, each once."""
    lines = dict.fromkeys(evidence_line(row) for row in fault["evidence"])
    return [tag("code", line) for line in list(lines)[:MAX_EVIDENCE]]


def _links(root: Node) -> Html:
    fault = root.fault
    links = [tag("a", "All details", href=why_link(fault["entity"]["hw_id"]))]
    if fault["runbook"]:
        links.insert(
            0, tag("a", f"Runbook {fault['runbook']}", href=f"/runbooks/{fault['runbook']}")
        )
    return tag("p", links, class_="links")


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
