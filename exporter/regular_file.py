"""Reads files that the configuration names: regular files only, bounded in size and time."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

DEADLINE_SECS = 5.0
WAIT_SECS = 1.0
"""A read waits so long for another one of the same file, which takes milliseconds or hangs."""

NAMES = {
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


_LOCKS: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
"""A lock for each file that is read now; the thread that reads releases it, if it ever ends."""


class FileUnusable(Exception):
    """A file that cannot be used; the message follows the file's name: "cannot be read: …"."""


def read_regular(name: str | Path, most_bytes: int, deadline_secs: float = DEADLINE_SECS) -> bytes:
    """Return the contents of the file, following links; raise FileUnusable.

    Reading happens in a daemon thread, since a file of a dead network filesystem never answers.
    Reads of one file wait for each other; while one hangs, no other begins.
    """
    lock = _LOCKS.setdefault(str(name), threading.Lock())
    if not lock.acquire(timeout=min(WAIT_SECS, deadline_secs)):
        raise FileUnusable("cannot be read: its last reading has not ended yet")
    result: list[bytes | FileUnusable] = []

    def read() -> None:
        try:
            result.append(_read(str(name), most_bytes))
        except FileUnusable as error:
            result.append(error)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            reason = error.strerror if isinstance(error, OSError) else error
            result.append(FileUnusable(f"cannot be read: {reason}"))
        finally:
            lock.release()

    thread = threading.Thread(target=read, name=f"read {name}", daemon=True)
    _run(thread, read, deadline_secs)
    if not result:
        raise FileUnusable(f"cannot be read: no answer within {deadline_secs:g} s")
    if isinstance(result[0], FileUnusable):
        raise result[0]
    return result[0]


def _run(thread: threading.Thread, read: Callable[[], None], deadline_secs: float) -> None:
    try:
        thread.start()
    except RuntimeError:  # at the limit of processes (ulimit -u, pids.max): without a deadline
        read()
    else:
        thread.join(deadline_secs)


def read_text(name: str | Path, most_bytes: int) -> str:
    """Return the contents of the file as UTF-8 text; raise FileUnusable."""
    try:
        return read_regular(name, most_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnusable(f"is not UTF-8 text (byte {error.start})") from error


def _read(name: str, most_bytes: int) -> bytes:
    # Checked before it is opened, too: opening a device may have effects.
    _require_regular(os.stat(name), most_bytes)  # noqa: PTH116 - names may be no paths
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        _require_regular(os.fstat(descriptor), most_bytes)
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise FileUnusable(f"is larger than {most_bytes} bytes")
    return content


def _require_regular(status: os.stat_result, most_bytes: int) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        raise FileUnusable(f"cannot be read: is a {NAMES.get(kind, 'special file')}, not a file")
    if status.st_size > most_bytes:
        raise FileUnusable(f"is larger than {most_bytes} bytes")
