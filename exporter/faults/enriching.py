"""What the tables know of a code, added to the event that has it."""

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from exporter.faults.nvlink5 import decode_nvlink5
from exporter.model.catalogue import UNKNOWN, Catalogue
from exporter.model.event import Event

NVLINK5_CODES = frozenset(range(144, 151))
FATAL_CLASSES = ("fatal_port", "fatal_fabric", "host")


def enriched(event: Event, catalogue: Catalogue) -> Event:
    """The event with what its code means: `severity_class`, `meaning`, `advice`, `fatal`."""
    code = event.fields.get("code", "")
    if not code.isdigit():
        return event
    if event.kind == "xid":
        added = dict(_xid(event, int(code), catalogue))
    elif event.kind == "sxid":
        added = dict(_sxid(event, int(code), catalogue))
    else:
        return event
    return replace(event, fields=MappingProxyType({**event.fields, **added}))


def _xid(event: Event, code: int, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    entry = catalogue.xid(code)
    yield "meaning", entry.meaning
    yield "severity_class", entry.severity
    yield "origin", entry.origin
    if code in NVLINK5_CODES and "info" in event.fields:
        meaning = decode_nvlink5(
            catalogue.nvlink5,
            xid=code,
            unit=event.fields.get("unit", ""),
            word=event.fields.get("severity", ""),
            info=int(event.fields["info"], 16),
            status=int(event.fields.get("status", "0"), 16),
        )
        yield "fatal", "yes" if meaning.fatal else "no"
        yield "advice", meaning.action
    else:
        yield "advice", entry.action


def _sxid(event: Event, code: int, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """The word in the line is trusted before the table."""
    entry = catalogue.sxids.get(code)
    yield "meaning", entry.meaning if entry else event.fields.get("text", UNKNOWN)
    word = event.fields.get("severity", "").lower()
    fatality = entry.fatality if entry else UNKNOWN
    is_fatal = word == "fatal" if word else fatality in FATAL_CLASSES
    yield "fatal", "yes" if is_fatal else "no"
    yield "fatality", fatality
