"""The initial PID namespace, whose PIDs are those of the host."""

from pathlib import Path

INITIAL = "pid:[4026531836]"  # PROC_PID_INIT_INO in include/linux/proc_ns.h


def is_initial(proc_root: Path) -> bool | None:
    """Tell whether a proc filesystem shows us in the initial namespace; None without us."""
    try:
        return str((proc_root / "self/ns/pid").readlink()) == INITIAL
    except OSError:
        return None


def shows_kernel_threads(proc_root: Path) -> bool:
    """Tell whether process 2 is kthreadd: only in the host's namespace, and if it is not hidden."""
    try:
        return (proc_root / "2/stat").read_bytes().startswith(b"2 (kthreadd)")
    except OSError:
        return False
