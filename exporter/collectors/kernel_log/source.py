"""The kernel log as a source: /dev/kmsg, else syslog(2), else absent with a reason."""

import asyncio
import errno
import os
import stat
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from exporter.collectors.kernel_log.checkpoint import Saved, decode, dump_state, state_file
from exporter.collectors.kernel_log.kmsg import KmsgFollower
from exporter.collectors.kernel_log.pattern_file import Lines
from exporter.collectors.kernel_log.pipeline import MALFORMED, Pipeline, PrintClock
from exporter.collectors.kernel_log.syslog import KlogCtl, SyslogPoller, klogctl
from exporter.collectors.kernel_log.table import Table
from exporter.model.reading import Reading
from exporter.reading.context import SourceContext
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.state import BOOT_ID, StateFile, read_boot_id

NAME = "kernel_log"
SAVE_SECS = 1.0
SAVE_AGAIN_SECS = 0.25
MAX_POSTPONED = 8
CLOSE_SECS = 0.4
NO_KERNEL_LOG = "not_kmsg"
KMSG = os.makedev(1, 11)
"""The device numbers of /dev/kmsg (Documentation/admin-guide/devices.txt)."""


class _Watcher(Protocol):
    source: str
    reason: str
    error: str | None

    async def replay(self) -> None: ...
    def watch(self) -> None: ...
    def close(self) -> None: ...


class _Followed(NamedTuple):
    pipeline: Pipeline
    watcher: _Watcher


class KernelLogSource:
    """Follows the log from the first `read` on; a `read` gives what is known, without waiting."""

    name = NAME
    deadline_secs = 5.0

    def __init__(
        self,
        lines: Lines,
        ctx: SourceContext,
        *,
        klogctl: KlogCtl = klogctl,
        max_postponed: int = MAX_POSTPONED,
    ) -> None:
        self._lines = lines
        self._ctx = ctx
        self._path = Path(ctx.config.kernel_log.path)
        self._klogctl = klogctl
        self._max_postponed = max_postponed
        self._boot_id = ""
        self._file: StateFile | None = None
        self._followed: _Followed | None = None
        self._woke_at = 0  # the number of the latest event that was published
        self._saving: asyncio.TimerHandle | None = None
        self._postponed = 0
        self._one_save = asyncio.Lock()

    async def read(self) -> Reading[object]:
        """Return the counters and latest events.

        Raises SourceAbsent where the log may not be read.
        """
        pipeline, watcher = self._followed or await self._start()
        if watcher.error is not None:
            raise SourceFailed(watcher.error)
        counters = pipeline.counters
        if not counters.records and counters.rejected[MALFORMED]:
            raise SourceFailed(f"{self._path} has no records in the format of /dev/kmsg")
        self._woke_at = counters.number
        return Reading(counters.as_value(watcher.source, watcher.reason))

    def reload(self, renewed: object) -> None:
        """Take the lines of a source that was built anew; those read before are not read again."""
        if isinstance(renewed, KernelLogSource):
            self._lines = renewed._lines  # noqa: SLF001 - the same class
            if self._followed is not None:
                self._followed.pipeline.table = Table(self._lines)

    async def close(self) -> None:
        """Close the device and save the position."""
        if self._saving is not None:
            self._saving.cancel()
        if self._followed is None:
            return
        pipeline, watcher = self._followed
        self._followed = None
        watcher.close()
        pipeline.settle()
        await asyncio.wait({asyncio.ensure_future(self._save(pipeline))}, timeout=CLOSE_SECS)

    async def _start(self) -> _Followed:
        """Open the log, read what is in it, and follow it from there."""
        ctx = self._ctx
        saved, opened = await ctx.call(self._open)
        pipeline = Pipeline(
            PrintClock(ctx.wall, ctx.boottime),
            accept_user_records=ctx.config.kernel_log.accept_user_records,
            saved=saved,
            table=Table(self._lines),
        )
        watcher: _Watcher
        if isinstance(opened, int):
            watcher = KmsgFollower(opened, pipeline, self._changed)
        else:
            watcher = SyslogPoller(self._klogctl, ctx.call, pipeline, self._changed, opened)
        try:
            await watcher.replay()
        except OSError as error:
            raise SourceAbsent(  # a word, then a sentence: neither way is open
                f"{reason_of(error)}: {self._path} gave {watcher.reason},"
                f" syslog(2) gave {error.strerror or error}"
            ) from error
        self._followed = _Followed(pipeline, watcher)
        watcher.watch()
        self._save_later(SAVE_SECS)
        return self._followed

    def _open(self) -> tuple[Saved | None, int | str]:
        """Return the state of an earlier process, and the open device or why it is not."""
        saved = None
        self._boot_id = read_boot_id(self._ctx.proc / BOOT_ID)
        folder = self._ctx.config.state.dir
        if self._boot_id and folder:
            self._file = state_file(Path(folder), self._boot_id)
            saved = self._file.load(decode)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            opened = os.open(self._path, flags)
        except OSError as error:
            return saved, reason_of(error)
        if not _may_be_the_log(os.fstat(opened)):
            os.close(opened)
            return saved, NO_KERNEL_LOG
        return saved, opened

    def _changed(self) -> None:
        """Publish new events at once, and note the position soon."""
        if self._followed and self._followed.pipeline.counters.number != self._woke_at:
            self._woke_at = self._followed.pipeline.counters.number
            self._ctx.wake(NAME)
        if self._saving is None:
            self._save_later(SAVE_SECS)

    def _save_later(self, secs: float) -> None:
        if self._file is not None:
            self._saving = asyncio.get_running_loop().call_later(secs, self._save_now)

    def _save_now(self) -> None:
        """Save, but not between the lines of one message: it would be lost in a crash.

        A save that has not ended, as on a disk that hangs, is waited for.
        """
        self._saving = None
        if self._followed is None:
            return
        pipeline = self._followed.pipeline
        if self._one_save.locked():
            self._save_later(SAVE_SECS)
            return
        if pipeline.is_holding and self._postponed < self._max_postponed:
            self._postponed += 1
            self._save_later(SAVE_AGAIN_SECS)
            return
        self._postponed = 0
        self._task = asyncio.ensure_future(self._save(pipeline))

    async def _save(self, pipeline: Pipeline) -> None:
        async with self._one_save:
            file = self._file
            if file is None or pipeline.position is None:
                return
            text = dump_state(self._boot_id, pipeline.position, pipeline.counters)
            await self._ctx.call(partial(file.save, text))


def reason_of(error: OSError) -> str:
    """Say in one word why the log cannot be read."""
    if error.errno in (errno.EPERM, errno.EACCES):
        return "no_permission"
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return "no_device"
    return errno.errorcode.get(error.errno or 0, "unreadable").lower()


def _may_be_the_log(status: os.stat_result) -> bool:
    """Return whether it is /dev/kmsg, or a file or pipe of a drill.

    Containers (LXC, kubelets in containers) have /dev/null or the console in its place.
    """
    if stat.S_ISCHR(status.st_mode):
        return status.st_rdev == KMSG
    return stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)
