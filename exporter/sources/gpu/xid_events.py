"""Xids that the driver reports by NVML: counted, and kept as events for the rules."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from exporter.model.event import Event, EventType
from exporter.model.gpu import GpuXid

MAX_EVENTS = 256
MAX_XIDS = 512
LARGEST_XID = 10_000


class GpuEvents:
    """What the event thread of the NVML probe said; `on_news` is called after each Xid."""

    def __init__(self, wall: Callable[[], float], boottime: Callable[[], float]) -> None:
        self.on_news: Callable[[], None] = lambda: None
        self._wall = wall
        self._boottime = boottime
        self._events: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._xids: dict[tuple[str, int], GpuXid] = {}
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
        """A line of the probe that nobody asked for; what is no Xid is left out."""
        uuid, code = message.get("uuid"), message.get("xid")
        if message.get("event") != "xid" or not isinstance(uuid, str):
            return
        if not isinstance(code, int) or not 0 < code < LARGEST_XID:
            return
        at = self._wall()
        self._count += 1
        self._tally(GpuXid(uuid, code, 1, at))
        said = {"code": str(code)}
        for name in ("gpu_instance", "compute_instance"):
            if message.get(name) is not None:
                said[name] = str(message[name])
        self._events.append(
            Event(
                at=at,
                boottime=self._boottime(),
                type=EventType.ERROR_HW,
                kind="xid",
                entity_type="gpu",
                entity_id=uuid,
                source="nvml",
                fields=MappingProxyType(said),
                number=self._count,
            )
        )
        self.on_news()

    def _tally(self, xid: GpuXid) -> None:
        key = (xid.uuid, xid.code)
        known = self._xids.get(key)
        if known is not None:
            self._xids[key] = replace(xid, count=known.count + 1)
        elif len(self._xids) < MAX_XIDS:
            self._xids[key] = xid
