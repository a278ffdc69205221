"""Whose network is seen: the node's, or only that of the pod we run in.

`/proc/PID/net` shows the network namespace of a process. That of process 1 is the node's where
process 1 is the node's own first process: where we share its process ids, or where its proc
filesystem is mounted at another place. Otherwise process 1 is the first of our own pod, and only
an interface with hardware behind it tells that the pod uses the node's network.
https://docs.kernel.org/filesystems/proc.html#networking-info-in-proc-net
"""

from pathlib import Path

OWN_PROC = Path("/proc")

HOST = "host"
POD = "pod"

FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The inode of the first process-id namespace, fixed by the kernel (include/linux/proc_ns.h)."""


def net_folder(proc_root: Path) -> Path:
    """The `net` folder of process 1, or of ourselves where that is not there."""
    of_first = proc_root / "1/net"
    return of_first if of_first.is_dir() else proc_root / "net"


def is_first_process_the_nodes(proc_root: Path, own_proc: Path = OWN_PROC) -> bool:
    """Whether process 1 of this proc filesystem is the node's."""
    if proc_root.resolve() != own_proc.resolve():
        return True  # somebody mounted the node's there
    try:
        return str((proc_root / "self/ns/pid").readlink()) == FIRST_PID_NAMESPACE
    except OSError:
        return False


def has_hardware(sys_root: Path, device: str) -> bool:
    """Whether a device is behind the interface, as there never is behind a pod's own."""
    return (sys_root / "class/net" / device / "device").exists()
