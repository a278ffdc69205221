"""Whose network is seen: the node's, or only that of the pod we run in.

`/proc/PID/net` shows the network namespace of a process. That of process 1 is the node's where
process 1 is the node's own first process: where we share its process ids, or where its proc
filesystem is mounted at another place. Otherwise process 1 is the first of our own pod, and only
an interface with hardware behind it tells that the pod uses the node's network.
https://docs.kernel.org/filesystems/proc.html#networking-info-in-proc-net
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HOST = "host"
POD = "pod"

FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The inode of the first process-id namespace, fixed by the kernel (include/linux/proc_ns.h)."""


def net_folder(proc_root: Path) -> Path:
    """The `net` folder of process 1, or of ourselves where that is not there."""
    of_first = proc_root / "1/net"
    return of_first if of_first.is_dir() else proc_root / "net"


@dataclass(frozen=True, slots=True)
class OwnRoots:
    """Where our own proc and sys filesystems are, whatever is mounted beside them."""

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")


OWN_ROOTS = OwnRoots()


def is_the_nodes(proc_root: Path, names: Iterable[str], own: OwnRoots = OWN_ROOTS) -> bool:
    """Whether these interfaces, listed by process 1 of a proc filesystem, are the node's.

    Hardware is looked for in our own sysfs: the node's, mounted elsewhere, has an eth0 as well.
    """
    return is_first_process_the_nodes(proc_root, own) or any(
        (own.sys / "class/net" / name / "device").exists() for name in names
    )


def is_first_process_the_nodes(proc_root: Path, own: OwnRoots = OWN_ROOTS) -> bool:
    """Whether process 1 of this proc filesystem is the node's."""
    if proc_root.resolve() != own.proc.resolve():
        return True  # somebody mounted the node's there
    try:
        return str((proc_root / "self/ns/pid").readlink()) == FIRST_PID_NAMESPACE
    except OSError:
        return False
