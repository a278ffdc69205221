"""What a client wants: media types and encodings with their weights (RFC 9110, section 12.5)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from exporter.exposition.render import Format

_WEIGHT = re.compile(r"(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")
_PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;"]*)')
_ITEM = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
OPENMETRICS_VERSIONS = ("", "1.0.0", "0.0.1")
TEXT_VERSIONS = ("", "0.0.4", "0.0.3")
MAX_ITEMS = 100


@dataclass(frozen=True, slots=True)
class _Wish:
    """One item of the header: its name, its parameters, and how much it is wanted, 0 to 1."""

    name: str
    version: str
    weight: float


def _wishes(header: str) -> Iterator[_Wish]:
    for count, match in enumerate(_ITEM.finditer(header)):
        if count == MAX_ITEMS:
            return
        item = match[0]
        parameters = {
            name.lower(): value.strip().strip('"') for name, value in _PARAMETER.findall(item)
        }
        weight = parameters.get("q", "1")
        yield _Wish(
            name=item.partition(";")[0].strip().lower(),
            version=parameters.get("version", ""),
            weight=float(weight) if _WEIGHT.fullmatch(weight) else 0.0,
        )


@lru_cache(maxsize=64)
def wanted_format(accept: str) -> Format:
    """The format to answer in: OpenMetrics where it is wanted at least as much as plain text.

    The plain text format is the answer to everything else, also to what nobody can give.
    """
    openmetrics = text = None
    for wish in _wishes(accept):
        if wish.name == "application/openmetrics-text" and wish.version in OPENMETRICS_VERSIONS:
            openmetrics = max(openmetrics or 0.0, wish.weight)
        elif wish.name == "text/plain" and wish.version in TEXT_VERSIONS:
            text = max(text or 0.0, wish.weight)
    if openmetrics and openmetrics >= (text or 0.0):
        return Format.OPENMETRICS
    return Format.TEXT


@lru_cache(maxsize=64)
def wants_gzip(accept_encoding: str) -> bool:
    """Whether gzip may be used: named, or covered by `*`, with a weight above zero."""
    weights = {wish.name: wish.weight for wish in _wishes(accept_encoding)}
    weight = weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0)))
    return weight > 0
