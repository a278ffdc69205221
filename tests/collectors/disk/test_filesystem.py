"""Filesystems: their room, and what a dead one costs."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from exporter.blocking import DaemonThreads
from exporter.collectors.disk.filesystem import MOST_STUCK, FilesystemSource, with_room
from exporter.collectors.disk.values import Filesystem
from exporter.config import Devices
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent, SourceFailed
from tests.collectors.small_node import SmallNode
from tests.fakes.fuse import StuckFiles
from tests.fakes.virtual_time import in_virtual_time, run_virtually

T = TypeVar("T")


def said(blocks: int = 1000) -> os.statvfs_result:
    """What statvfs answers: a filesystem with this many blocks."""
    return os.statvfs_result((4096, 4096, blocks, 600, 500, 50, 40, 40, 0, 255))


class Answers:
    """Calls functions at once, except those that ask a path that hangs: they never answer."""

    def __init__(self, answer: Callable[[str], os.statvfs_result] = lambda _: said()) -> None:
        self.hanging: set[str] = set()
        self.asked: list[str] = []
        self._answer = answer
        self._held: list[tuple[str, asyncio.Future[os.statvfs_result]]] = []

    def statvfs(self, path: str) -> os.statvfs_result:
        """The answer for a path; the path is noted."""
        self.asked.append(path)
        if path in self.hanging:
            raise BlockingIOError
        return self._answer(path)

    def call(self, function: Callable[[], T]) -> "asyncio.Future[T]":
        """The way the source calls what may block."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        try:
            future.set_result(function())
        except BlockingIOError:
            pass
        except Exception as error:  # noqa: BLE001 - carried to who awaits it
            future.set_exception(error)
        return future


def built(node: SmallNode, answers: Answers, limit: int = 16) -> FilesystemSource:
    """The source over the tree, with the default choice of filesystems."""
    devices = Devices(max_per_kind=limit)
    return FilesystemSource(
        node.proc, node.sys, Path("/host"), answers.call, devices, statvfs=answers.statvfs
    )


def hang(node: SmallNode, answers: Answers, *mountpoints: str) -> None:
    """Mount what never answers."""
    for number, mountpoint in enumerate(mountpoints):
        node.mount(mountpoint, fstype="nfs4", number=f"0:{number}")
        answers.hanging.add(f"/host{mountpoint}")


def read(source: FilesystemSource) -> Reading[object]:
    """One read in virtual time."""
    return run_virtually(source.read())


def found(reading: Reading[object]) -> dict[str, Filesystem]:
    """The filesystems of a reading by mount point."""
    return {fs.mountpoint: fs for fs in reading.value.filesystems}  # type: ignore[attr-defined] # the reading of this source


def seen(node: SmallNode, answers: Answers | None = None) -> dict[str, Filesystem]:
    """The filesystems of one read, by mount point."""
    return found(read(built(node, answers or Answers())))


def test_the_mounts_of_many_containers_hide_no_filesystem(node: SmallNode) -> None:
    """The table of a node with a thousand containers is longer than other files of the kernel."""
    node.mount(f"/run/containerd/{'x' * 1024 * 1024}", fstype="overlay")
    node.mount("/data")
    answers = Answers()
    assert list(seen(node, answers)) == ["/data"]


@pytest.mark.parametrize("fstype", ["squashfs", "fuse.squashfuse_ll", "fuse.snapfuse"])
def test_an_image_has_no_room_that_could_run_out(node: SmallNode, fstype: str) -> None:
    """It is full by nature, and a program of FUSE mounts it without the option ro."""
    node.mount("/opt/images/torch", fstype=fstype, device="squashfuse_ll")
    with pytest.raises(SourceAbsent):
        seen(node)


def test_room_is_in_bytes_and_asked_under_the_host_root(node: SmallNode) -> None:
    """The mount /data of the node is /host/data for us."""
    node.mount("/data")
    answers = Answers()
    fs = seen(node, answers)["/data"]
    assert answers.asked == ["/host/data"]
    assert (fs.size_bytes, fs.free_bytes, fs.available_bytes) == (
        1000 * 4096, 600 * 4096, 500 * 4096,
    )  # fmt: skip
    assert (fs.files, fs.files_free, fs.readonly, fs.unreachable) == (50, 40, False, False)


