"""The state directory: locked by the exporter, and checked before and during use."""

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

LOCK_NAME = ".lock"
MAX_SPOILED = 10
LOCK_TRIES, LOCK_PAUSE_SECS = 30, 0.1
"""An exporter that was just asked to stop ends within so long."""
SPOILED = "is a state file that could not be parsed"

log = logging.getLogger("exporter.state")


def look_at(name: str) -> tuple[str, str]:
    """Return why a directory is unusable, and what others could do in it; empty if good."""
    try:
        status = os.stat(name)  # noqa: PTH116 - systemd makes it a link
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        return f"cannot be used: {getattr(error, 'strerror', error)}", ""
    if not stat.S_ISDIR(status.st_mode):
        return "is no directory", ""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to user {status.st_uid}, who could change what is in it", ""
    if not os.access(name, os.W_OK | os.X_OK):
        is_readonly = os.statvfs(name).f_flag & os.ST_RDONLY
        reason = os.strerror(errno.EROFS if is_readonly else errno.EACCES)
        return f"cannot be used: {reason}", ""
    is_open = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
    return "", "can be changed by every user of this machine: chmod o-w" if is_open else ""


class StateFolder:
    """A directory that only this process uses, as long as it runs.

    Every method blocks. A problem of the directory is logged once; then state is kept in memory.
    """

    def __init__(self, name: str, pause: Callable[[float], None] = time.sleep) -> None:
        """Lock the directory of this name; an empty name is no directory.

        A directory that is in use is tried again for some seconds, with pauses.
        """
        self._name = name
        self._pause = pause
        self._lock: int | None = None
        self._problem = ""
        self._spoiled: tuple[str, ...] = ()
        if name:
            self._tell(self._hold())

    @property
    def path(self) -> Path | None:
        """The directory of state files; None if it cannot be used."""
        return None if self._lock is None else Path(self._name)

    def problems(self) -> tuple[str, ...]:
        """Return the problems of the directory and its files, one sentence each."""
        unusable = (f"state.dir: {self._name} {self._problem}",) if self._problem else ()
        return unusable + self._spoiled

    def check(self) -> None:
        """Log once when the directory is gone or back; find unparsable files."""
        if self._lock is None:
            return
        try:
            files = sorted(Path(self._name).glob("*.bad"))[:MAX_SPOILED]
            self._spoiled = tuple(f"{file} {SPOILED}" for file in files)
            is_same = os.path.samestat(os.fstat(self._lock), Path(self._lock_path()).stat())
        except OSError as error:
            self._tell(f"is gone: {error.strerror}")
        else:
            self._tell("" if is_same else "was replaced by another directory")

    def _lock_path(self) -> str:
        return f"{self._name}/{LOCK_NAME}"

    def _hold(self) -> str:
        """Lock the directory; return in one sentence why that failed, or an empty text."""
        problem, risk = look_at(self._name)
        if problem:
            return problem
        if risk:
            log.warning("state.dir: %s %s", self._name, risk)
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self._lock_path(), flags, 0o600)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            return f"cannot be used: {getattr(error, 'strerror', error)}"
        problem = self._lock_problem(descriptor)
        if problem:
            os.close(descriptor)
        else:
            self._lock = descriptor
        return problem

    def _lock_problem(self, descriptor: int) -> str:
        """Lock the open file; return in one sentence why that failed, or an empty text."""
        for _ in range(LOCK_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._pause(LOCK_PAUSE_SECS)
            except OSError as error:  # a network filesystem without a lock service
                return f"cannot be locked: {error.strerror}"
            else:
                return ""
        return "is used by another hw-exporter: restart this one after that one has ended"

    def _tell(self, problem: str) -> None:
        if problem and problem != self._problem:
            log.warning(
                "state.dir: %s %s; state will be lost at a restart",
                self._name,
                problem,
            )
        elif self._problem and not problem:
            log.info("state.dir: %s is available again", self._name)
        self._problem = problem
