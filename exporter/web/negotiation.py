"""Content negotiation: media types and encodings with weights (RFC 9110, section 12.5)."""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache

from exporter.exposition.render import Format
from exporter.record import dataclass
from exporter.web.parameters import MalformedQuery

_WEIGHT = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")
OPENMETRICS_VERSIONS = ("", "1.0.0", "0.0.1")
TEXT_VERSIONS = ("", "0.0.4", "0.0.3")
MAX_ITEMS = 100
MAX_HEADER_CHARS = 2048
"""Four times the header of Prometheus; a longer header is ignored."""


@dataclass(frozen=True, slots=True)
class _Preference:
    """One item of the header: name, version parameter, and weight from 0 to 1."""

    name: str
    version: str
    weight: float


def _split(text: str, separator: str) -> list[str]:
    """Split at each separator outside of quoted strings, in one pass over the text."""
    if '"' not in text:
        return text.split(separator)
    parts, start, is_quoted, is_escaped = [], 0, False, False
    for position, char in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif is_quoted and char == "\\":
            is_escaped = True
        elif char == '"':
            is_quoted = not is_quoted
        elif char == separator and not is_quoted:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _preferences(header: str) -> Iterator[_Preference]:
    if len(header) > MAX_HEADER_CHARS:
        return
    items = [item for item in _split(header, ",") if item]
    for item in items[:MAX_ITEMS]:
        name, *pairs = _split(item, ";")
        parameters = {}
        for pair in pairs:
            key, _, value = pair.partition("=")
            parameters[key.strip().lower()] = value.strip().strip('"')
        weight = parameters.get("q", "1")
        yield _Preference(
            name=name.strip().lower(),
            version=parameters.get("version", ""),
            weight=float(weight) if _WEIGHT.fullmatch(weight) else 0.0,
        )


@lru_cache(maxsize=64)
def wanted_format(accept: str) -> Format:
    """Return OpenMetrics if its weight is at least that of plain text, else plain text.

    Plain text is also the answer to formats that do not exist.
    """
    openmetrics = text = None
    for item in _preferences(accept):
        if item.name == "application/openmetrics-text" and item.version in OPENMETRICS_VERSIONS:
            openmetrics = max(openmetrics or 0.0, item.weight)
        elif item.name == "text/plain" and item.version in TEXT_VERSIONS:
            text = max(text or 0.0, item.weight)
    if openmetrics and openmetrics >= (text or 0.0):
        return Format.OPENMETRICS
    return Format.TEXT


@lru_cache(maxsize=64)
def wants_gzip(accept_encoding: str) -> bool:
    """Return whether gzip may be used: named, or covered by `*`, with a weight above zero."""
    weights = {item.name: item.weight for item in _preferences(accept_encoding)}
    weight = weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0)))
    return weight > 0


class Form(Enum):
    """The format of a document."""

    JSON = "json"
    HTML = "html"
    TEXT = "text"


_MEDIA_TYPES = {
    "application/json": Form.JSON,
    "text/html": Form.HTML,
    "application/xhtml+xml": Form.HTML,
    "text/plain": Form.TEXT,
    "text/markdown": Form.TEXT,
}


def wanted_form(values: Mapping[str, str], accept: str, default: Form) -> Form:
    """Return the format named by `format`, else the preferred one; raise MalformedQuery."""
    name = values.get("format")
    if name is None:
        return _accepted_form(accept) or default
    try:
        return Form(name)
    except ValueError:
        allowed = ", ".join(form.value for form in Form)
        raise MalformedQuery(f"format is one of {allowed}") from None


@lru_cache(maxsize=64)
def _accepted_form(accept: str) -> Form | None:
    """Return the format with the highest weight; JSON, then HTML, of equal ones."""
    weights = dict.fromkeys(Form, 0.0)
    for item in _preferences(accept):
        form = _MEDIA_TYPES.get(item.name)
        if form is not None:
            weights[form] = max(weights[form], item.weight)
    best = max(Form, key=lambda form: weights[form])
    return best if weights[best] else None
