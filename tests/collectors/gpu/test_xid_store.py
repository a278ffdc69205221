"""What a slow disk costs who keeps Xids: one write at a time, and the newest content at its end."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from exporter.collectors.gpu.xids.store import XidStore
from exporter.state import BOOT_ID

T = TypeVar("T")


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


async def _rest() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


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
    assert await store_again(tmp_path, disk).load(numbers) == [50]


def store_again(folder: Path, disk: Disk) -> XidStore:
    """The store of the next process of this boot."""
    return XidStore(folder, folder, disk)


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
    assert await store_again(tmp_path, disk).load(numbers) == [1, 2]


async def test_what_a_full_disk_refused_is_written_with_what_comes_next(tmp_path: Path) -> None:
    """The file before it stays whole; nothing of it raises."""
    disk = Disk()
    store = store_in(tmp_path, disk)
    await store.load(numbers)
    store.save({"numbers": [1]})
    await _rest()
    (tmp_path / ".xids.json.new").mkdir()  # the place of the new text is taken
    store.save({"numbers": [1, 2]})
    await _rest()
    assert await store_again(tmp_path, disk).load(numbers) == [1]
    (tmp_path / ".xids.json.new").rmdir()
    store.save({"numbers": [1, 2, 3]})
    await _rest()
    assert await store_again(tmp_path, disk).load(numbers) == [1, 2, 3]
