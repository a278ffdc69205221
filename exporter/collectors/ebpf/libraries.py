"""Which processes use which libraries: from the memory maps of all processes.

/proc/PID/maps names the file (https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html);
/proc/PID/root leads to it through the mounts of that process, so into its container, and
/proc/PID/map_files to one that was replaced. Paths belong to tenants: a file is opened once, and
known by its descriptor and inode from then on.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from itertools import islice
from pathlib import Path
from re import Pattern

from exporter.collectors.ebpf.tenant_files import Progress
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.record import dataclass

MAX_MAPS_BYTES = 8 * 1024 * 1024
MAX_LOOKS = 1000
LOOK_SECS = 0.5
"""Processes whose maps are read in one look, and seconds of a processor for them: a tenant chooses
how long its maps are. The others come later, those that have waited longest first."""

MAX_OF_PROCESS = 16
"""Libraries of one process; one that maps more chose their names itself."""

FIRST_PAUSE_SECS = 1.5
LONGEST_PAUSE_SECS = 60.0
"""A library may be loaded late: a process is looked at again, less and less often."""

_OVERLAY = " - overlay "
_DELETED = " (deleted)"
"""Behind the path of a file that was replaced or removed: its processes still call it."""

Identity = tuple[int, ...]
"""What is the same for the same file: inode, size, time of change, and the device."""


@dataclass(frozen=True, slots=True)
class Found:
    """A library in the maps of one process; `file` is (device, inode) as the maps say.

    `addresses` name its place in memory as /proc/PID/map_files does.
    """

    layer: str
    path: str
    file: tuple[str, str]
    addresses: str = field(default="", compare=False)


Mapped = tuple[str, tuple[str, str]]
"""A file as the maps of processes name it: the layer, then device and inode."""

Place = tuple[int, Found]
"""A process that maps a file, and how it names it."""


@dataclass(frozen=True, slots=True)
class User:
    """A process that maps libraries."""

    parent: int
    libraries: tuple[Found, ...]


@dataclass(slots=True)
class _Seen:
    """What is known of one process, and when it is looked at again."""

    first: float
    due: float
    parent: int = 0
    libraries: tuple[Found, ...] = ()


def mapped_files(users: Mapping[int, User]) -> dict[Mapped, Place]:
    """Name each file that is mapped, with one process that maps it."""
    mapped: dict[Mapped, Place] = {}
    for pid, user in users.items():
        for found in user.libraries:
            mapped.setdefault((found.layer, found.file), (pid, found))
    return mapped


class LibraryFinder:
    """Looks through the processes under a proc root; blocks while it does."""

    def __init__(
        self,
        proc_root: Path,
        names: Mapping[str, Pattern[str]],
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._proc = proc_root
        self._names = names
        self._spent = spent
        self._seen: dict[int, _Seen] = {}
        self._closed: frozenset[str] = frozenset()
        self._noted: set[str] = set()

    @property
    def problems(self) -> tuple[str, ...]:
        """Why libraries cannot be opened, by layer, as of the look before."""
        return tuple(
            f"a library of {layer} cannot be opened: permission denied (CAP_DAC_READ_SEARCH)"
            for layer in sorted(self._closed)
        )

    def open(self, place: Place, progress: Progress) -> "OpenLibrary | None":
        """Open a mapped file, as `open_library`; note a file without access.

        Raise GivenUp if nobody waits for the file any more.
        """
        pid, found = place
        progress.come_to(found.file[0])
        try:
            return open_library(self._proc, pid, found)
        except PermissionError:
            self._noted.add(found.layer)
            return None

    def look(self, now: float) -> dict[int, User]:
        """Return the processes that map a library; `now` in seconds."""
        self._closed, self._noted = frozenset(self._noted), set()
        pids = {int(name) for name in os.listdir(self._proc) if name.isdecimal()}  # noqa: PTH208 - 10,000 names
        for gone in self._seen.keys() - pids:
            del self._seen[gone]
        for pid in pids:
            self._seen.setdefault(pid, _Seen(now, now))
        due = sorted((seen.due, pid) for pid, seen in self._seen.items() if seen.due <= now)
        until = self._spent() + LOOK_SECS
        for _, pid in due[:MAX_LOOKS]:
            if self._spent() > until:
                break
            seen = self._seen[pid]
            self._look_at(pid, seen)
            pause = (now - seen.first) / 4
            seen.due = now + min(max(pause, FIRST_PAUSE_SECS), LONGEST_PAUSE_SECS)
        return {
            pid: User(seen.parent, seen.libraries)
            for pid, seen in self._seen.items()
            if seen.libraries
        }

    def _look_at(self, pid: int, seen: _Seen) -> None:
        """Read the maps, unless the process waits in the kernel: its maps may be locked."""
        try:
            words = read_text(f"{self._proc}/{pid}/stat", 4096).rpartition(")")[2].split()
            if words and words[0] not in "DZX":
                seen.parent = seen.parent or int(words[1])
                maps = read_text(f"{self._proc}/{pid}/maps", MAX_MAPS_BYTES)
                seen.libraries = tuple(islice(self._libraries(maps), MAX_OF_PROCESS))
        except (SourceAbsent, SourceFailed, ValueError, IndexError):
            return  # it has ended, or it is not ours to see

    def _libraries(self, maps: str) -> Iterator[Found]:
        found: set[Found] = set()
        for line in maps.split("\n"):
            # address, permissions, offset, device, inode, path
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and "x" in fields[1]:  # noqa: PLR2004
                path = fields[5].removesuffix(_DELETED)
                name = path.rpartition("/")[2]
                for layer, pattern in self._names.items():
                    one = Found(layer, path, (fields[3], fields[4]), fields[0])
                    if pattern.fullmatch(name) and one not in found:
                        found.add(one)
                        yield one


class OpenLibrary:
    """A library that is open: by its descriptor it stays the same file, whatever the path says."""

    def __init__(self, found: Found, descriptor: int, identity: Identity) -> None:
        self.layer = found.layer
        self.filesystem = found.file[0]
        self.descriptor = descriptor
        self.identity = identity

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.descriptor)


def open_library(proc_root: Path, pid: int, found: Found) -> OpenLibrary | None:
    """Open a library of a process: at its path, or where it is mapped; None where it is at neither.

    Raises PermissionError for one in a folder that is closed to us.
    """
    try:
        descriptor = _opened(f"{proc_root}/{pid}/root{found.path}", found)
    except PermissionError:
        raise
    except (OSError, ValueError):
        try:
            descriptor = _opened(f"{proc_root}/{pid}/map_files/{_unpadded(found.addresses)}", found)
        except (OSError, ValueError):
            return None
    status = os.fstat(descriptor)
    device = () if _is_overlay(proc_root, pid, status.st_dev) else (status.st_dev,)
    identity = (status.st_ino, status.st_size, status.st_mtime_ns, *device)
    return OpenLibrary(found, descriptor, identity)


def _opened(path: str, found: Found) -> int:
    """Open the mapped file; raise ValueError where another file is at its path."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or str(status.st_ino) != found.file[1]:
        os.close(descriptor)
        raise ValueError("another file")
    return descriptor


def _unpadded(addresses: str) -> str:
    """Write addresses without the zeros that only maps have in front of them."""
    return "-".join(f"{int(address, 16):x}" for address in addresses.split("-"))


def _is_overlay(proc_root: Path, pid: int, device: int) -> bool:
    """Whether the file is seen through layers: containers of one image share the file below."""
    number = f" {os.major(device)}:{os.minor(device)} "
    try:
        mounts = read_text(f"{proc_root}/{pid}/mountinfo", MAX_MAPS_BYTES)
    except (SourceAbsent, SourceFailed):
        return False
    return any(number in line and _OVERLAY in line for line in mounts.split("\n"))
