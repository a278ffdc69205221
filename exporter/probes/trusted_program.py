"""Checks that a program file is under the control of root or the exporter's user only."""

import os
import stat
from pathlib import Path


def is_trustworthy(program: Path) -> bool:
    """Return whether only root or the exporter's user can have installed this program."""
    try:
        link, found, folder = program.lstat(), program.stat(), program.parent.stat()
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode) or not os.access(program, os.X_OK):
        return False
    owners = {0, os.geteuid()}
    anyone = stat.S_IWOTH
    return (
        owners.issuperset(it.st_uid for it in (link, found, folder))
        and not found.st_mode & anyone
        and not (folder.st_mode & anyone and not folder.st_mode & stat.S_ISVTX)
    )
