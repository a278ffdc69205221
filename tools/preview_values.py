"""Numbers as Grafana says them: units, colours, thresholds, mappings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PALETTE = (
    *("#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#5794f2", "#b877d9", "#705da0"),
    *("#37872d", "#fade2a", "#447ebc", "#c15c17", "#890f02", "#0a437c", "#6d1f62", "#584477"),
)
NAMED = {
    "green": "#73bf69",
    "yellow": "#fade2a",
    "orange": "#ff9830",
    "red": "#f2495c",
    "blue": "#5794f2",
    "purple": "#b877d9",
    "semi-dark-green": "#56a64b",
    "semi-dark-red": "#e02f44",
    "semi-dark-orange": "#ff780a",
    "semi-dark-blue": "#3274d9",
    "dark-green": "#37872d",
    "dark-red": "#c4162a",
    "dark-orange": "#fa6400",
    "dark-blue": "#1f60c4",
    "text": "#ccccdc",
    "transparent": "#22252b",
}
COLOURS = frozenset(NAMED)

THOUSANDS = ("", "K", "M", "G", "T", "P")
SCALES: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "short": (1000, ("", " K", " Mil", " Bil", " Tri")),
    "bytes": (1024, tuple(f" {x}iB" if x else " B" for x in THOUSANDS)),
    "Bps": (1000, tuple(f" {x.replace('K', 'k')}B/s" for x in THOUSANDS)),
    "hertz": (1000, tuple(f" {x.replace('K', 'k')}Hz" for x in THOUSANDS)),
    "watt": (1000, tuple(f" {x.replace('K', 'k')}W" for x in THOUSANDS)),
    "reqps": (1000, tuple(f"{x} req/s" for x in THOUSANDS)),
    "pps": (1000, tuple(f"{x} p/s" for x in THOUSANDS)),
}
PLAIN = {"none": "", "percent": "%", "percentunit": "%", "celsius": " °C"}
SECONDS = (
    (31_536_000, "years"),
    (604_800, "weeks"),
    (86_400, "days"),
    (3600, "hours"),
    (60, "mins"),
)
UNITS = frozenset({*SCALES, *PLAIN, "s"})
DECIMALS_FROM = ((100, 0), (10, 1), (1, 2))


def _digits(value: float, decimals: int | None) -> str:
    if decimals is not None:
        return f"{value:.{decimals}f}"
    size = abs(value)
    wanted = next((count for least, count in DECIMALS_FROM if size >= least), 3)
    text = f"{value:.{wanted}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def said(value: float, unit: str, decimals: int | None = None) -> str:
    """The number in its unit; an unknown unit is a KeyError."""
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - not a number
        return str(value)
    if unit == "s":
        return _seconds(value, decimals)
    if unit in PLAIN:
        shown = value * 100 if unit == "percentunit" else value
        return f"{_digits(shown, decimals)}{PLAIN[unit]}"
    factor, names = SCALES[unit]
    power = 0
    while abs(value) >= factor and power < len(names) - 1:
        value, power = value / factor, power + 1
    return f"{_digits(value, decimals)}{names[power]}"


def _seconds(value: float, decimals: int | None) -> str:
    size = abs(value)
    for length, name in SECONDS:
        if size >= length:
            return f"{_digits(value / length, decimals)} {name}"
    if size >= 1 or size == 0:
        return f"{_digits(value, decimals)} s"
    thousandths = value * 1000
    if abs(thousandths) >= 1:
        return f"{_digits(thousandths, decimals)} ms"
    return f"{_digits(thousandths * 1000, decimals)} µs"


@dataclass(frozen=True, slots=True)
class Shown:
    """A value as it is shown: its text, and its colour where it has one."""

    text: str
    colour: str | None = None


def shown(value: float | str, field: Mapping[str, Any]) -> Shown:
    """A value by the properties of its field: mappings first, then thresholds and unit."""
    mapped = _mapped(value, field)
    if mapped:
        colour = NAMED[mapped["color"]] if "color" in mapped else _threshold(value, field)
        return Shown(mapped.get("text") or str(value), colour)
    if isinstance(value, str):
        return Shown(value)
    text = said(value, field.get("unit", "short"), field.get("decimals"))
    return Shown(text, _threshold(value, field))


def _mapped(value: float | str, field: Mapping[str, Any]) -> dict[str, Any] | None:
    key = f"{value:g}" if isinstance(value, float) else value
    for mapping in field.get("mappings", ()):
        if key in mapping["options"]:
            found: dict[str, Any] = mapping["options"][key]
            return found
    return None


def _threshold(value: float | str, field: Mapping[str, Any]) -> str | None:
    mode = field.get("color", {})
    if mode.get("mode") == "fixed":
        return NAMED[mode["fixedColor"]]
    steps = field.get("thresholds", {}).get("steps", ())
    if isinstance(value, str) or mode.get("mode") != "thresholds":
        return None
    colour = None
    for step in steps:
        if step["value"] is None or value >= step["value"]:
            colour = NAMED[step["color"]]
    return colour
