"""A control group for memory, in which a program can be put."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

GROUPS = Path("/sys/fs/cgroup")


@contextmanager
def limited_memory(limit_bytes: int) -> Iterator["MemoryGroup"]:
    """A group with this limit, for as long as the block lasts; skips where none can be made."""
    try:
        group = MemoryGroup(limit_bytes)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    try:
        yield group
    finally:
        group.close()


class MemoryGroup:
    """A control group for memory below our own, of either version."""

    def __init__(self, limit_bytes: int) -> None:
        rows = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        ours = {controllers: path for _, controllers, path in rows}
        self._is_old = "memory" in ours
        parent = GROUPS / "memory" / ours["memory"].lstrip("/") if self._is_old else GROUPS
        if not self._is_old:
            parent /= ours.get("", "/").lstrip("/")
        self.folder = parent / f"hw-exporter-test-{os.getpid()}"
        self.folder.mkdir()
        limit = "memory.limit_in_bytes" if self._is_old else "memory.max"
        (self.folder / limit).write_text(str(limit_bytes))

    def take(self, pid: int) -> None:
        """Put a process, and what it will start, into the group."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def kills(self) -> int:
        """How often the kernel killed for want of memory here."""
        file = self.folder / ("memory.oom_control" if self._is_old else "memory.events")
        rows = dict(line.split() for line in file.read_text().splitlines())
        return int(rows["oom_kill"])

    def close(self) -> None:
        """Remove the group as soon as nobody is in it any more."""
        for _ in range(200):
            with suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.05)
