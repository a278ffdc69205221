"""One dashboard as one HTML page that needs nothing else."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tools.preview_asking import Asks, Choice, Series, Span, answers, chosen, interpolated, named
from tools.preview_known import check_page
from tools.preview_lines import Region, drawn_lines, drawn_states
from tools.preview_tables import drawn_table, fields_of, nothing
from tools.preview_values import NAMED, shown

CELL, GAP, COLUMNS, MARGIN, HEAD = 30, 8, 24, 16, 92
NARROW = 769
TITLE, PADDING = 32, 8
FOOT = 30

STYLE = Path(__file__).with_name("preview.css").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class View:
    """How a page is looked at: the time, how wide in pixels, variables, folded rows opened."""

    span: Span
    width: int = 1600
    wanted: Mapping[str, str] | None = None
    is_opened: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """The text of the page, its height in pixels, and the panels that had nothing to show."""

    html: str
    height: int
    empty: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A panel and its rectangle in pixels."""

    panel: Mapping[str, Any]
    x: float
    y: float
    width: float
    height: float


def page(dashboard: dict[str, Any], ask: Asks, view: View) -> Picture:
    """The dashboard drawn from the answers; Unlooked for anything not known."""
    check_page(dashboard)
    choices = chosen(ask, dashboard["templating"]["list"], view.wanted or {}, view.span)
    regions = tuple(_regions(dashboard, ask, choices, view.span))
    parts: list[str] = []
    empty: list[str] = []
    bottom = float(HEAD)
    for place in _places(dashboard["panels"], view):
        body, is_empty = _body(place, ask, choices, view.span, regions)
        if is_empty:
            empty.append(place.panel["title"])
        parts.append(_framed(place, body, choices, view.span))
        bottom = max(bottom, place.y + place.height)
    foot = (
        f'<footer style="top:{bottom + 6:.0f}px">Drawn by make pictures, not by Grafana.</footer>'
    )
    height = round(bottom + FOOT)
    html = (
        f'<!doctype html><meta charset="utf-8"><title>{escape(dashboard["title"])}</title>'
        f'<style>{STYLE}</style><body style="height:{height}px">'
        f"{_header(dashboard, choices, view)}{''.join(parts)}{foot}</body>"
    )
    return Picture(html, height, tuple(empty))


def _header(dashboard: Mapping[str, Any], choices: Mapping[str, Choice], view: View) -> str:
    lists = "".join(
        f"<span><b>{escape(item['label'])}</b><i>{escape(choices[item['name']].text)}</i></span>"
        for item in dashboard["templating"]["list"]
    )
    links = "".join(f"<span><i>{escape(link['title'])} ▾</i></span>" for link in dashboard["links"])
    minutes = round((view.span.end - view.span.start) / 60)
    return (
        f"<header><small>last {minutes} minutes</small><h1>{escape(dashboard['title'])}</h1>"
        f"{lists}{links}</header>"
    )


def _places(panels: Sequence[Mapping[str, Any]], view: View) -> Iterator[Placed]:
    """Where each panel lies; on a narrow page they stand below one another, as in Grafana."""
    shift, below = 0, float(HEAD)
    for panel in panels:
        inner = panel.get("panels", ()) if view.is_opened else ()
        for one in (panel, *inner):
            grid = one["gridPos"]
            height = grid["h"] * (CELL + GAP) - GAP
            if view.width < NARROW:
                yield Placed(one, GAP, below, view.width - 2 * GAP, height)
                below += height + GAP
                continue
            column = (view.width - 2 * MARGIN + GAP) / COLUMNS
            y = HEAD + (grid["y"] + shift) * (CELL + GAP)
            yield Placed(one, MARGIN + grid["x"] * column, y, grid["w"] * column - GAP, height)
        if inner:
            ends = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in inner)
            shift += ends - panel["gridPos"]["y"] - panel["gridPos"]["h"]


