"""The first process-id namespace, whose numbers are the host's."""

from pathlib import Path

INITIAL = "pid:[4026531836]"  # PROC_PID_INIT_INO in include/linux/proc_ns.h


def is_initial(proc_root: Path) -> bool | None:
    """Tell whether a proc filesystem shows us in that namespace; None where it does not show us."""
    try:
        return str((proc_root / "self/ns/pid").readlink()) == INITIAL
    except OSError:
        return None