def test_filesystems_of_the_kernel_and_of_containers_are_left_out(node: SmallNode) -> None:
    """They hold no data of their own, or are many and belong to pods."""
    node.mount("/", number="8:1")
    node.mount("/proc", fstype="proc", number="0:1")
    node.mount("/run", fstype="tmpfs", number="0:2")
    node.mount("/var/lib/docker/overlay2/1/merged", fstype="overlay", number="0:3")
    node.mount("/var/lib/kubelet/pods/1/volumes/x", number="8:9")
    assert list(seen(node)) == ["/"]


@pytest.mark.parametrize(
    ("number", "device"), [("259:2", "/dev/nvme0n1p2"), ("259:7", "/dev/root")]
)
def test_a_root_that_the_kernel_mounted_itself_has_its_device(
    node: SmallNode, number: str, device: str
) -> None:
    """Its lines in the kernel log, and its disk, go by that name; unless nothing says which."""
    node.write("sys/devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p2/dev", "259:2")
    node.link("sys/dev/block/259:2", "sys/devices/pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p2")
    node.write("proc/1/mountinfo", f"22 1 {number} / / rw - ext4 /dev/root rw\n")
    assert seen(node)["/"].device == device


@pytest.mark.parametrize(("files", "free"), [(0, 0), (50, 2**64 - 1), (2**64 - 1, 2**64 - 1)])
def test_a_filesystem_without_fixed_files_says_no_number(files: int, free: int) -> None:
    """Btrfs makes files as they come, and of CephFS all ones are free: neither is full."""
    answer = os.statvfs_result((4096, 4096, 1000, 600, 500, files, free, free, 0, 255))
    fs = with_room(Filesystem("x", "/x", "ceph", readonly=False), answer)
    assert fs is not None
    assert (fs.size_bytes, fs.files, fs.files_free) == (4096000, None, None)


def test_a_filesystem_without_size_is_not_shown() -> None:
    """Pseudo filesystems that the patterns do not know answer zero blocks."""
    assert with_room(Filesystem("x", "/x", "x", readonly=False), said(blocks=0)) is None


@in_virtual_time
async def test_a_dead_mount_costs_itself_and_is_left_alone(node: SmallNode) -> None:
    """It is asked once, shown unreachable each time, and the others answer as before."""
    answers = Answers()
    hang(node, answers, "/nfs")
    node.mount("/data")
    source = built(node, answers)
    for _ in range(3):
        filesystems = found(await source.read())
        assert filesystems["/nfs"].unreachable
        assert filesystems["/nfs"].size_bytes is None
        assert filesystems["/data"].size_bytes == 1000 * 4096
    assert answers.asked.count("/host/nfs") == 1


@in_virtual_time
async def test_no_more_than_a_few_mounts_may_hang(node: SmallNode) -> None:
    """Each holds a thread: a node with a hundred dead mounts gets eight stuck threads."""
    answers = Answers()
    hang(node, answers, *(f"/nfs/{number:02}" for number in range(14)))
    source = built(node, answers)
    await source.read()
    reading = await source.read()
    assert len(answers.asked) == MOST_STUCK
    assert sum(fs.unreachable for fs in found(reading).values()) == MOST_STUCK
    assert any("too many" in missing.reason for missing in reading.missing)


@pytest.mark.parametrize(
    ("error", "is_there", "is_unreachable"),
    [
        (FileNotFoundError(2, "gone"), False, False),
        (PermissionError(13, "no"), True, False),
        (OSError(116, "Stale file handle"), True, True),
        (OSError(5, "Input/output error"), True, True),
    ],
)
def test_an_error_is_not_a_size(
    node: SmallNode, error: OSError, *, is_there: bool, is_unreachable: bool
) -> None:
    """What was unmounted goes; what may not be asked says nothing; a stale one is unreachable."""

    def answer(_path: str) -> os.statvfs_result:
        raise error

    node.mount("/data")
    filesystems = seen(node, Answers(answer))
    assert ("/data" in filesystems) is is_there
    if is_there:
        assert filesystems["/data"].unreachable is is_unreachable
        assert filesystems["/data"].size_bytes is None


