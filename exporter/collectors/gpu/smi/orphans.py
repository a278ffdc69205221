"""Adopts and ends processes that a child left behind in sessions of their own."""

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
    """Adopts orphans of our children (prctl(2)), as long as wanted.

    A child of ours that we did not start was adopted. Nothing is found if the kernel does not list
    children (CONFIG_PROC_CHILDREN).
    """

    def __init__(self, started: Collection[int] = STARTED) -> None:
        self._started = started
        self._is_adopting = False

    def adopt(self, *, wanted: bool = True) -> None:
        """Become the parent of orphaned descendants, or no longer."""
        if wanted != self._is_adopting:
            self._is_adopting = wanted
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)

    def end(self, program: str) -> int:
        """Kill adopted processes of this program and reap ended ones; return their number."""
        name = program[:15]  # the kernel keeps 15 characters
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
        return []  # a kernel without CONFIG_PROC_CHILDREN
    return [int(word) for word in text.split()]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""  # the process has ended
