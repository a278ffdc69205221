"""Renders families and a snapshot to the exposition formats.

Not with prometheus_client's encoder, which takes several times as long and fails the page for one
bad label. Its parsers check these bytes in the tests. Formats:
https://prometheus.io/docs/instrumenting/exposition_formats/ and
https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

import math
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import chain
from types import MappingProxyType
from typing import TypeAlias

from exporter.exposition.family import SUFFIXES, Family, Histogram, MetricType, Sample, unit_of
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass

MAX_FAMILY_SERIES = 2000
TO_ESCAPE = re.compile(r'[\\"\n]')
EXPONENT_FROM = 1e6
"""Bounds of buckets from here on have an exponent, as in Go."""


class Format(Enum):
    """The exposition formats."""

    TEXT = "text"
    OPENMETRICS = "openmetrics"


@dataclass(frozen=True, slots=True)
class Block:
    """The bytes of one family, and the samples that they were made of."""

    type: MetricType
    samples: list[Sample]
    body: bytes
    series: int
    surplus: int


BlockKey: TypeAlias = tuple[str, str, tuple[str, ...], str]
"""The name and HELP of a family, the names of its labels, and how its labels begin."""

Blocks: TypeAlias = Mapping[BlockKey, Block]
"""The parts of a page in one format by family."""

NO_BLOCKS: Blocks = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rendered:
    """The bytes of some families, their number of series, dropped samples by family, and blocks."""

    body: bytes
    series: int
    dropped: tuple[tuple[str, int], ...]
    blocks: Blocks


def render(
    families: Iterable[Family], snapshot: Snapshot, form: Format, known: Blocks = NO_BLOCKS
) -> Rendered:
    """Render the samples of one snapshot as UTF-8; `node` is the first label of each.

    `known` are the blocks of the last page in this format: most families have the same samples.
    """
    blocks: dict[BlockKey, Block] = {}
    opening = f'{{node="{_escaped(snapshot.node)}"'
    for family in families:
        samples = [*family.samples(snapshot)]
        key = (family.name, family.help, family.labels, opening)
        block = known.get(key)
        if block is None or block.samples != samples or block.type is not family.type:
            block = _block(family, samples, opening, form)
        blocks[key] = block
    return Rendered(
        b"".join([block.body for block in blocks.values()]),
        sum(block.series for block in blocks.values()),
        tuple((key[0], block.surplus) for key, block in blocks.items() if block.surplus),
        blocks,
    )


def _block(family: Family, samples: list[Sample], opening: str, form: Format) -> Block:
    kept, size, surplus = distinct(samples)
    if not kept:
        return Block(family.type, samples, b"", 0, surplus)
    if TO_ESCAPE.search("".join(chain.from_iterable(kept))):  # looked for once, as it is rare
        kept = {(*map(_escaped, values),): number for values, number in kept.items()}
    labels = opening.replace("%", "%%") + "".join(f',{name}="%s"' for name in family.labels)
    line = f"{family.name}{labels}}} %s\n"
    lines = [
        "".join(_buckets(family.name, labels % values, number))
        if isinstance(number, Histogram)
        else line % (*values, _number(number))
        for values, number in kept.items()
    ]
    text = _heading(family, form) + "".join(lines)
    return Block(family.type, samples, text.encode("utf-8", "replace"), size, surplus)


def distinct(
    samples: Iterable[Sample],
) -> tuple[dict[tuple[str, ...], float | Histogram], int, int]:
    """Return the samples by labels, the number of series, and that of dropped samples."""
    kept: dict[tuple[str, ...], float | Histogram] = {}
    size = surplus = 0
    for values, number in samples:
        more = number.series if isinstance(number, Histogram) else 1
        if values in kept or size + more > MAX_FAMILY_SERIES:
            surplus += more
        else:
            kept[values] = number
            size += more
    return kept, size, surplus


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


def _heading(family: Family, form: Format) -> str:
    """Return HELP and TYPE; in OpenMetrics with the family's own name, and UNIT.

    A set of states stays a gauge: a `stateset` needs a label of the family's name for the state.
    """
    name, word, unit = family.name, family.type.in_text, ""
    if form is Format.OPENMETRICS:
        name, word = name.removesuffix(SUFFIXES.get(family.type, "")), family.type.value
        unit = "" if family.type is MetricType.INFO else unit_of(name)
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    heading = f"# HELP {name} {text}\n# TYPE {name} {word}\n"
    return f"{heading}# UNIT {name} {unit}\n" if unit else heading


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(number: float) -> str:
    if isinstance(number, bool):
        return "1" if number else "0"
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return repr(number)
