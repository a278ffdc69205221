"""Reads files of the kernel: bounded, with the errors of sources."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.record import replace

MAX_FILE_BYTES = 16 * 1024 * 1024
"""The mounts of 4,000 containers are listed in so many bytes."""

FILE_DEADLINE_SECS = 2.0
SMALL_FILE_BYTES = 4096  # sysfs files are at most one page (fs/sysfs/file.c)
LARGE_READ_BYTES = 256 * 1024


def read_text(path: Path | str, limit: int | None = None, *, is_one_piece: bool = False) -> str:
    """Read the file as text, or its first `limit` bytes; raise SourceAbsent or SourceFailed.

    Without `limit`, a file of more than MAX_FILE_BYTES fails: a table must not lose its last rows.
    A value in sysfs `is_one_piece`: the kernel gives all of it to the first read.
    """
    most = MAX_FILE_BYTES + 1 if limit is None else limit
    try:
        content = _read_bytes(path, most, is_one_piece=is_one_piece)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SourceAbsent(f"{path} is not there") from error
    except OSError as error:
        raise SourceFailed(f"{path} cannot be read: {error.strerror}") from error
    if limit is None and len(content) > MAX_FILE_BYTES:
        raise SourceFailed(f"{path} is larger than {MAX_FILE_BYTES} bytes")
    return content.decode("utf-8", "replace")


def _read_bytes(path: Path | str, limit: int, *, is_one_piece: bool) -> bytes:
    """Read the first bytes without the layers of `open`, which double the time.

    Those layers also turn EAGAIN, which some drivers return, into no bytes and no error.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if is_one_piece:
            return os.read(descriptor, limit)
        chunks = []
        size = SMALL_FILE_BYTES
        while limit > 0 and (chunk := os.read(descriptor, min(size, limit))):
            chunks.append(chunk)
            limit -= len(chunk)
            # Slowly: most files end here, and a read allocates the requested size first.
            size = min(4 * size, LARGE_READ_BYTES)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def is_there(path: Path | str) -> bool:
    """Return whether the path exists; False also where the kernel refuses to tell.

    `Path.exists` raises for a refusal before Python 3.14.
    """
    return os.path.exists(path)  # noqa: PTH110 - as said above


class FileSource:
    """A source that reads files: a blocking `look`, called in a thread."""

    def __init__(
        self,
        name: str,
        look: Callable[[], Reading[object]],
        call: CallBlocking,
        deadline_secs: float = FILE_DEADLINE_SECS,
    ) -> None:
        self.name = name
        self.deadline_secs = deadline_secs
        self._look = look
        self._call = call

    async def read(self) -> Reading[object]:
        """Read the files once; raise SourceAbsent or SourceFailed."""
        return await self._call(self._timed_look)

    def _timed_look(self) -> Reading[object]:
        started = time.perf_counter()
        return replace(self._look(), took_secs=time.perf_counter() - started)

    async def close(self) -> None:
        """Do nothing: no file is open between two reads."""
        await asyncio.sleep(0)
