"""Space in mounted filesystems: the mounts of process 1, and statvfs with a deadline.

https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo-information-about-mounts
https://man7.org/linux/man-pages/man3/statvfs.3.html
A mount whose server is gone blocks statvfs for ever: it costs itself, and is left alone until
that call has ended.
"""

import asyncio
import os
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.collectors.disk.values import Filesystem, Filesystems
from exporter.config import Devices
from exporter.model.label import clean_text
from exporter.model.reading import Reading
from exporter.reading.device_filter import shown
from exporter.reading.files import FILE_DEADLINE_SECS, read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.reading.sysfs import FieldReader
from exporter.record import dataclass, replace

STATVFS_DEADLINE_SECS = 1.0
LEAST_SECS = 0.05
"""So long is waited in any case: where our own event loop was late, the answers are here."""
MOST_STUCK = 8
"""Every dead mount holds a thread: with so many of them, no further mount is tried."""

ROOT_DEVICE = "/dev/root"
"""The kernel's name for the device of a root that it mounted itself: init/do_mounts.c."""

OCTAL = re.compile(r"\\([0-7]{3})")
FEWEST_WORDS = 6
ALL_ONES = 2**64 - 1

Statvfs = Callable[[str], os.statvfs_result]


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the mount table; `root` is the mounted part of the filesystem."""

    number: str  # major:minor
    root: str
    mountpoint: str
    fstype: str
    device: str
    readonly: bool
    is_view: bool = False  # mounted read-only here: the filesystem may be writable elsewhere


class FilesystemSource:
    """Reads the mounts of process 1, and calls statvfs for each shown filesystem."""

    name = "filesystem"
    deadline_secs = FILE_DEADLINE_SECS

    def __init__(
        self,
        proc_root: Path,
        sys_root: Path,
        host_root: Path,
        call: CallBlocking,
        devices: Devices,
        *,
        statvfs: Statvfs = os.statvfs,
    ) -> None:
        self._proc = proc_root
        self._sys = sys_root
        self._root = host_root
        self._call = call
        self._is_type_shown = shown(
            devices.filesystem_type_exclude, devices.filesystem_type_include
        )
        self._is_mountpoint_shown = shown(devices.mountpoint_exclude, devices.mountpoint_include)
        self._limit = devices.max_per_kind
        self._statvfs = statvfs
        self._asking: dict[str, asyncio.Future[os.statvfs_result]] = {}

    async def read(self) -> Reading[Filesystems]:
        """Read all filesystems now; raise SourceAbsent or SourceFailed."""
        fields = FieldReader()
        visible = await self._call(lambda: self._mounts(fields))
        truncated = fields.truncated(self._limit, len(visible), "filesystems")
        mounts = visible[: self._limit]
        self._forget_unmounted(mounts)
        await self._ask_all([mount for mount in mounts if mount.mountpoint not in self._asking])
        seen = (self._filesystem(mount, fields) for mount in mounts)
        found = Filesystems(tuple(fs for fs in seen if fs is not None), truncated)
        return Reading(found, fields.missing)

    async def close(self) -> None:
        """Cancel the calls that still hang."""
        for asking in self._asking.values():
            asking.cancel()
        await asyncio.sleep(0)

    def _forget_unmounted(self, mounts: tuple[Mount, ...]) -> None:
        """Drop late answers for unmounted filesystems; calls that hang still count."""
        mounted = {mount.mountpoint for mount in mounts}
        for mountpoint in [*self._asking]:
            asking = self._asking[mountpoint]
            if mountpoint not in mounted and asking.done():
                asking.exception()
                del self._asking[mountpoint]

    def _mounts(self, fields: FieldReader) -> tuple[Mount, ...]:
        """Read the mounts that are shown and visible in our mount namespace."""
        shown = uppermost(
            mount
            for mount in parse_mountinfo(self._mountinfo())
            if self._is_type_shown(mount.fstype) and self._is_mountpoint_shown(mount.mountpoint)
        )
        here = self._mounts_here()
        visible = []
        for mount in shown:
            if here is None or here.get(self._seen_from_here(mount)) == mount.number:
                visible.append(mount)
            else:
                fields.skip(mount.mountpoint, "not mounted where the exporter runs")
        if not visible:
            beside = f"; {len(shown)} of the node's are not mounted here" if shown else ""
            raise SourceAbsent(f"no filesystem that is shown can be asked{beside}")
        return tuple(visible)

    def _mountinfo(self) -> str:
        try:
            return read_text(self._proc / "1/mountinfo")
        except (SourceAbsent, SourceFailed) as failed:
            if failed.__cause__ is None:
                raise  # it is too large: ours would be another table
            return read_text(self._proc / "self/mountinfo")

    def _mounts_here(self) -> dict[str, str] | None:
        """Read the device mounted at each place in our mount namespace; None if unreadable."""
        try:
            mounts = parse_mountinfo(read_text(self._proc / "self/mountinfo"))
        except (SourceAbsent, SourceFailed):
            return None
        return {mount.mountpoint: mount.number for mount in mounts}

    def _seen_from_here(self, mount: Mount) -> str:
        return os.path.normpath(f"{self._root}/{mount.mountpoint}")

    async def _ask_all(self, mounts: Iterable[Mount]) -> None:
        """Call statvfs for each mount, with a limit of hanging calls, and wait at most a second."""
        loop = asyncio.get_running_loop()
        end = loop.time() + STATVFS_DEADLINE_SECS
        left = deque(mounts)
        waiting: set[asyncio.Future[os.statvfs_result]] = set()
        while left or waiting:
            while left and self._hanging() < MOST_STUCK:
                mount = left.popleft()
                asking = asyncio.ensure_future(self._ask(self._seen_from_here(mount)))
                self._asking[mount.mountpoint] = asking
                waiting.add(asking)
            if not waiting:
                return
            done, waiting = await asyncio.wait(
                waiting,
                timeout=max(LEAST_SECS, end - loop.time()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not done:
                return

    def _ask(self, path: str) -> Awaitable[os.statvfs_result]:
        return self._call(lambda: self._statvfs(path))

    def _hanging(self) -> int:
        return sum(not asking.done() for asking in self._asking.values())

    def _filesystem(self, mount: Mount, fields: FieldReader) -> Filesystem | None:
        """Return the filesystem with its last answer; None if it cannot be read."""
        known = Filesystem(
            device=clean_text(self._device(mount)),
            mountpoint=clean_text(mount.mountpoint),
            fstype=clean_text(mount.fstype),
            readonly=mount.readonly,
        )
        asking = self._asking.get(mount.mountpoint)
        if asking is None:
            fields.skip(mount.mountpoint, "not asked: too many other mounts hang")
            return known
        if not asking.done():
            fields.skip(mount.mountpoint, "does not answer")
            return replace(known, unreachable=True)
        del self._asking[mount.mountpoint]
        return self._answered(known, asking, fields)

    def _device(self, mount: Mount) -> str:
        """Return the device; for a root mounted without an initramfs, by its number."""
        if mount.device != ROOT_DEVICE:
            return mount.device
        link = self._sys / "dev/block" / mount.number
        return f"/dev/{link.resolve().name}" if link.exists() else ROOT_DEVICE

    def _answered(
        self, known: Filesystem, asking: "asyncio.Future[os.statvfs_result]", fields: FieldReader
    ) -> Filesystem | None:
        try:
            return with_room(known, asking.result())
        except FileNotFoundError:
            return None  # unmounted since the table was read
        except PermissionError as error:
            fields.skip(known.mountpoint, f"may not be asked: {error.strerror}")
            return known
        except OSError as error:
            fields.skip(known.mountpoint, f"cannot be asked: {error.strerror}")
            return replace(known, unreachable=True)


def with_room(known: Filesystem, answer: os.statvfs_result) -> Filesystem | None:
    """Add sizes in bytes; None for a filesystem without a size, which holds no files."""
    unit = answer.f_frsize
    if answer.f_blocks <= 0 or unit <= 0:
        return None
    # CephFS says how many files there are, and all ones for those that are free.
    has_fixed_number = answer.f_files > 0 and answer.f_ffree <= answer.f_files < ALL_ONES
    return replace(
        known,
        size_bytes=answer.f_blocks * unit,
        free_bytes=answer.f_bfree * unit,
        available_bytes=answer.f_bavail * unit,
        files=answer.f_files if has_fixed_number else None,
        files_free=answer.f_ffree if has_fixed_number else None,
    )


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Parse the mounts in their order; raise SourceFailed when no line is one."""
    mounts = tuple(mount for line in text.split("\n") if (mount := _mount(line)) is not None)
    if not mounts:
        raise SourceFailed("mountinfo holds no line about a mount")
    return mounts


