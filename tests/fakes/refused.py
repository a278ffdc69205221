"""A file that may not be looked at, for root too."""

from pathlib import Path

TOO_LONG = "x" * 300
"""No filesystem of Linux has a name of more than 255 bytes: the kernel answers ENAMETOOLONG."""


def refuse(path: Path) -> None:
    """Make a link there that the kernel refuses to follow, as it refuses what is hidden."""
    path.symlink_to(TOO_LONG)
