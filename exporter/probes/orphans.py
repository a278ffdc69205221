"""Helpers that a child left behind in sessions of their own: adopted by us, and ended."""

import ctypes
import os
import signal
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from exporter.probes.child import STARTED

PR_SET_CHILD_SUBREAPER = 36
MAX_ORPHANS = 1000


class Orphans:
    """Adopts what our children leave behind (prctl(2)), for as long as that is wanted.

    Whoever started a process waits for it; what else is our child was adopted. Nothing is found
    where the kernel does not list children (CONFIG_PROC_CHILDREN).
    """

    def __init__(self, started: Collection[int] = STARTED) -> None:
        self._started = started
        self._is_adopting = False

    def adopt(self, *, wanted: bool = True) -> None:
        """Become the parent of orphans among our descendants, or stop it."""
        if wanted != self._is_adopting:
            self._is_adopting = wanted
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)

    def end(self, program: str) -> int:
        """Kill adopted processes of this program, reap those that have ended; tell how many."""
        name = program[:15]  # as much of it as the kernel keeps
        found = [pid for pid in _children() if pid not in self._started][:MAX_ORPHANS]
        for pid in found:
            if _name(pid) == name:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        return len(found)


def _children() -> list[int]:
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
    except OSError:
        return []  # a kernel that does not list them
    return [int(word) for word in text.split()]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""  # it has ended meanwhile
