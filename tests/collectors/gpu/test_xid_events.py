"""Xids that NVML reports: counted, kept on slow disks too, and joined with the kernel log's."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from exporter.collectors.gpu.xids.nvml_events import MAX_EVENTS, MAX_XIDS, GpuEvents, XidStore
from exporter.collectors.kernel_log.values import XidCount
from exporter.model.event import EventType
from exporter.state import BOOT_ID
from tests.fakes.source_context import call_now

T = TypeVar("T")

XID = {"event": "xid", "uuid": "GPU-0", "index": 0, "xid": 79}
PCI = "0000:18:00.0"


def events_at(wall: float = 1000.0) -> GpuEvents:
    """Events of which each happens now."""
    return GpuEvents(lambda: wall, lambda: 50.0)


def test_an_xid_is_counted_kept_and_told_at_once() -> None:
    """Two equal Xids are two, with the moment of the last."""
    events, told = events_at(), []
    events.on_news = lambda: told.append(len(events.events))
    events.take(dict(XID))
    events.take({**XID, "gpu_instance": 1, "compute_instance": 0})
    assert told == [1, 2]
    assert events.xids == (XidCount("GPU-0", 79, 2, 1000.0),)
    first, second = events.events
    assert (first.type, first.kind, first.entity_id) == (EventType.ERROR_HW, "xid", "GPU-0")
    assert (first.source, first.at, first.boottime, first.number) == ("nvml", 1000.0, 50.0, 1)
    assert dict(second.fields) == {"code": "79", "gpu_instance": "1", "compute_instance": "0"}


async def kept_in(folder: Path, boot_id: str) -> GpuEvents:
    """The events of a process that has just started in this boot, with what was kept."""
    proc = folder / "proc"
    (proc / BOOT_ID).parent.mkdir(parents=True, exist_ok=True)
    (proc / BOOT_ID).write_text(boot_id)
    events = GpuEvents(lambda: 1000.0, lambda: 50.0, XidStore(folder, proc, call_now))
    await events.load()
    return events


async def _rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_xids_survive_a_restart_of_the_program_and_not_of_the_node(tmp_path: Path) -> None:
    """Counts go on, events keep their numbers, instances and moments; a new boot begins at none."""
    first = await kept_in(tmp_path, "this boot")
    first.take({**XID, "gpu_instance": 3, "compute_instance": 1})
    first.take({**XID, "xid": 31})
    await _rest()
    first.take({**XID, "xid": 31})  # a while after the first was written
    await _rest()
    second = await kept_in(tmp_path, "this boot")
    assert second.xids == first.xids
    assert second.events == first.events
    second.take(dict(XID))
    assert [(xid.code, xid.count) for xid in second.xids] == [(31, 2), (79, 2)]
    assert [event.number for event in second.events] == [1, 2, 3, 4]
    assert (await kept_in(tmp_path, "another boot")).xids == ()


async def test_what_an_earlier_release_kept_is_taken_over(tmp_path: Path) -> None:
    """An update of the program in the middle of a boot does not begin to count anew."""
    (tmp_path / "xids.json").write_text(
        '{"version":1,"boot_id":"b","xids":[["GPU-0",79,2,9.5]],'
        '"events":[[9.5,4.5,"GPU-0",{"code":"79"},2]]}'
    )
    events = await kept_in(tmp_path, "b")
    assert events.xids == (XidCount("GPU-0", 79, 2, 9.5),)
    assert [(event.at, event.number) for event in events.events] == [(9.5, 2)]


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"version":1,"boot_id":"b","xids":[[1]]}'),
        '{"version":1,"boot_id":"b","xids":[["GPU-0",79,-5,9.5]],"events":[]}',
        '{"version":1,"boot_id":"b","xids":[["GPU-0",79,5,NaN]],"events":[]}',
        '{"version":1,"boot_id":"b","xids":[],"events":[[1e300,4.5,"GPU-0",{"code":"79"},2]]}',
    ],
)
async def test_a_file_that_cannot_be_understood_costs_only_what_was_kept(
    tmp_path: Path, text: str
) -> None:
    """It is set aside, and Xids are counted and kept from now on."""
    (tmp_path / "xids.json").write_text(text)
    events = await kept_in(tmp_path, "b")
    events.take(dict(XID))
    assert [xid.count for xid in events.xids] == [1]
    await _rest()
    assert (await kept_in(tmp_path, "b")).xids == events.xids


@pytest.mark.parametrize(
    "message",
    [{}, {"event": "hello"}, {**XID, "uuid": None}, {**XID, "xid": "79"}, {**XID, "xid": 10**9}],
)
def test_what_is_no_xid_is_left_out(message: dict[str, Any]) -> None:
    """A line of another kind is nothing; an Xid of nobody or of an impossible code is counted."""
    events = events_at()
    events.take(message)
    assert not events.events
    assert not events.xids
    assert events.rejected == (message.get("event") == "xid")


def test_a_flood_is_bounded() -> None:
    """However many come, so many are kept."""
    events = events_at()
    for number in range(2000):
        events.take({**XID, "xid": 1 + number})
    assert len(events.events) == MAX_EVENTS
    assert len(events.xids) == MAX_XIDS
    assert events.rejected == 2000 - MAX_XIDS


class Disk:
    """Answers at once, or while it is slow when it is let."""

    def __init__(self) -> None:
        self.calls = 0
        self.is_quick = asyncio.Event()
        self.is_quick.set()

    async def __call__(self, function: Callable[[], T]) -> T:
        self.calls += 1
        await self.is_quick.wait()
        return function()


def store_in(folder: Path, disk: Disk) -> XidStore:
    """A store of this boot in this folder."""
    (folder / BOOT_ID).parent.mkdir(parents=True)
    (folder / BOOT_ID).write_text("boot")
    return XidStore(folder, folder, disk)


def numbers(content: Mapping[str, Any]) -> list[int]:
    """What these tests keep."""
    return list(content["numbers"])


async def test_writes_wait_for_each_other_and_only_the_newest_is_written(tmp_path: Path) -> None:
    """However many come while the disk is slow, two writes: that under way, and the last."""
    disk = Disk()
    store = store_in(tmp_path, disk)
    await store.load(numbers)
    disk.calls = 0
    disk.is_quick.clear()
    for number in range(1, 50):
        store.save({"numbers": [number]})
        await asyncio.sleep(0)
    assert disk.calls == 1
    disk.is_quick.set()
    await _rest()
    assert disk.calls == 2
    assert json.loads((tmp_path / "xids.json").read_text())["numbers"] == [49]
    store.save({"numbers": [50]})
    await _rest()
    store = XidStore(tmp_path, tmp_path, disk)  # of the next process of this boot
    assert await store.load(numbers) == [50]


async def test_nothing_is_written_before_what_was_kept_is_read(tmp_path: Path) -> None:
    """What comes before it is written with what comes next: it does not replace what was kept."""
    disk = Disk()
    store = store_in(tmp_path, disk)
    store.save({"numbers": [1]})
    await _rest()
    assert disk.calls == 0
    assert await store.load(numbers) is None
    store.save({"numbers": [1, 2]})
    await _rest()
    store = XidStore(tmp_path, tmp_path, disk)  # of the next process of this boot
    assert await store.load(numbers) == [1, 2]
