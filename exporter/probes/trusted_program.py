"""Finds programs, and checks that only root or the exporter's user controls their files."""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path


def paths_in(
    environment: Mapping[str, str], program: str, first: Iterable[str] = ()
) -> tuple[Path, ...]:
    """List where a program may be: in the first folders, then in every directory of the PATH."""
    folders = (part for part in environment.get("PATH", "").split(":") if part.startswith("/"))
    return tuple(Path(folder, program) for folder in (*first, *folders))


def first_trustworthy(programs: Iterable[Path]) -> Path | None:
    """Return the first of these programs that may be run; None where there is none. Blocks."""
    return next(filter(is_trustworthy, programs), None)


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
