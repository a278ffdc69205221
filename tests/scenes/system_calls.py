"""What system calls answer on the stage: the clock, room on filesystems, the health of disks."""

import asyncio
import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from exporter.collectors.clock import STA_UNSYNC, TIME_ERROR, TIMEX, TIMEX_BYTES
from exporter.collectors.disk.nvme import KELVIN_AT_ZERO, LOG_BYTES

T = TypeVar("T")

HANGS = "hangs"
"""The answer of a call that does not return before the repair."""

WELL: Mapping[str, Any] = {
    "clock": {},
    "statvfs": {"size": 1_000_000, "available": 600_000, "files": 1_000_000, "files_free": 900_000},
    "nvme_health": {},
}
BLOCK_BYTES = 4096


class Hanging(Exception):
    """Raised in the place of a call that does not return."""


class SystemCalls:
    """Answers as the kernel of the scene does; `say` changes the answers named, None all back."""

    def __init__(self) -> None:
        self._answers = dict(WELL)
        self._returned = asyncio.Event()

    def say(self, answers: Mapping[str, Any] | None) -> None:
        """Change these answers; calls that hung return if all are well again."""
        self._answers = {**self._answers, **answers} if answers else dict(WELL)
        if not answers:
            self._returned.set()
            self._returned = asyncio.Event()

    async def call(self, function: Callable[[], T]) -> T:
        """Call it here and now; what would block in the kernel waits for the repair."""
        while True:
            try:
                return function()
            except Hanging:
                await self._returned.wait()

    def adjtimex(self) -> tuple[int, bytes]:
        """Answer of the clock: `refused`, `unsynchronized`, `offset` in microseconds."""
        said = self._said("clock")
        if said.get("refused"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        state, status = (TIME_ERROR, STA_UNSYNC) if said.get("unsynchronized") else (0, 1)
        words = TIMEX.pack(0, said.get("offset", 0), 0, 1000, 0, status)
        return state, words.ljust(TIMEX_BYTES, b"\0")

    def statvfs(self, _: str) -> os.statvfs_result:
        """Answer of every filesystem, in blocks and files."""
        said = {**WELL["statvfs"], **self._said("statvfs")}
        free, files_free = said["available"], said["files_free"]
        words = (said["size"], free, free, said["files"], files_free, files_free)
        return os.statvfs_result((BLOCK_BYTES, BLOCK_BYTES, *words, 0, 255))

    def health_log(self, _: Path) -> bytes:
        """Answer of every disk: its health log."""
        said = self._said("nvme_health")
        log = bytearray(LOG_BYTES)
        log[0], log[3], log[4] = said.get("critical_warning", 0), said.get("spare", 100), 10
        log[1:3] = (KELVIN_AT_ZERO + said.get("celsius", 40)).to_bytes(2, "little")
        log[5] = said.get("percentage_used", 3)
        log[160:176] = said.get("media_errors", 0).to_bytes(16, "little")
        return bytes(log)

    def _said(self, name: str) -> Mapping[str, Any]:
        said: Mapping[str, Any] | str = self._answers[name]
        if isinstance(said, str):
            raise Hanging
        return said
