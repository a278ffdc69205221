"""The table of mounts, from /proc/PID/mountinfo.

https://docs.kernel.org/filesystems/proc.html#proc-pid-mountinfo-information-about-mounts
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from exporter.sources.interface import SourceFailed

OCTAL = re.compile(r"\\([0-7]{3})")
FEWEST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the table; `root` is the part of the filesystem that is mounted."""

    number: str  # major:minor
    root: str
    mountpoint: str
    fstype: str
    device: str
    readonly: bool


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """The mounts in their order; raises SourceFailed when no line is one."""
    mounts = tuple(mount for line in text.splitlines() if (mount := _mount(line)) is not None)
    if not mounts:
        raise SourceFailed("mountinfo holds no line about a mount")
    return mounts


def _mount(line: str) -> Mount | None:
    before, separator, after = line.partition(" - ")
    left, right = before.split(" "), after.split(" ")
    if not separator or len(left) < FEWEST_WORDS or len(right) < 2:  # noqa: PLR2004 - type, device
        return None
    options = {*left[5].split(","), *(right[2].split(",") if len(right) > 2 else ())}  # noqa: PLR2004
    return Mount(
        number=left[2],
        root=_unescaped(left[3]),
        mountpoint=_unescaped(left[4]),
        fstype=right[0],
        device=_unescaped(right[1]),
        readonly="ro" in options,
    )


def _unescaped(word: str) -> str:
    """The word with its blanks, tabs and backslashes back in place."""
    if "\\" not in word:
        return word
    return OCTAL.sub(lambda match: chr(int(match[1], 8)), word)


def uppermost(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """One mount for each filesystem, ordered by mount point.

    Of several mounts over each other the last one counts; of several places where one filesystem
    is mounted, the one that shows its root, then the shortest.
    """
    visible = {mount.mountpoint: mount for mount in mounts}
    chosen: dict[tuple[str, str], Mount] = {}
    for mount in sorted(visible.values(), key=_rank):
        chosen.setdefault((mount.number, mount.fstype), mount)
    return tuple(sorted(chosen.values(), key=lambda mount: mount.mountpoint))


def _rank(mount: Mount) -> tuple[bool, int, str]:
    return mount.root != "/", len(mount.mountpoint), mount.mountpoint
