"""Lines, bars and states over time as inline SVG."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tools.preview_asking import Series, Span
from tools.preview_tables import fields_of, nothing
from tools.preview_values import NAMED, PALETTE, shown

LEFT, RIGHT, TOP, BOTTOM = 64, 10, 8, 22
LEGEND_LINE = 20
LEGEND_SHARE = 0.35
STEPS = (1, 2, 2.5, 5, 10)
POWERS_OF_TWO = {"bytes"}
TIMES = (15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of time that an annotation marks."""

    start: float
    end: float
    colour: str
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Where times and values lie on a picture of so many pixels."""

    width: float
    height: float
    span: Span
    low: float
    high: float

    def x(self, at: float) -> float:
        """The pixel of a time."""
        share = (at - self.span.start) / (self.span.end - self.span.start)
        return LEFT + share * (self.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """The pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.height - BOTTOM - share * (self.height - TOP - BOTTOM)


Points = Sequence[tuple[float, float]]


def drawn_lines(
    panel: Mapping[str, Any],
    answered: Sequence[Sequence[Series]],
    size: tuple[float, float],
    span: Span,
    regions: Sequence[Region],
) -> str:
    """A panel of lines with its legend, or the words for when there is nothing."""
    series = [one for found in answered for one in found]
    if not series:
        return nothing(panel)
    fields = [fields_of(panel["fieldConfig"], one.name) for one in series]
    colours = [_colour(field, number) for number, field in enumerate(fields)]
    legend, below = _legend(panel, series, colours, size)
    width, height = size[0], size[1] - below
    stacked = _stacked([one.points for one in series], fields)
    low, high, ticks = _axis([tops for tops, _ in stacked], fields[0])
    plot = Plot(width, height, span, low, high)
    parts = [
        *_grid(plot, ticks, fields[0]),
        *(_region(plot, region) for region in regions),
        *_limits(plot, fields[0]),
    ]
    for (tops, floors), field, colour in reversed([*zip(stacked, fields, colours, strict=True)]):
        parts += _line(plot, tops, floors, field, colour)
    svg = f'<svg width="{width:.0f}" height="{height:.0f}">{"".join(parts)}</svg>'
    return svg + legend


def _colour(field: Mapping[str, Any], number: int) -> str:
    mode = field.get("color", {})
    if mode.get("mode") == "fixed":
        return NAMED[mode["fixedColor"]]
    return PALETTE[number % len(PALETTE)]


def _stacked(
    lines: Sequence[Points], fields: Sequence[Mapping[str, Any]]
) -> list[tuple[Points, Points]]:
    """Tops and floors of each line: its own values, or those above the lines before."""
    heights: dict[float, float] = {}
    found: list[tuple[Points, Points]] = []
    for line, field in zip(lines, fields, strict=True):
        if field.get("custom.stacking", {}).get("mode") != "normal":
            found.append((line, [(at, 0.0) for at, _ in line]))
            continue
        floors = [(at, heights.get(at, 0.0)) for at, _ in line]
        tops = [(at, value + heights.get(at, 0.0)) for at, value in line]
        heights.update(tops)
        found.append((tops, floors))
    return found


def _axis(lines: Sequence[Points], field: Mapping[str, Any]) -> tuple[float, float, list[float]]:
    """Lowest and highest value of the axis, and the ticks between."""
    values = [value for line in lines for _, value in line if math.isfinite(value)] or [0.0]
    low = field.get("min", min(values))
    high = field.get("max", max(values))
    if high <= low:
        low, high = (0, 2 * high) if high > 0 else (low, low + 1)
    rough = (high - low) / 4
    base = 1024 if field.get("unit") in POWERS_OF_TWO and high > 1024 else 10  # noqa: PLR2004 - KiB
    size = float(base) ** math.floor(math.log(rough, base))
    step = next(
        size * factor * more
        for more in (1, 10, 100, 1000)
        for factor in STEPS
        if size * factor * more >= rough
    )
    low = low if "min" in field else math.floor(low / step) * step
    high = high if "max" in field else math.ceil(high / step) * step
    count = math.floor((high - low) / step + 1e-6)
    return low, high, [low + number * step for number in range(count + 1)]


def _grid(plot: Plot, ticks: Sequence[float], field: Mapping[str, Any]) -> Iterator[str]:
    right = plot.width - RIGHT
    for tick in ticks:
        y = plot.y(tick)
        text = escape(shown(tick, {**field, "mappings": ()}).text)
        yield f'<line class="grid" x1="{LEFT}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
    yield from _times(plot)


def _times(plot: Plot) -> Iterator[str]:
    length = plot.span.end - plot.span.start
    most = max(2, int((plot.width - LEFT) / 80))
    step = next((secs for secs in TIMES if length / secs <= most), TIMES[-1])
    at = math.ceil(plot.span.start / step) * step
    foot = plot.height - BOTTOM
    while at <= plot.span.end:
        x = plot.x(at)
        clock = time.strftime("%H:%M:%S" if step < 60 else "%H:%M", time.gmtime(at))  # noqa: PLR2004 - a minute
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{foot:.1f}"/>'
        yield f'<text x="{x:.1f}" y="{plot.height - 6:.1f}" text-anchor="middle">{clock}</text>'
        at += step


def _limits(plot: Plot, field: Mapping[str, Any]) -> Iterator[str]:
    if field.get("custom.thresholdsStyle", {}).get("mode") != "dashed":
        return
    for step in field["thresholds"]["steps"]:
        if step["value"] is not None and plot.low <= step["value"] <= plot.high:
            y, colour = plot.y(step["value"]), NAMED[step["color"]]
            ends = f'x1="{LEFT}" x2="{plot.width - RIGHT:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
            yield f'<line {ends} stroke="{colour}" stroke-dasharray="8 6" opacity="0.8"/>'


