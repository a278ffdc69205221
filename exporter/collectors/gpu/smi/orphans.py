"""Adopts and ends processes that a child left behind in sessions of their own."""

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path

from exporter.probes.child import adopted, reap

PR_SET_CHILD_SUBREAPER = 36
MAX_ORPHANS = 1000


class Orphans:
    """Adopts orphans of our children (prctl(2)), as long as wanted.

    A child of ours that we did not start was adopted.
    """

    _is_adopting = False

    def adopt(self, *, wanted: bool = True) -> None:
        """Become the parent of orphaned descendants, or no longer."""
        if wanted != self._is_adopting:
            self._is_adopting = wanted
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)

    def end(self, program: str) -> int:
        """Kill adopted processes of this program and reap ended ones; return their number."""
        name = program[:15]  # the kernel keeps 15 characters
        found = adopted()[:MAX_ORPHANS]
        for pid in found:
            if _name(pid) == name:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        reap(found)
        return len(found)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""  # the process has ended
