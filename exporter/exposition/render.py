"""Renders families and a snapshot to the exposition formats.

Not with prometheus_client's encoder, which takes several times as long and fails the page for one
bad label. Its parsers check these bytes in the tests. Formats:
https://prometheus.io/docs/instrumenting/exposition_formats/ and
https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

import math
from collections.abc import Iterable
from enum import Enum

from exporter.exposition.family import Family, MetricType, unit_of
from exporter.model.probe import Histogram
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass

MAX_FAMILY_SERIES = 2000
SUFFIXES = {MetricType.COUNTER: "_total", MetricType.INFO: "_info"}
"""The suffix of a sample's name that OpenMetrics removes for the name of the family."""
EXPONENT_FROM = 1e6
"""Bounds of buckets from here on have an exponent, as in Go."""


class Format(Enum):
    """The exposition formats."""

    TEXT = "text"
    OPENMETRICS = "openmetrics"


@dataclass(frozen=True, slots=True)
class Rendered:
    """The bytes of some families, their number of series, and dropped samples by family."""

    body: bytes
    series: int
    dropped: tuple[tuple[str, int], ...]


def render(families: Iterable[Family], snapshot: Snapshot, form: Format) -> Rendered:
    """Render the samples of one snapshot as UTF-8; `node` is the first label of each."""
    lines: list[str] = []
    dropped = []
    series = 0
    node = _escaped(snapshot.node)
    for family in families:
        samples, size, surplus = distinct(family, snapshot)
        if surplus:
            dropped.append((family.name, surplus))
        if not samples:
            continue
        series += size
        lines += _heading(family, form)
        opening = f'{{node="{node}"'
        names = [f',{name}="' for name in family.labels]
        for values, number in samples.items():
            labels = "".join(
                f'{name}{_escaped(value)}"' for name, value in zip(names, values, strict=True)
            )
            if isinstance(number, Histogram):
                lines += _buckets(family.name, f"{opening}{labels}", number)
            else:
                lines.append(f"{family.name}{opening}{labels}}} {_number(number)}\n")
    return Rendered("".join(lines).encode("utf-8", "replace"), series, tuple(dropped))


def distinct(
    family: Family, snapshot: Snapshot
) -> tuple[dict[tuple[str, ...], float | Histogram], int, int]:
    """Return the samples by labels, the number of series, and that of dropped samples."""
    samples: dict[tuple[str, ...], float | Histogram] = {}
    size = surplus = 0
    for values, number in family.samples(snapshot):
        more = number.series if isinstance(number, Histogram) else 1
        if values in samples or size + more > MAX_FAMILY_SERIES:
            surplus += more
        else:
            samples[values] = number
            size += more
    return samples, size, surplus


def _buckets(name: str, labels: str, found: Histogram) -> Iterable[str]:
    for bound, count in found.buckets:
        yield f'{name}_bucket{labels},le="{_bound(bound)}"}} {count}\n'
    yield f"{name}_sum{labels}}} {_number(found.sum)}\n"
    yield f"{name}_count{labels}}} {found.count}\n"


def _bound(bound: float) -> str:
    """Format a bound in the only spelling that OpenMetrics has for it."""
    if bound == math.inf:
        return "+Inf"
    digits = str(bound)
    if bound < EXPONENT_FROM or "e" in digits:
        return digits
    significant = len(digits.replace(".", "").rstrip("0"))
    return f"{bound:.{significant - 1}e}"


def _heading(family: Family, form: Format) -> Iterable[str]:
    """Yield HELP and TYPE; in OpenMetrics with the family's own name, and UNIT.

    A set of states stays a gauge: a `stateset` needs a label of the family's name for the state.
    """
    name, kind = family.name, family.type.in_text
    is_openmetrics = form is Format.OPENMETRICS
    if is_openmetrics:
        name, kind = name.removesuffix(SUFFIXES.get(family.type, "")), family.type.value
    help_text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {name} {help_text}\n"
    yield f"# TYPE {name} {kind}\n"
    unit = unit_of(name)
    if is_openmetrics and unit and family.type is not MetricType.INFO:
        yield f"# UNIT {name} {unit}\n"


def _escaped(value: str) -> str:
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return value


def _number(number: float) -> str:
    if isinstance(number, bool):
        return "1" if number else "0"
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return repr(number)
