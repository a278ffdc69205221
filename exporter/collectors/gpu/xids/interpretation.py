"""What the catalogue knows of Xids and SXids, and how their events come."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from exporter.collectors.gpu.values import Gpus
from exporter.collectors.gpu.words import LINK_CODES, NVLINK5_CODES, UNKNOWN
from exporter.collectors.gpu.xids.catalogue import shipped_catalogue
from exporter.collectors.gpu.xids.link_registers import (
    HARMLESS_KINDS,
    decode_nvlink5,
    register_kinds,
)
from exporter.collectors.kernel_log.values import KERNEL_LOG, TRACEPOINT
from exporter.faults.events.store import ENDED
from exporter.faults.replay.snapshots import START_BOOTTIME, START_WALL
from exporter.faults.subject import NumberedEvents
from exporter.model.event import Event, EventType
from exporter.model.snapshot import Snapshot
from exporter.record import replace

NVML = "nvml"
NVLINK_CODE = 74
WITH_MESSAGE = (KERNEL_LOG, TRACEPOINT)
"""The feeds of Xids with the driver's message."""

FATAL_CLASSES = ("fatal_port", "fatal_fabric")

_WORD = re.compile(r"0x([0-9a-f]{1,8})")


def feed(_: bool) -> NumberedEvents:  # noqa: FBT001 - the type of a feed: NVML numbers anew
    """Return the feed of the Xids that NVML reports; they are never kept over a restart."""
    return NumberedEvents(NVML, Gpus, lambda gpus: gpus.backend.backend == NVML)


def is_reported_better(event: Event, working: frozenset[str]) -> bool:
    """Tell whether a message of the driver says the same Xid of an NVLink, with its number."""
    is_about_link = event.fields.get("code", "") in LINK_CODES
    return event.source == NVML and is_about_link and not working.isdisjoint(WITH_MESSAGE)


class Catalogued:
    """Adds what the catalogue says of a code: `meaning`, `severity_class`, `advice`, `fatal`."""

    def see(self, snapshot: Snapshot) -> None:
        """Remember nothing."""

    def interpret(self, event: Event) -> Event:
        """Return the event with what its code means."""
        code = event.fields.get("code", "")
        added: dict[str, str] = {}
        if event.kind == "xid" and code.isdecimal():
            added = dict(_xid(event, int(code)))
        elif event.kind == "sxid" and code.isdecimal():
            added = dict(_sxid(event, int(code)))
        elif event.kind == "gpu_recovery_action" and event.fields.get("action") == "none":
            added = {ENDED: "yes"}
        if not added:
            return event
        return replace(event, fields=MappingProxyType({**event.fields, **added}))


def names_of_codes() -> Iterator[str]:
    """Yield how a site names the codes of the catalogue: `xid_79`, `sxid_20034`."""
    catalogue = shipped_catalogue()
    yield from (f"xid_{code}" for code in catalogue.xids)
    yield from (f"sxid_{code}" for code in catalogue.sxids)


def _xid(event: Event, code: int) -> Iterator[tuple[str, str]]:
    entry = shipped_catalogue().xid(code)
    yield "meaning", entry.meaning
    yield "severity_class", entry.severity
    yield "origin", entry.origin
    if code in NVLINK5_CODES and "info" in event.fields:
        meaning = decode_nvlink5(
            shipped_catalogue().nvlink5,
            xid=code,
            unit=event.fields.get("unit", ""),
            word=event.fields.get("severity", ""),
            info=int(event.fields["info"], 16),
            status=int(event.fields.get("status", "0"), 16),
        )
        yield "fatal", "yes" if meaning.fatal else "no"
        yield "advice", meaning.action
        return
    yield "advice", entry.action
    if code == NVLINK_CODE:
        yield "fatal", "yes" if _is_link_hardware(event) else "no"


def _is_link_hardware(event: Event) -> bool:
    """Whether the registers of Xid 74 say more than that something else went wrong."""
    words = [int(word, 16) for word in _WORD.findall(event.fields.get("registers", ""))]
    kinds = register_kinds(words)
    return not kinds or not kinds <= HARMLESS_KINDS


def _sxid(event: Event, code: int) -> Iterator[tuple[str, str]]:
    """Yield the word in the line, which is trusted before the table."""
    entry = shipped_catalogue().sxids.get(code)
    yield "meaning", entry.meaning if entry else event.fields.get("text", UNKNOWN)
    word = event.fields.get("severity", "").lower()
    fatality = entry.fatality if entry else UNKNOWN
    is_fatal = word == "fatal" if word else fatality in FATAL_CLASSES
    yield "fatal", "yes" if is_fatal else "no"
    yield "fatality", fatality


def xid_event(
    at: float, boottime: float, uuid: str, fields: Mapping[str, str], number: int
) -> Event:
    """Make the event of an Xid that NVML reported of this GPU; `at` is wall clock in seconds."""
    return Event(
        at=at,
        boottime=boottime,
        type=EventType.ERROR_HW,
        kind="xid",
        entity_type="gpu",
        entity_id=uuid,
        source=NVML,
        fields=MappingProxyType({**fields}),
        number=number,
    )


def xid_item(event: Event) -> dict[str, object]:
    """Return an Xid that NVML reported as recordings have it."""
    return {"gpu": event.entity_id, "code": int(event.fields["code"])}


class RecordedXids:
    """Makes the events of NVML in a recording, `{"gpu": "GPU-…", "code": 79}`."""

    def __init__(self) -> None:
        self._count = 0

    def events(self, items: Iterable[Mapping[str, Any]], boottime: float) -> Iterator[Event]:
        """Yield the Xid of each item."""
        at = START_WALL + boottime - START_BOOTTIME
        for item in items:
            self._count += 1
            fields = {"code": str(int(item["code"]))}
            yield xid_event(at, boottime, str(item["gpu"]), fields, self._count)
