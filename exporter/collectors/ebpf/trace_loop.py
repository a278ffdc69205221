"""Common parts of the eBPF sources: their requirements and their loop."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from exporter.collectors.ebpf.tracer import find_program
from exporter.collectors.workloads.processes import pid_scope
from exporter.reading.context import SourceContext
from exporter.reading.source import SourceAbsent, SourceFailed

CAPABILITIES = {"CAP_SYS_PTRACE": 19, "CAP_PERFMON": 38, "CAP_BPF": 39}
SYS_ADMIN = 21
"""It stands for all but CAP_SYS_PTRACE."""


def not_met(proc_root: Path, sys_root: Path) -> str | None:
    """Name the first unmet need of bpftrace in one sentence; None when calls can be counted."""
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


PAUSE_SECS = 2.0
STUCK_SECS = 30.0
"""More than bpftrace may take to detach: a turn waits for that."""


def require_tracing(ctx: SourceContext, *, needs_pids: bool = True) -> None:
    """Raise SourceAbsent where the kernel cannot count for us."""
    reason = not_met(ctx.proc, ctx.sys)
    if reason is None and needs_pids and pid_scope(ctx.proc).reason is not None:
        reason = "the processes of the node are not seen"
    if reason is not None:
        raise SourceAbsent(reason)


class TraceLoop:
    """Takes a turn every two seconds from its start on, whoever reads the source meanwhile."""

    def __init__(
        self,
        turn: Callable[[], Awaitable[None]],
        what: str,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._turn = turn
        self._what = what
        self._clock = clock
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None
        self._turned_at = 0.0

    @property
    def is_running(self) -> bool:
        """Whether it was started."""
        return self._task is not None

    def start(self) -> None:
        """Begin; the first turn comes after a pause."""
        self._turned_at = self._clock()
        self._task = asyncio.ensure_future(self._run())

    def check(self) -> None:
        """Raise what ended it; raise SourceFailed where a turn does not end."""
        if self._task is not None and self._task.done():
            self._task.result()
        if self._clock() - self._turned_at > STUCK_SECS:
            raise SourceFailed(f"{self._what} hangs")

    async def close(self) -> None:
        """End it, and do not wait for a turn that hangs."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=0.1)

    async def _run(self) -> None:
        while True:
            await self._sleep(PAUSE_SECS)
            await self._turn()
            self._turned_at = self._clock()