def _mount(line: str) -> Mount | None:
    before, separator, after = line.partition(" - ")
    left, right = before.split(" "), after.split(" ")
    if not separator or len(left) < FEWEST_WORDS or len(right) < 2:  # noqa: PLR2004 - type, device
        return None
    is_mounted_ro = "ro" in left[5].split(",")
    is_filesystem_ro = len(right) > 2 and "ro" in right[2].split(",")  # noqa: PLR2004 - its options
    return Mount(
        number=left[2],
        root=_unescaped(left[3]),
        mountpoint=_unescaped(left[4]),
        fstype=right[0],
        device=_unescaped(right[1]),
        readonly=is_mounted_ro or is_filesystem_ro,
        is_view=is_mounted_ro,
    )


def _unescaped(word: str) -> str:
    """Decode blanks, tabs and backslashes in a word."""
    if "\\" not in word:
        return word
    return OCTAL.sub(lambda match: chr(int(match[1], 8)), word)


def uppermost(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return one mount for each filesystem, ordered by mount point.

    Of several mounts over each other the last one counts; of several mounts of one filesystem, one
    that can be written (ostree shows its root read-only at /sysroot), that of its root, then the
    shortest.
    """
    visible = {mount.mountpoint: mount for mount in mounts}
    chosen: dict[tuple[str, str], Mount] = {}
    for mount in sorted(visible.values(), key=_rank):
        chosen.setdefault((mount.number, mount.fstype), mount)
    return tuple(sorted(chosen.values(), key=lambda mount: mount.mountpoint))


def _rank(mount: Mount) -> tuple[bool, bool, int, str]:
    return mount.is_view, mount.root != "/", len(mount.mountpoint), mount.mountpoint
