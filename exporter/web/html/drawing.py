"""Draws sparklines and meters as SVG, with text for screen readers."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from exporter.web.html.builder import Html, tag

HEIGHT = 20.0
PAD = 1.5
MIN_POINTS = 2
WARNING_RATIO, CRITICAL_RATIO = 0.9, 0.97


def sparkline(points: Sequence[float | None], top: float | None, label: str) -> Html:
    """Draw the last 15 minutes, from 0 to `top` or else the largest value; None is a gap."""
    known = [value for value in points if value is not None]
    if len(known) < MIN_POINTS:
        return tag("svg", class_="spark", viewBox="0 0 60 20", aria_hidden="true")
    highest = max([*known, 1e-9]) if not top else max(top, *known)
    described = f"{label}, last 15 minutes: {_spoken(min(known))} to {_spoken(max(known))}"
    return tag(
        "svg",
        tag("path", class_="base", d="M0 19.5H59"),
        tag("path", d=_path(points, highest)),
        class_="spark",
        viewBox="0 0 59 20",
        preserveAspectRatio="none",
        role="img",
        aria_label=described,
    )


def _path(points: Sequence[float | None], highest: float) -> str:
    """Return the SVG path: known values as lines, a value between two gaps as a dot."""
    commands, is_drawing = [], False
    for at, value in enumerate(points):
        if value is None:
            is_drawing = False
            continue
        y = HEIGHT - PAD - max(0.0, value) / highest * (HEIGHT - 2 * PAD)
        commands.append(f"{'L' if is_drawing else 'M'}{at} {y:.1f}")
        is_followed = at + 1 < len(points) and points[at + 1] is not None
        if not is_drawing and not is_followed:
            commands.append("h.1")
        is_drawing = True
    return "".join(commands)


def _spoken(value: float) -> str:
    return f"{value:.0f}" if value >= MIN_POINTS else f"{value:.1f}"


def days_strip(days: Sequence[Mapping[str, Any]]) -> Html:
    """Draw one field for each day: the date, and the number of faults by severity in words."""
    return tag("ol", [_day(day, is_last=day is days[-1]) for day in days], class_="days card")


def _day(day: Mapping[str, Any], *, is_last: bool) -> Html:
    date = time.strptime(day["day"], "%Y-%m-%d")
    loud = [(name, day[name]) for name in ("critical", "warning") if day[name]]
    words = [tag("b", f"{count} {name}", class_=name) for name, count in loud]
    return tag(
        "li",
        tag("span", "today" if is_last else time.strftime("%a %-d %b", date)),
        words or tag("b", "none" if day["known"] else "not known", class_="muted"),
        class_=loud[0][0] if loud else None,
    )


def meter(ratio: float | None, label: str, *, warns: bool = False) -> Html:
    """Draw a share of 0 to 1; with `warns`, a nearly full meter is coloured."""
    if ratio is None:
        return tag("svg", class_="meter", viewBox="0 0 100 6", aria_hidden="true")
    part = min(1.0, max(0.0, ratio))
    level = "critical" if part >= CRITICAL_RATIO else "warning" if part >= WARNING_RATIO else ""
    return tag(
        "svg",
        tag("rect", width=100, height=6, rx=1),
        tag(
            "rect",
            class_=f"fill {level if warns else ''}".strip(),
            width=f"{part * 100:.1f}",
            height=6,
            rx=1,
        ),
        class_="meter",
        viewBox="0 0 100 6",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{label}: {part * 100:.0f} %",
    )
