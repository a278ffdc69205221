"""Limits that HAMi gives to containers, from the region that its library shares on the node.

`usr/local/vgpu/containers/PODUID_CONTAINER/*.cache`, layout of major version 1:
https://github.com/Project-HAMi/HAMi-core/blob/main/src/multiprocess/multiprocess_memory_limit.h
The folder is HAMi's and says whose it is; the file can be written by the container itself, so that
nothing but its own quota is taken from it.
"""

import os
import re
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from exporter.model.label import clean_text
from exporter.model.reading import Missing
from exporter.record import dataclass

CONTAINERS = "usr/local/vgpu/containers"
MAX_CONTAINERS = 256
MAX_FILES = 16
NOT_ROOTS = "the folder is not root's"

MAGIC, MAJOR_VERSION = 19920718, 1
MAX_GPUS = 16
UUID_BYTES = 96
_HEAD = struct.Struct("<iII4x8x32xQ")
_LIMITS = struct.Struct(f"<{MAX_GPUS}Q{MAX_GPUS}Q")
_UUIDS_END = _HEAD.size + MAX_GPUS * UUID_BYTES
HEADER_BYTES = _UUIDS_END + _LIMITS.size
SLOTS, SLOT_BYTES = 1024, 1960
SMALLEST_FILE_BYTES = HEADER_BYTES + SLOTS * SLOT_BYTES

LARGEST_MEMORY_BYTES = 2**50
WHOLE_PERCENT = 100

_FOLDER = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})_([a-z0-9](?:[-a-z0-9]{0,62}))")
_GPU = re.compile(r"GPU-[0-9a-f-]{36}")
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class HamiLimit:
    """What a container may use of one GPU; None where HAMi sets no limit."""

    pod_uid: str
    container: str
    gpu_uuid: str
    memory_bytes: int | None
    sm_percent: float | None


def read_limits(
    host_root: Path, owner: int = 0
) -> tuple[tuple[HamiLimit, ...], tuple[Missing, ...]]:
    """Read the limits of all containers; nothing, at the cost of one lstat, where HAMi is not.

    Folders must be the owner's, which is root.
    """
    folder = host_root / CONTAINERS
    if not _is_folder_of(owner, folder, may_others_write=False):
        return (), ()
    limits: list[HamiLimit] = []
    missing: list[Missing] = []
    try:
        for name, uid, container in _containers(folder):
            whose = _is_folder_of(owner, folder / name, may_others_write=True)
            found, reason = _limits_of(folder / name, uid, container) if whose else ([], NOT_ROOTS)
            limits += found
            if reason is not None:
                missing.append(Missing("hami_limits", f"{name}: {reason}"))
    except OSError as error:
        missing.append(Missing("hami_limits", f"{folder} cannot be read: {error.strerror}"))
    return tuple(limits), tuple(missing)


def _is_folder_of(owner: int, path: Path, *, may_others_write: bool) -> bool:
    """Check that only this user can have put there what is in it, or at least it itself."""
    try:
        found = path.lstat()
    except OSError:
        return False
    is_closed = not found.st_mode & (stat.S_IWOTH | stat.S_IWGRP)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == owner and (may_others_write or is_closed)


def _containers(folder: Path) -> Iterator[tuple[str, str, str]]:
    """List the folders of containers, with the pod's uid and the container's name."""
    with os.scandir(folder) as entries:
        for entry in islice(entries, MAX_CONTAINERS):
            named = _FOLDER.fullmatch(entry.name)
            if named is not None:
                yield entry.name, named[1], named[2]


def _limits_of(folder: Path, uid: str, container: str) -> tuple[list[HamiLimit], str | None]:
    """Read the limits of one container, or why there are none."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MAX_FILES)]
    caches = [name for name in names if name.endswith(".cache")]
    if not caches:
        return [], None  # its processes have not begun yet
    try:
        header = _read_header(folder / min(caches))
        return parse_header(header, uid, container), None
    except OSError as error:
        return [], f"the cache cannot be read: {error.strerror}"
    except ValueError as error:
        return [], str(error)


def _read_header(path: Path) -> bytes:
    """Read the first bytes of a regular file that is no link; raise OSError or ValueError."""
    descriptor = os.open(path, _OPEN)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("the cache is not a file")
        if found.st_size < SMALLEST_FILE_BYTES:
            raise ValueError(f"the cache has {found.st_size} bytes, which no known version has")
        return os.read(descriptor, HEADER_BYTES)
    finally:
        with suppress(OSError):
            os.close(descriptor)


def parse_header(header: bytes, pod_uid: str, container: str) -> list[HamiLimit]:
    """Parse the limits by GPU; raise ValueError for an unknown format or version."""
    if len(header) < HEADER_BYTES:
        raise ValueError("the cache is cut short")
    magic, major, minor, count = _HEAD.unpack_from(header)
    if magic != MAGIC:
        raise ValueError("the cache is not initialized")
    if major != MAJOR_VERSION:
        raise ValueError(f"the cache has the unknown version {major}.{minor}")
    numbers = _LIMITS.unpack_from(header, _UUIDS_END)
    memory, sm = numbers[:MAX_GPUS], numbers[MAX_GPUS:]
    limits = []
    for place in range(min(count, MAX_GPUS)):
        at = _HEAD.size + place * UUID_BYTES
        uuid = clean_text(header[at : at + UUID_BYTES].split(b"\0", 1)[0])
        if _GPU.fullmatch(uuid):
            bytes_, percent = _limit(memory[place]), _percent(sm[place])
            limits.append(HamiLimit(pod_uid, container, uuid, bytes_, percent))
    return limits


def _limit(memory: int) -> int | None:
    return memory if 0 < memory <= LARGEST_MEMORY_BYTES else None


def _percent(sm: int) -> float | None:
    """Return the share of SM time; 0 and 100 are HAMi's words for no limit."""
    return float(sm) if 0 < sm < WHOLE_PERCENT else None