def _region(plot: Plot, region: Region) -> str:
    left, right = plot.x(region.start), plot.x(region.end)
    foot = plot.height - BOTTOM
    place = f'x="{left:.1f}" width="{max(1.5, right - left):.1f}"'
    return (
        f"<g><title>{escape(region.text)}</title>"
        f'<rect {place} y="{TOP}" height="{foot - TOP:.1f}" fill="{region.colour}" opacity="0.1"/>'
        f'<rect {place} y="{foot:.1f}" height="3" fill="{region.colour}"/>'
        f'<line x1="{left:.1f}" x2="{left:.1f}" y1="{TOP}" y2="{foot:.1f}"'
        f' stroke="{region.colour}" stroke-dasharray="3 3" opacity="0.6"/></g>'
    )


def _line(
    plot: Plot, tops: Points, floors: Points, field: Mapping[str, Any], colour: str
) -> Iterator[str]:
    if field.get("custom.drawStyle") == "bars":
        yield from _bars(plot, tops, floors, colour)
        return
    opacity = field.get("custom.fillOpacity", 0) / 100
    floor = {at: plot.y(max(plot.low, value)) for at, value in floors}
    for piece in _pieces(tops, plot.span.step):
        corners = [(plot.x(at), plot.y(value)) for at, value in piece]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        if opacity:
            back = " ".join(f"{plot.x(at):.1f},{floor[at]:.1f}" for at, _ in reversed(piece))
            yield f'<polygon points="{path} {back}" fill="{colour}" opacity="{opacity}"/>'
        width = field.get("custom.lineWidth", 1)
        yield f'<polyline points="{path}" stroke="{colour}" stroke-width="{width}" fill="none"/>'


def _bars(plot: Plot, tops: Points, floors: Points, colour: str) -> Iterator[str]:
    width = max(1.0, (plot.x(plot.span.step) - plot.x(0)) * 0.8)
    for (at, value), (_, floor) in zip(tops, floors, strict=True):
        if value > floor:
            top, foot = plot.y(value), plot.y(max(plot.low, floor))
            place = f'x="{plot.x(at) - width / 2:.1f}" y="{top:.1f}"'
            yield f'<rect {place} width="{width:.1f}" height="{foot - top:.1f}" fill="{colour}"/>'


def _pieces(points: Points, step: float) -> Iterator[Points]:
    """The points cut where one is missing: what was not said is not bridged."""
    piece: list[tuple[float, float]] = []
    for at, value in points:
        if piece and (at - piece[-1][0] > 1.5 * step or not math.isfinite(value)):
            yield piece
            piece = []
        if math.isfinite(value):
            piece.append((at, value))
    if piece:
        yield piece


def _legend(
    panel: Mapping[str, Any],
    series: Sequence[Series],
    colours: Sequence[str],
    size: tuple[float, float],
) -> tuple[str, float]:
    """The legend, and how many pixels it takes below the plot: a third of it at most."""
    if not panel["options"]["legend"]["showLegend"]:
        return "", 0
    keys = "".join(
        f'<span><s style="background:{colour}"></s>{escape(one.name)}</span> '
        for one, colour in zip(series, colours, strict=True)
    )
    needed = sum(len(one.name) * 6.5 + 34 for one in series) / size[0]
    below = min(math.ceil(needed) * LEGEND_LINE + 4, size[1] * LEGEND_SHARE)
    return f'<div class="legend" style="height:{below:.0f}px">{keys}</div>', below


def drawn_states(
    panel: Mapping[str, Any],
    answered: Sequence[Sequence[Series]],
    size: tuple[float, float],
    span: Span,
) -> str:
    """A band for each series, coloured by what it was in."""
    series = [one for found in answered for one in found]
    if not series:
        return nothing(panel)
    widest = min(size[0] * 0.35, max(len(one.name) for one in series) * 6.5 + 12)
    band = (size[1] - BOTTOM) / len(series)
    plot = Plot(size[0] - widest + LEFT, size[1], span, 0, 1)
    shift = widest - LEFT
    parts = [f'<g transform="translate({shift:.1f} 0)">', *_times(plot)]
    for number, one in enumerate(series):
        field = fields_of(panel["fieldConfig"], one.name)
        for start, end, value in _states(one.points, span.step):
            colour = shown(value, field).colour or "#5794f2"
            left, right = plot.x(max(start, span.start)), plot.x(min(end, span.end))
            height = band * panel["options"].get("rowHeight", 0.9)
            y = number * band + (band - height) / 2
            place = f'x="{left:.1f}" y="{y:.1f}" width="{max(1.0, right - left):.1f}"'
            parts.append(f'<rect {place} height="{height:.1f}" fill="{colour}" opacity="0.85"/>')
    parts.append("</g>")
    parts += [
        f'<text x="{widest - 8:.1f}" y="{(number + 0.5) * band + 4:.1f}" text-anchor="end">'
        f"{escape(one.name)}</text>"
        for number, one in enumerate(series)
    ]
    return f'<svg width="{size[0]:.0f}" height="{size[1]:.0f}">{"".join(parts)}</svg>'


def _states(points: Points, step: float) -> Iterator[tuple[float, float, float]]:
    """Stretches of the same value: start, end, value."""
    for piece in _pieces(points, step):
        start, value = piece[0]
        for at, next_value in piece[1:]:
            if next_value != value:
                yield start, at, value
                start, value = at, next_value
        yield start, piece[-1][0] + step, value
