"""Mounted filesystems and their free space."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Filesystem:
    """One mounted filesystem; sizes are None while it does not answer."""

    device: str
    mountpoint: str
    fstype: str
    readonly: bool
    unreachable: bool = False
    size_bytes: int | None = None
    free_bytes: int | None = None
    available_bytes: int | None = None  # to users other than root
    files: int | None = None  # absent where the filesystem has no fixed number
    files_free: int | None = None


@dataclass(frozen=True, slots=True)
class Filesystems:
    """The filesystems, ordered by mount point."""

    filesystems: tuple[Filesystem, ...]
    truncated: int = 0  # beyond the number that is shown at most
