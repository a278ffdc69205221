"""The page at `/`: the document of `/status` as HTML, complete without a script."""

from collections.abc import Iterator
from typing import Any

from exporter.reports.incidents import incidents
from exporter.web.html.builder import Html, join, page, tag
from exporter.web.html.drawing import days_strip
from exporter.web.html.gpu import gpu_tiles
from exporter.web.html.incident import ended_list, incident_cards
from exporter.web.html.node import (
    disks_table,
    host_table,
    network_table,
    unread_table,
    workloads_table,
)

LINKS = (
    ("/metrics", "metrics"),
    ("/status", "status"),
    ("/faults", "faults"),
    ("/why", "why"),
    ("/processes", "processes"),
    ("/node", "inventory"),
    ("/doctor", "doctor"),
    ("/runbooks/", "runbooks"),
    ("/ready", "readiness"),
)


Halves = tuple[bytes, bytes]
"""A page before and after the age of the reading, which is inserted at each request."""

AGE_MARK = "\x00AGE\x00"


def live_page(status: dict[str, Any]) -> Halves:
    """Draw the page of the document of /status."""
    return _page(status["node"], status["version"], status["verdict"], _main(status))


def waiting_page(node: str, version: str) -> Halves:
    """Draw the page of a node without a recent reading."""
    verdict = {"state": "unknown", "sentence": "Nothing was read yet, or not recently"}
    return _page(node, version, verdict, tag("main", _verdict(verdict, ""), id="main"))


def _page(node: str, version: str, verdict: dict[str, Any], main: Html) -> Halves:
    header = tag(
        "header",
        tag("span", "hw-exporter", class_="brand"),
        tag("h1", node, id="title"),
        Html(AGE_MARK),
    )
    offline = tag("div", id="offline", class_="offline", role="alert", hidden=True)
    title = f"{verdict['state']}: {node}" if verdict["state"] != "healthy" else node
    text = page(title, join([header, offline, main, _footer(version)]), with_script=True)
    before, _, after = text.encode("utf-8", "replace").partition(AGE_MARK.encode())
    return before, after


def age_html(age_secs: float | None, old_secs: float) -> Html:
    """Draw the age of the reading; an age above `old_secs` is marked as old."""
    if age_secs is None:
        return tag("p", "not read yet", id="live", class_="live", data_age="NaN", data_old=old_secs)
    words = f"read {age_secs:.0f} s ago" if age_secs < 120 else f"read {age_secs / 60:.0f} min ago"  # noqa: PLR2004 - two minutes
    state = "live old" if age_secs > old_secs else "live"
    return tag(
        "p", words, id="live", class_=state, data_age=f"{age_secs:.1f}", data_old=f"{old_secs:g}"
    )


def _verdict(verdict: dict[str, Any], subtitle_: str) -> Html:
    return tag(
        "section",
        tag("h2", "Verdict", class_="hidden"),
        tag("p", verdict["sentence"], class_="sentence", role="status"),
        tag("p", subtitle_, class_="sub") if subtitle_ else None,
        class_=f"verdict {verdict['state']}",
    )


def _main(status: dict[str, Any]) -> Html:
    return tag(
        "main", _verdict(status["verdict"], status["about"]), list(_sections(status)), id="main"
    )


def _sections(status: dict[str, Any]) -> Iterator[Html]:
    now = status["collected_at"]
    roots = incidents(status)
    if roots:
        yield _section("What is broken, and why", incident_cards(roots, now))
    if status["gpus"]:
        yield _section("GPUs", gpu_tiles(status["gpus"], now))
    workloads = workloads_table(status["workloads"]) if status["workloads"] else None
    first = _section("Workloads on GPUs", workloads) if workloads else None
    yield tag(
        "div",
        first,
        _section("Host", host_table(status["host"], status["filesystems"])),
        class_="two" if first else None,
    )
    yield _pair(status)
    ended = [fault for fault in status["faults"] if fault["state"] != "active"]
    if ended:
        yield _section("Recently ended", tag("div", ended_list(ended, now), class_="card"))
    if status["days"]:
        yield _section("Faults of the last 14 days", days_strip(status["days"]))
    if status["unread"]:
        yield _section("What could not be read", unread_table(status["unread"]))


def _pair(status: dict[str, Any]) -> Html:
    network = network_table(status["network"]) if status["network"] else None
    disks = disks_table(status["disks"]) if status["disks"] else None
    shown = [
        _section(title, content)
        for title, content in (("Network", network), ("Disks", disks))
        if content
    ]
    return tag("div", shown, class_="two" if len(shown) > 1 else None)


def _section(title: str, content: Html) -> Html:
    return tag("section", tag("h2", title), content)


def _footer(version: str) -> Html:
    links = [tag("a", text, href=path) for path, text in LINKS]
    return tag(
        "footer",
        tag("nav", links, aria_label="all pages"),
        tag(
            "p",
            f"hw-exporter {version}. Sparklines show the last 15 minutes; a dash means unknown.",
        ),
    )
