"""Files of tenants on filesystems that hang: each costs itself, and it is said."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from exporter.blocking import DaemonThreads
from exporter.collectors.ebpf.libraries import Found, OpenLibrary, open_library
from exporter.collectors.ebpf.tenant_files import MAX_HANGING, GivenUp, Progress, TenantFiles
from tests.fakes.fuse import StuckFiles, released
from tests.fakes.virtual_time import in_virtual_time
from tests.fakes.waiting import until

pytestmark = pytest.mark.system

SOON_SECS = 0.2
T = TypeVar("T")


class Door:
    """Lets a reader through when it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.went_on = threading.Event()
        self.was_given_up = False

    def read(self, devices: tuple[str, ...], progress: Progress) -> str:
        """Read a file of each of these filesystems; those called `bad` wait for the door."""
        for device in devices:
            try:
                progress.come_to(device)
            except GivenUp:
                self.was_given_up = True
                self.went_on.set()
                raise
            if device.startswith("bad"):
                self._open.wait(20)
        self.went_on.set()
        return "read"

    def open(self) -> None:
        """Let everybody through."""
        self._open.set()


async def test_a_filesystem_that_hangs_is_left_out_until_it_answers() -> None:
    """The others are read meanwhile; who was given up reads nothing more."""
    files, door = TenantFiles(DaemonThreads(), SOON_SECS), Door()
    assert await files.read(partial(door.read, ("good",))) == "read"
    assert await files.read(partial(door.read, ("good", "bad", "good"))) is None
    assert not files.may_open("bad")
    assert files.may_open("good")
    assert files.problems == ("filesystems of libraries that hang and are left out: 1",)
    assert await files.read(partial(door.read, ("good",))) == "read"
    door.went_on.clear()
    door.open()
    await until(lambda: not files.problems)
    assert door.was_given_up
    assert files.may_open("bad")
    assert await files.read(partial(door.read, ("bad",))) == "read"


@in_virtual_time
async def test_so_many_filesystems_may_hang_and_no_more() -> None:
    """Each keeps a thread: then nothing new is opened until one of them answers."""
    waiting: list[asyncio.Future[Any]] = []

    def call(function: Callable[[], T]) -> Awaitable[T]:
        del function
        waiting.append(asyncio.get_running_loop().create_future())
        return waiting[-1]

    files = TenantFiles(call)
    for _ in range(MAX_HANGING):
        assert files.may_open("good")
        assert await files.read(lambda _: "read") is None
    assert not files.may_open("good")
    waiting[0].set_exception(GivenUp())
    await asyncio.sleep(0)
    assert files.may_open("good")


async def test_what_a_reader_raises_is_raised() -> None:
    """A mistake of ours does not look like a filesystem that hangs."""
    files = TenantFiles(DaemonThreads(), SOON_SECS)

    def fail(_: Progress) -> str:
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        await files.read(fail)
    assert files.problems == ()


async def test_a_library_on_a_dead_server_costs_its_server(
    tmp_path: Path, stuck_files: StuckFiles
) -> None:
    """Its open never ends, as of a file of NFS or FUSE: the reader comes back without it."""
    file = stuck_files.hang("libnccl.so.2", "open")
    (tmp_path / "7").mkdir()
    (tmp_path / "7/root").symlink_to("/")
    found = Found("nccl", str(file), ("0:99", "1"))
    files = TenantFiles(DaemonThreads(), SOON_SECS)

    def read(progress: Progress) -> OpenLibrary | None:
        progress.come_to(found.file[0])
        return open_library(tmp_path, 7, found)

    with released(stuck_files, "libnccl.so.2"):
        assert await files.read(read) is None
        assert not files.may_open("0:99")
    await until(lambda: not files.problems)
