"""What counting calls needs of this node, and the first of it that is not there."""

import os
from collections.abc import Sequence
from pathlib import Path

from exporter.collectors.ebpf.tracer import find_program

CAPABILITIES = {"CAP_SYS_PTRACE": 19, "CAP_PERFMON": 38, "CAP_BPF": 39}
SYS_ADMIN = 21
"""It stands for all but CAP_SYS_PTRACE."""


def not_met(proc_root: Path, sys_root: Path) -> str | None:
    """Say in one sentence what is missing; None when calls can be counted."""
    if find_program("bpftrace") is None:
        return "bpftrace is not installed"
    if os.geteuid() != 0:
        return "bpftrace needs root"
    lacking = _lacking(proc_root)
    if lacking:
        return f"bpftrace needs {' and '.join(lacking)}"
    if not (sys_root / "bus/event_source/devices/uprobe").exists():
        return "this kernel has no uprobes (CONFIG_UPROBE_EVENTS)"
    if not Path("/sys/kernel/tracing/events/sched").exists():
        return "tracefs is not mounted at /sys/kernel/tracing"
    return None


def _lacking(proc_root: Path) -> Sequence[str]:
    """Name the capabilities that we do not have; none where the kernel does not say."""
    try:
        status = (proc_root / "self/status").read_text("ascii", "replace")
    except OSError:
        return ()  # trying it will tell
    line = next((line for line in status.split("\n") if line.startswith("CapEff:")), "")
    mask = int(line.split()[1], 16) if line else -1
    stands_in = bool(mask >> SYS_ADMIN & 1)
    return [
        name
        for name, bit in CAPABILITIES.items()
        if not mask >> bit & 1 and not (stands_in and name != "CAP_SYS_PTRACE")
    ]
