"""The paths of cgroups by their numbers, as the kernel's tracing has them.

The number of a cgroup is the inode of its folder (https://docs.kernel.org/admin-guide/cgroup-v2.html).
"""

import os
from collections.abc import Collection
from pathlib import Path

MAX_FOLDERS = 20_000
"""Folders that are looked at in one walk; a node has some thousands."""

ROOTS = ("fs/cgroup", "fs/cgroup/unified")
"""Where cgroup v2 is mounted: alone, or beside v1."""


class CgroupPaths:
    """Walks the tree only for numbers that it has not seen before; blocks while it does."""

    def __init__(self, sys_root: Path) -> None:
        self._roots = [sys_root / root for root in ROOTS]
        self._known: dict[int, str] = {}

    def paths_of(self, numbers: Collection[int]) -> dict[int, str]:
        """Return the paths of these cgroups below the mount; those that are gone are left out."""
        if any(number not in self._known for number in numbers):
            self._known = self._walk()
        return {number: self._known[number] for number in numbers if number in self._known}

    def _walk(self) -> dict[int, str]:
        mounted = next((root for root in self._roots if (root / "cgroup.procs").exists()), None)
        if mounted is None:
            return {}  # only v1: sockets are in no cgroup
        root = str(mounted)
        found: dict[int, str] = {}
        waiting = [root]
        while waiting and len(found) < MAX_FOLDERS:
            folder = waiting.pop(0)
            try:
                with os.scandir(folder) as entries:
                    below = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue  # it has gone meanwhile
            for entry in below:
                found[entry.inode()] = entry.path.removeprefix(root)
                waiting.append(entry.path)
        return found