def test_a_mount_that_is_not_ours_is_not_asked(node: SmallNode) -> None:
    """Without its mount here, its place would answer with the room of another filesystem."""
    node.mount("/data", number="8:1")
    node.write("proc/self/mountinfo", "1 0 8:7 / /host/data rw - ext4 /dev/sda1 rw\n")
    answers = Answers()
    with pytest.raises(SourceAbsent):
        seen(node, answers)
    node.write("proc/self/mountinfo", "1 0 8:1 / /host/data rw - ext4 /dev/sda1 rw\n")
    assert list(seen(node, answers)) == ["/data"]


def test_more_filesystems_than_the_limit_are_counted(node: SmallNode) -> None:
    """The first by mount point are shown."""
    for number in range(5):
        node.mount(f"/data/{number}", number=f"8:{number}")
    reading = read(built(node, Answers(), limit=3))
    assert list(found(reading)) == ["/data/0", "/data/1", "/data/2"]
    assert reading.missing[0].reason.startswith("2 more")


@in_virtual_time
async def test_a_mount_that_was_unmounted_while_it_hangs_still_holds_its_thread(
    node: SmallNode,
) -> None:
    """It counts among those that may hang until its call has ended, mounted or not."""
    answers = Answers()
    hang(node, answers, *(f"/nfs/{number}" for number in range(MOST_STUCK)))
    source = built(node, answers)
    await source.read()
    node.write("proc/1/mountinfo", "22 27 8:1 / /data rw - ext4 /dev/sda1 rw\n")
    reading = await source.read()
    assert found(reading)["/data"].size_bytes is None
    assert [missing.reason for missing in reading.missing] == [
        "not asked: too many other mounts hang"
    ]


@in_virtual_time
async def test_an_answer_that_comes_late_is_forgotten_with_its_mount(node: SmallNode) -> None:
    """What was unmounted while it hung leaves nothing behind, and no complaint in the log."""
    node.mount("/a", number="8:1")
    node.mount("/b", number="8:2")
    answers = Answers()
    source = built(node, answers)
    late: asyncio.Future[os.statvfs_result] = asyncio.get_running_loop().create_future()
    late.set_exception(OSError(5, "late"))
    source._asking["/gone"] = late
    await source.read()
    assert not source._asking
    assert list(found(await source.read())) == ["/a", "/b"]


@pytest.mark.system
async def test_a_filesystem_that_hangs_in_the_kernel_is_unreachable(
    node: SmallNode, stuck_files: StuckFiles
) -> None:
    """With real threads and a real filesystem that never answers, the others are read in time."""
    stuck_files.hang("/", "statfs")
    node.mount("/", number="8:1")
    node.mount(str(stuck_files.folder), fstype="fuse.dead", number="0:99")
    everything = Devices(filesystem_type_exclude=(), mountpoint_exclude=())
    source = FilesystemSource(node.proc, node.sys, Path("/"), DaemonThreads(), everything)
    await source.read()
    filesystems = found(await source.read())
    await source.close()
    assert filesystems[str(stuck_files.folder)].unreachable
    assert filesystems["/"].size_bytes == os.statvfs("/").f_blocks * os.statvfs("/").f_frsize
    stuck_files.release("/")


def test_a_table_that_is_too_large_loses_no_mount(node: SmallNode) -> None:
    """Mounts of containers come before it: it is shown, or the source says why it is not."""
    containers = "22 1 8:7 / /run/x rw - overlay overlay rw,lowerdir=" + "x" * 4000 + "\n"
    last = "23 1 8:1 / /data rw - ext4 /dev/sda1 rw\n"
    answers = Answers()
    node.write("proc/1/mountinfo", containers * 800 + last)
    assert [*seen(node, answers)] == ["/data"]
    node.write("proc/1/mountinfo", containers * 4400 + last)
    with pytest.raises(SourceFailed, match="mountinfo is larger than"):
        seen(node, answers)
