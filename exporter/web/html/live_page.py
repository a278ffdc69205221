"""The page at `/`: the document of `/status` as HTML, complete without a script."""

from collections.abc import Iterator, Sequence
from typing import Any

from exporter.reports.incidents import incidents
from exporter.web.html.builder import Html, join, page, tag
from exporter.web.html.drawing import days_strip
from exporter.web.html.gpu import gpu_tiles
from exporter.web.html.incident import ended_list, incident_cards
from exporter.web.html.node import (
    DISKS,
    INTERFACES,
    UNREAD,
    WORKLOADS,
    Column,
    Row,
    host_table,
    table,
)

MAX_WORKLOADS = 40
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
    workloads = status["workloads"][:MAX_WORKLOADS]
    yield _side_by_side(
        _listed("Workloads on GPUs", "Workloads on GPUs", WORKLOADS, workloads),
        _section("Host", host_table(status["host"], status["filesystems"])),
    )
    yield _side_by_side(
        _listed("Network", "Network interfaces", INTERFACES, status["network"]),
        _listed("Disks", "Disks", DISKS, status["disks"]),
    )
    ended = [fault for fault in status["faults"] if fault["state"] != "active"]
    if ended:
        yield _section("Recently ended", tag("div", ended_list(ended, now), class_="card"))
    if status["days"]:
        yield _section("Faults of the last 14 days", days_strip(status["days"]))
    if unread := status["unread"]:
        title = "What could not be read"
        yield _section(title, table(title, UNREAD, unread))


def _side_by_side(*sections: Html | None) -> Html:
    shown = [each for each in sections if each]
    return tag("div", shown, class_="two" if len(shown) > 1 else None)


def _listed(title: str, caption: str, columns: Sequence[Column], rows: list[Row]) -> Html | None:
    """Return a section with a table; None without rows."""
    return _section(title, table(caption, columns, rows)) if rows else None


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
