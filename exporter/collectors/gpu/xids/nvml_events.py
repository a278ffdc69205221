"""Xids that the driver reports by NVML: counted, and kept as events for the rules."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from exporter.collectors.gpu.values import GpuXid
from exporter.collectors.gpu.xids.interpretation import xid_event
from exporter.collectors.gpu.xids.store import XidStore
from exporter.model.event import Event
from exporter.model.label import clean_text
from exporter.state import count_of, time_of

MAX_EVENTS = 256
MAX_XIDS = 512
LARGEST_XID = 10_000
LOAD_SECS = 1.0
"""A state directory that does not answer is not waited for any longer."""


class GpuEvents:
    """What the event thread of the NVML probe reported; `on_news` is called after each Xid.

    `rejected` counts the Xids that could not be counted for a GPU: of no GPU that has a UUID, with
    an impossible code, or of one kind more than are kept.
    """

    def __init__(
        self,
        wall: Callable[[], float],
        boottime: Callable[[], float],
        store: XidStore | None = None,
    ) -> None:
        self._store = store
        self.on_news: Callable[[], None] = lambda: None
        self._wall = wall
        self._boottime = boottime
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._xids: dict[tuple[str, int], GpuXid] = {}
        self.rejected = 0
        self._count = 0

    @property
    def events(self) -> tuple[Event, ...]:
        """The latest events, oldest first; their numbers rise."""
        return tuple(self._events)

    @property
    def xids(self) -> tuple[GpuXid, ...]:
        """How often each Xid was reported for each GPU."""
        return tuple(self._xids[key] for key in sorted(self._xids))

    def take(self, message: dict[str, Any]) -> None:
        """Take a line of the probe that nobody asked for; what is no Xid is left out."""
        if message.get("event") != "xid":
            return
        uuid, code = message.get("uuid"), message.get("xid")
        if not isinstance(uuid, str) or not isinstance(code, int) or not 0 < code < LARGEST_XID:
            self.rejected += 1
            return
        at = self._wall()
        self._count += 1
        self._counts(GpuXid(uuid, code, 1, at))
        fields = {"code": str(code)}
        for name in ("gpu_instance", "compute_instance"):
            if message.get(name) is not None:
                fields[name] = str(message[name])
        self._events.append(xid_event(at, self._boottime(), uuid, fields, self._count))
        if self._store is not None:
            self._store.save(self._content())
        self.on_news()

    async def load(self) -> None:
        """Take back what an earlier process of this boot has counted."""
        if self._store is None:
            return
        loading = asyncio.ensure_future(self._store.load(_decode))
        await asyncio.wait({loading}, timeout=LOAD_SECS)
        if not loading.done() or (kept := loading.result()) is None:
            return
        xids, events = kept
        self._xids = {(xid.uuid, xid.code): xid for xid in xids[:MAX_XIDS]} | self._xids
        self._events.extendleft(reversed(events))
        self._count = max((event.number for event in self._events), default=0)

    def _content(self) -> dict[str, Any]:
        return {
            "xids": [[xid.uuid, xid.code, xid.count, xid.last_at] for xid in self.xids],
            "events": [
                [event.at, event.boottime, event.entity_id, dict(event.fields), event.number]
                for event in self._events
            ],
        }

    def _counts(self, xid: GpuXid) -> None:
        key = (xid.uuid, xid.code)
        known = self._xids.get(key)
        if known is not None:
            self._xids[key] = replace(xid, count=known.count + 1)
        elif len(self._xids) < MAX_XIDS:
            self._xids[key] = xid
        else:
            self.rejected += 1


def _decode(kept: Mapping[str, Any]) -> tuple[list[GpuXid], list[Event]]:
    """Read what `_content` wrote; raises ValueError or TypeError for anything else."""
    xids = [
        GpuXid(clean_text(uuid), count_of(code), count_of(count), time_of(at))
        for uuid, code, count, at in kept["xids"]
    ]
    events = [
        xid_event(
            time_of(at),
            time_of(boottime),
            clean_text(uuid),
            {clean_text(name): clean_text(value) for name, value in fields.items()},
            count_of(number),
        )
        for at, boottime, uuid, fields, number in kept["events"][-MAX_EVENTS:]
    ]
    return xids, events
