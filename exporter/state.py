"""State files: JSON files in the state directory, valid for one boot."""

import errno
import json
import logging
import os
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

BOOT_ID = "sys/kernel/random/boot_id"
MAX_BYTES = 4 * 1024 * 1024
RETRY_SECS = 10.0
"""A full disk is tried again after so many seconds."""

MISFITS = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)
"""Exceptions from decoding a document of an unexpected shape."""

FURTHEST_SECS = 1e11
"""A time further from the epoch or the boot is none: it has no date on a page."""

T = TypeVar("T")

log = logging.getLogger("exporter.state")


def read_boot_id(path: Path) -> str:
    """Read the id of this boot; empty if it is unreadable: then no state is used."""
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeError):
        return ""


def dump(content: Mapping[str, Any], boot_id: str, version: int) -> str:
    """Encode the content, made of JSON's types, as the text of a state file."""
    document = {"version": version, "boot_id": boot_id, **content}
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"))


def parse(
    text: str, boot_id: str, version: int, decode: Callable[[Mapping[str, Any]], T]
) -> T | None:
    """Decode a text; None if it is of another boot or version. Raises one of MISFITS."""
    document = json.loads(text)
    if not isinstance(document, dict):
        raise TypeError("it holds no object")
    is_ours = document["boot_id"] == boot_id and document["version"] == version
    return decode(document) if is_ours and boot_id else None


def time_of(value: object) -> float:
    """Return a number of a document as a time in seconds; raise ValueError for anything else."""
    if type(value) not in (int, float) or not abs(secs := float(str(value))) < FURTHEST_SECS:
        raise ValueError(f"{str(value)[:40]!r} is no time in seconds")
    return secs


def count_of(value: object) -> int:
    """Return a number of a document as a count; raise ValueError for anything else."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{str(value)[:40]!r} is no count")
    return value


class StateFile:
    """One file, replaced whole at each save; `version` is that of its format.

    Every method blocks. A problem that persists is logged once. `unsaved` is the last text if it
    could not be saved. A file that `outlasts_boots` is on the disk before it replaces the one
    before it; another one may be empty after a power loss, and is not valid then.
    """

    def __init__(
        self,
        path: Path,
        boot_id: str,
        version: int,
        *,
        max_bytes: int = MAX_BYTES,
        outlasts_boots: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._boot_id = boot_id
        self._version = version
        self._max_bytes = max_bytes
        self._outlasts_boots = outlasts_boots
        self.unsaved: str | None = None
        self._clock = clock
        self._tried_at = 0.0

    def load(self, decode: Callable[[Mapping[str, Any]], T]) -> T | None:
        """Decode the state that an earlier process of this boot saved; None if there is none.

        A file that cannot be parsed is renamed to `NAME.bad` and reported once.
        """
        try:
            return parse(self._read(), self._boot_id, self._version, decode)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("%s cannot be read: %s", self._path, error.strerror)
        except MISFITS as error:
            log.warning("%s cannot be parsed and was renamed: %s", self._path, error)
            self._set_aside()
        return None

    def lines(self) -> list[str]:
        """Return the lines of a file with one document per line; empty if it is unreadable."""
        try:
            return self._read_bytes().decode("utf-8", "replace").split("\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("%s cannot be read: %s", self._path, error.strerror)
        except ValueError as error:
            log.warning("%s was renamed: %s", self._path, error)
            self._set_aside()
        return []

    def save(self, text: str) -> bool:
        """Replace the file by this text; False, logged once, if that fails."""
        scratch = self._path.with_name(f".{self._path.name}.new")
        try:
            scratch.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(scratch, flags, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
                file.write(text)
                if self._outlasts_boots:
                    file.flush()
                    os.fsync(file.fileno())
            scratch.replace(self._path)
        except OSError as error:
            if self.unsaved is None:
                log.warning("%s cannot be saved: %s", self._path, error.strerror)
            self.unsaved = text
            with suppress(OSError):  # on a full disk it would take room from others
                scratch.unlink()
        else:
            self.unsaved = None
        self._tried_at = self._clock()
        return self.unsaved is None

    def save_again(self) -> None:
        """Save the text that could not be saved, if the last try was some seconds ago."""
        if self.unsaved is not None and self._clock() - self._tried_at >= RETRY_SECS:
            self.save(self.unsaved)

    def _read(self) -> str:
        """Return the text of the file; raises OSError or ValueError."""
        return self._read_bytes().decode("utf-8")

    def _read_bytes(self) -> bytes:
        """Return the bytes of a regular file, at most `max_bytes`; raise OSError or ValueError.

        An empty file, which a power loss leaves, counts as none.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(self._path, flags), "rb") as file:  # noqa: PTH123 - a descriptor
            _require_own(os.fstat(file.fileno()))
            content = file.read(self._max_bytes + 1)
        if not content:
            raise FileNotFoundError(errno.ENOENT, "it is empty")
        if len(content) > self._max_bytes:
            raise ValueError(f"it is larger than {self._max_bytes} bytes")
        return content

    def _set_aside(self) -> None:
        try:
            self._path.replace(self._path.with_name(f"{self._path.name}.bad"))
        except OSError:
            return  # a directory that cannot be written is reported by `save`


def _require_own(status: os.stat_result) -> None:
    """Raise OSError unless the file is regular, has one link, and is owned by us or root."""
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    if status.st_uid not in (0, os.geteuid()):
        raise OSError(errno.EPERM, f"it belongs to user {status.st_uid}")
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, "it has a second name")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise OSError(errno.EPERM, "others may write it")
