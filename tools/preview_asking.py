"""Questions as Grafana puts them to a Prometheus, and what comes back."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

ALL = "$__all"
LEAST_STEP_SECS = 15
LABEL_VALUES = re.compile(r"label_values\((?P<selector>.+), (?P<label>\w+)\)")
VARIABLE = re.compile(r"\$\{(\w+)\}|\$([A-Za-z_]\w*)")
LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")
SPECIAL = re.compile(r"([\\^$.|?*+()\[\]{}])")


class Refused(Exception):  # noqa: N818 - it is the other side that says so
    """A question that Prometheus does not take, and its reason."""


class Asks(Protocol):
    """Something that answers like the HTTP API of Prometheus."""

    def __call__(self, path: str, **parameters: str) -> Any:  # noqa: ANN401 - JSON
        """The field `data` of the answer."""


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A Prometheus behind a URL."""

    url: str

    def __call__(self, path: str, **parameters: str) -> Any:  # noqa: ANN401 - JSON
        """The field `data` of the answer; Refused for a question that it does not take."""
        body = urllib.parse.urlencode(parameters)
        where = f"{self.url}/api/v1/{path}?{body}"
        try:
            with urllib.request.urlopen(where, timeout=30) as answer:  # noqa: S310 - named by the caller
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            raise Refused(f"{error.read().decode()}\n{parameters}") from error


@dataclass(frozen=True, slots=True)
class Span:
    """The time that is shown, in seconds since 1970."""

    start: float
    end: float

    @property
    def step(self) -> float:
        """Seconds between two points: as fine as a panel of some hundred pixels needs."""
        return max(LEAST_STEP_SECS, round((self.end - self.start) / 600))


@dataclass(frozen=True, slots=True)
class Series:
    """What one series is called, its labels, its points (time, value)."""

    name: str
    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a variable stands for: in an expression, and in words."""

    value: str
    text: str


def interpolated(text: str, choices: Mapping[str, Choice], span: Span) -> str:
    """The text with its variables replaced; an unknown variable is a KeyError."""
    own = {
        "__interval": f"{round(span.step)}s",
        "__range": f"{round(span.end - span.start)}s",
        "__rate_interval": f"{round(max(span.step + LEAST_STEP_SECS, 4 * LEAST_STEP_SECS))}s",
    }

    def replaced(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return own[name] if name in own else choices[name].value

    return VARIABLE.sub(replaced, text)


def chosen(
    ask: Asks, variables: list[dict[str, Any]], wanted: Mapping[str, str], span: Span
) -> dict[str, Choice]:
    """What each variable stands for: what was asked for, else its default, else the first."""
    found: dict[str, Choice] = {}
    for variable in variables:
        name = variable["name"]
        if variable["type"] == "datasource":
            found[name] = Choice("prometheus", "Prometheus")
        elif name in wanted:
            words = wanted[name].split(",")
            value = "|".join(SPECIAL.sub(r"\\\\\1", word) for word in words)
            found[name] = Choice(f"({value})" if len(words) > 1 else value, " + ".join(words))
        elif variable.get("current", {}).get("value") == ALL:
            found[name] = Choice(variable["allValue"], "All")
        else:
            first = next(iter(_values(ask, variable, found, span)), "")
            found[name] = Choice(first, first or "None")
    return found


def _values(
    ask: Asks, variable: dict[str, Any], choices: Mapping[str, Choice], span: Span
) -> list[str]:
    query = interpolated(variable["query"]["query"], choices, span)
    parts = LABEL_VALUES.fullmatch(query)
    if parts is None:
        raise ValueError(f"variable {variable['name']}: {query!r} is not label_values(…, …)")
    bounds = {"start": str(span.start), "end": str(span.end)}
    path = f"label/{parts['label']}/values"
    return sorted(ask(path, **{"match[]": parts["selector"]}, **bounds))


def named(legend: str, labels: Mapping[str, str]) -> str:
    """The name of a series: its legend with labels filled in, empty where it has none."""
    return LEGEND.sub(lambda found: labels.get(found[1], ""), legend)


def answers(
    ask: Asks, target: Mapping[str, Any], choices: Mapping[str, Choice], span: Span
) -> list[Series]:
    """The series of one target, asked for as an instant or a range."""
    query = interpolated(target["expr"], choices, span)
    if target["instant"]:
        data = ask("query", query=query, time=str(span.end))
    else:
        bounds = {"start": str(span.start), "end": str(span.end), "step": str(span.step)}
        data = ask("query_range", query=query, **bounds)
    return [
        Series(named(target["legendFormat"], item["metric"]), item["metric"], _points(item))
        for item in data["result"]
    ]


def _points(item: Mapping[str, Any]) -> tuple[tuple[float, float], ...]:
    pairs = item["values"] if "values" in item else [item["value"]]
    return tuple((float(at), float(value)) for at, value in pairs)
