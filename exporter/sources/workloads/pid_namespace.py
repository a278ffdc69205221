"""Whether process ids mean what the driver means by them: those of the host."""

from dataclasses import dataclass
from pathlib import Path

from exporter.sources.files import read_text
from exporter.sources.interface import SourceAbsent, SourceFailed
from exporter.sources.workloads.processes import parse_stat

INITIAL_NAMESPACE = "pid:[4026531836]"  # PROC_PID_INIT_INO in include/linux/proc_ns.h
HOST_INITS = frozenset(
    {"systemd", "init", "openrc-init", "runit", "s6-svscan", "procd", "busybox", "shepherd"}
)


@dataclass(frozen=True, slots=True)
class PidScope:
    """What the pids of a proc filesystem are good for.

    `reason` is None when they may be those of the host, else the word that says why not;
    `is_certain` when they are for sure.
    """

    reason: str | None
    is_certain: bool = False


def pid_scope(proc_root: Path) -> PidScope:
    """The scope of the pids under this proc root.

    Only the host's own namespace has the kernel's threads, with kthreadd as process 2.
    """
    if _name(proc_root, 2) == "kthreadd":
        return PidScope(None, is_certain=True)
    if not (proc_root / "1").is_dir():
        return PidScope("proc_hidden")  # mounted with hidepid, or not at all
    try:
        namespace = str((proc_root / "self/ns/pid").readlink())
    except OSError:
        # A proc filesystem that does not show ourselves: its first process has to tell.
        first = _name(proc_root, 1)
        return PidScope(None if first is None or first in HOST_INITS else "no_host_pids")
    if namespace == INITIAL_NAMESPACE:
        return PidScope(None, is_certain=True)
    return PidScope("no_host_pids")


def _name(proc_root: Path, pid: int) -> str | None:
    try:
        stat = parse_stat(read_text(proc_root / str(pid) / "stat", 4096))
    except (SourceAbsent, SourceFailed):
        return None
    return None if stat is None else stat.name