def _framed(place: Placed, body: str, choices: Mapping[str, Choice], span: Span) -> str:
    panel = place.panel
    title = escape(interpolated(panel["title"], choices, span))
    box = f"left:{place.x:.1f}px;top:{place.y:.1f}px;width:{place.width:.1f}px"
    if panel["type"] == "row":
        mark = "›" if panel.get("collapsed") else "⌄"
        count = f" <small>({len(panel['panels'])} panels)</small>" if panel.get("collapsed") else ""
        return f'<div class="row" style="{box}">{mark} {title}{count}</div>'
    info = "<sup>i</sup>" if panel["description"] else ""
    return (
        f'<section style="{box};height:{place.height:.0f}px"><h2>{title}{info}</h2>'
        f'<div class="body">{body}</div></section>'
    )


def _body(
    place: Placed,
    ask: Asks,
    choices: Mapping[str, Choice],
    span: Span,
    regions: Sequence[Region],
) -> tuple[str, bool]:
    """The inside of a panel, and whether there was nothing to show."""
    panel = place.panel
    if panel["type"] == "row":
        return "", False
    answered = [answers(ask, target, choices, span) for target in panel["targets"]]
    size = place.width - 2 * PADDING - 2, place.height - TITLE - PADDING - 2
    is_empty = not any(answered)
    if panel["type"] == "table":
        return drawn_table(panel, answered), is_empty
    if panel["type"] == "timeseries":
        return drawn_lines(panel, answered, size, span, regions), is_empty
    if panel["type"] == "state-timeline":
        return drawn_states(panel, answered, size, span), is_empty
    series = [one for found in answered for one in found]
    if is_empty:
        return nothing(panel), True
    draw = _gauges if panel["type"] == "bargauge" else _stats
    return draw(panel, series, size), False


def _stats(panel: Mapping[str, Any], series: Sequence[Series], room: tuple[float, float]) -> str:
    options, parts = panel["options"], []
    for one in series:
        value = shown(one.points[-1][1], fields_of(panel["fieldConfig"], one.name))
        is_named = options.get("textMode") == "name"
        text = one.name if is_named else value.text
        size = min(room[1] * 0.5, 44, room[0] / len(series) / max(4, len(text)) * 1.55)
        style = ""
        if value.colour and options["colorMode"] == "background_solid":
            style = f' style="background:{value.colour};color:#111217"'
        elif value.colour and options["colorMode"] == "value":
            style = f' style="color:{value.colour}"'
        name = f"<small>{escape(one.name)}</small>" if len(series) > 1 and not is_named else ""
        number = f'<span style="font-size:{size:.0f}px;line-height:1.1">{escape(text)}</span>'
        parts.append(f"<div{style}>{name}{number}</div>")
    return f'<div class="stats">{"".join(parts)}</div>'


def _gauges(panel: Mapping[str, Any], series: Sequence[Series], _room: tuple[float, float]) -> str:
    fields = [fields_of(panel["fieldConfig"], one.name) for one in series]
    values = [one.points[-1][1] for one in series]
    most = max([value for value in values if math.isfinite(value)] or [1.0])
    parts = []
    for one, field, value in zip(series, fields, values, strict=True):
        least, top = field.get("min", 0), field.get("max", most)
        share = max(0.0, min(1.0, (value - least) / ((top - least) or 1))) * 100
        said = shown(value, field)
        colour = said.colour or "#73bf69"
        bar = f'<b><i style="width:{share:.1f}%;background:{colour}"></i></b>'
        text = f'<q style="color:{colour}">{escape(said.text)}</q>'
        parts.append(f"<p><em>{escape(one.name)}</em>{bar}{text}</p>")
    return f'<div class="gauges">{"".join(parts)}</div>'


def _regions(
    dashboard: Mapping[str, Any], ask: Asks, choices: Mapping[str, Choice], span: Span
) -> Iterator[Region]:
    """The stretches that annotations mark: points one step apart belong together."""
    for annotation in dashboard["annotations"]["list"]:
        if not annotation["enable"]:
            continue
        target = {**annotation, "instant": False, "legendFormat": annotation["titleFormat"]}
        for one in answers(ask, target, choices, span):
            text = f"{one.name} {named(annotation['textFormat'], one.labels)}"
            yield from _stretches(one, span.step, NAMED[annotation["iconColor"]], text)


def _stretches(one: Series, step: float, colour: str, text: str) -> Iterator[Region]:
    start = last = one.points[0][0]
    for at, _ in one.points[1:]:
        if at - last > 1.5 * step:
            yield Region(start, last, colour, text)
            start = at
        last = at
    yield Region(start, last, colour, text)
