"""Keeps the Xids that only NVML reported over restarts of the program, for this boot."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from exporter.blocking import CallBlocking
from exporter.state import BOOT_ID, RETRY_SECS, StateFile, dump, read_boot_id

FILE_NAME = "xids.json"
VERSION = 1

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
        """Keep this from now on; what is newer replaces what waits to be written."""
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
