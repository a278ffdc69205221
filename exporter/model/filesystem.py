"""Mounted filesystems and their free space."""

import re
from dataclasses import dataclass

_OF_SYSTEM = re.compile(
    r"/|/(?:usr|etc|run|tmp)(?:/.*)?|/var(?!/lib/kubelet/(?:pods|plugins)/)(?:/.*)?", re.DOTALL
)
_OF_SERVER = re.compile(r"//|[^/]*:/")


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

    @property
    def is_system(self) -> bool:
        """Whether the node itself needs it: the root and what lies below /var, /run, /tmp.

        Data disks, volumes of pods and filesystems of servers are not: if they are full, only
        those who use them are stopped.
        """
        if _OF_SYSTEM.fullmatch(self.mountpoint) is None:
            return False
        return self.mountpoint == "/" or _OF_SERVER.match(self.device) is None


@dataclass(frozen=True, slots=True)
class Filesystems:
    """The filesystems, ordered by mount point."""

    filesystems: tuple[Filesystem, ...]
    truncated: int = 0  # beyond the number that is shown at most
