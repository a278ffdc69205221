"""Xids that the driver reports by NVML: counted, kept as events for the rules and over restarts."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from exporter.blocking import CallBlocking
from exporter.collectors.gpu.xids.interpretation import xid_event
from exporter.collectors.kernel_log.values import XidCount
from exporter.model.event import Event
from exporter.model.label import clean_text
from exporter.record import replace
from exporter.state import (
    BOOT_ID,
    RETRY_SECS,
    StateFile,
    count_of,
    dump,
    read_boot_id,
    time_of,
)

FILE_NAME = "xids.json"
VERSION = 1
MAX_EVENTS = 256
MAX_XIDS = 512
LARGEST_XID = 10_000
LOAD_SECS = 1.0
"""A state directory that does not answer is not waited for any longer."""


T = TypeVar("T")


class XidStore:
    """One state file, written in a daemon thread, one write at a time."""

    def __init__(self, directory: Path, proc_root: Path, call: CallBlocking) -> None:
        self._directory = directory
        self._boot_id_path = proc_root / BOOT_ID
        self._call = call
        self._boot_id = ""  # untested: nothing is saved before `load` has read it
        self._file: StateFile | None = None
        self._next: Mapping[str, Any] | None = None
        self._task: asyncio.Task[None] | None = None

    async def load(self, decode: Callable[[Mapping[str, Any]], T]) -> T | None:
        """Decode what an earlier process of this boot kept; None where there is nothing."""
        self._boot_id = await self._call(lambda: read_boot_id(self._boot_id_path))
        file = self._file = StateFile(self._directory / FILE_NAME, self._boot_id, VERSION)
        return await self._call(lambda: file.load(decode))

    def save(self, content: Mapping[str, Any]) -> None:
        """Write the content to the file; newer content replaces content that waits."""
        self._next = content
        self._begin()

    def _begin(self) -> None:
        if self._file is not None and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._write(self._file))

    async def _write(self, file: StateFile) -> None:
        """Write what waits, or again what could not be written; try later if it fails."""
        if self._next is None and file.unsaved is not None:
            await self._call(file.save_again)
        while self._next is not None:
            text = dump(self._next, self._boot_id, VERSION)
            self._next = None
            await self._call(lambda text=text: file.save(text))  # type: ignore[misc] # bound now
        if file.unsaved is not None:
            asyncio.get_running_loop().call_later(RETRY_SECS, self._begin)


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
        self._xids: dict[tuple[str, int], XidCount] = {}
        self.rejected = 0
        self._count = 0

    @property
    def events(self) -> tuple[Event, ...]:
        """The latest events, oldest first; their numbers rise."""
        return tuple(self._events)

    @property
    def xids(self) -> tuple[XidCount, ...]:
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
        self._counts(XidCount(uuid, code, 1, at))
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
        self._xids = {(xid.gpu, xid.code): xid for xid in xids[:MAX_XIDS]} | self._xids
        self._events.extendleft(reversed(events))
        self._count = max((event.number for event in self._events), default=0)

    def _content(self) -> dict[str, Any]:
        return {
            "xids": [[xid.gpu, xid.code, xid.count, xid.last_at] for xid in self.xids],
            "events": [
                [event.at, event.boottime, event.entity_id, dict(event.fields), event.number]
                for event in self._events
            ],
        }

    def _counts(self, xid: XidCount) -> None:
        key = (xid.gpu, xid.code)
        known = self._xids.get(key)
        if known is not None:
            self._xids[key] = replace(xid, count=known.count + 1)
        elif len(self._xids) < MAX_XIDS:
            self._xids[key] = xid
        else:
            self.rejected += 1


def _decode(kept: Mapping[str, Any]) -> tuple[list[XidCount], list[Event]]:
    """Read what `_content` wrote; raises ValueError or TypeError for anything else."""
    xids = [
        XidCount(clean_text(uuid), count_of(code), count_of(count), time_of(at))
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
