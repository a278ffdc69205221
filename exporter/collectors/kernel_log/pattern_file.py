"""Reads `kernel_log.toml`: kinds of events and the lines that make them."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from exporter.collectors.kernel_log.conversions import CONVERSIONS, SUBJECTS, subject_from
from exporter.collectors.kernel_log.pattern import (
    PARTS,
    Fields,
    LinePattern,
    Role,
    Subject,
    TenantWord,
    on_node,
    same_fields,
)
from exporter.model.event import EventType
from exporter.record import dataclass
from exporter.toml import read_shipped

COLLECTORS = Path(__file__).parent.parent
FILE_NAME = "kernel_log.toml"


class EventKind(NamedTuple):
    """The type and the meaning of one kind of event."""

    type: EventType
    meaning: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Known lines, of which the first that matches wins, and the kinds of their events."""

    rows: tuple[LinePattern, ...]
    kinds: Mapping[str, EventKind]


@cache
def shipped_lines() -> Lines:
    """Read the file `kernel_log.toml` of every collector that has one."""
    tables = [read_shipped(path) for path in sorted(COLLECTORS.glob(f"*/{FILE_NAME}"))]
    return Lines(
        rows=tuple(row for table in tables for row in rows_in(table)),
        kinds=MappingProxyType(
            {kind: found for table in tables for kind, found in kinds_in(table)}
        ),
    )


def rows_in(table: Mapping[str, Any]) -> Iterator[LinePattern]:
    """Yield the lines of a file; raises KeyError, TypeError or ValueError for a malformed one."""
    own = {name: joined(source) for name, source in table.get("parts", {}).items()}
    parts = MappingProxyType({**own, **PARTS})
    for row in table.get("line", ()):
        yield _pattern(row, parts)


def kinds_in(table: Mapping[str, Any]) -> Iterator[tuple[str, EventKind]]:
    """Yield the kinds that a file declares; raises ValueError for an unknown type."""
    for name, meanings in table.get("kinds", {}).items():
        event_type = EventType(name)
        for kind, meaning in meanings.items():
            yield kind, EventKind(event_type, meaning)


def joined(source: str | list[str]) -> str:
    """Return a pattern that may be written as several strings."""
    return source if isinstance(source, str) else "".join(source)


@cache
def _about(*written: str) -> Callable[[Fields], Subject]:
    """Return the function that a row names, or one for its pairs of type and field."""
    if len(written) == 1 and written[0] in SUBJECTS:
        return SUBJECTS[written[0]]
    pairs = [each.split(" ") for each in written]
    return subject_from(tuple((hw_type, name) for hw_type, name in pairs)) if pairs else on_node


def _pattern(row: Mapping[str, Any], parts: Mapping[str, str]) -> LinePattern:
    about, convert = row.get("about", ()), row.get("convert")
    return LinePattern(
        kind=row.get("kind", ""),
        contains=row["contains"],
        source=joined(row["pattern"]),
        about=_about(*([about] if isinstance(about, str) else about)),
        role=Role(row.get("role", "whole")),
        same=row.get("same", ""),
        once=row.get("once", ""),
        needs=row.get("needs", ""),
        opens=row.get("opens", ""),
        constants=row.get("set", {}),
        convert=CONVERSIONS[convert] if convert else same_fields,
        fields=tuple(row.get("fields", ())),
        tenant_words=tuple(TenantWord[word.upper()] for word in row.get("user_words", ())),
        is_head=row.get("further_lines", False),
        parts=parts,
    )
