"""Resource usage of the exporter: its own processes in /proc (proc_pid_stat(5))."""

import os
from pathlib import Path

from exporter.exposition.rows import Row, families, reading
from exporter.model.reading import Reading
from exporter.probes.child import Children
from exporter.record import dataclass

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class OurProcesses:
    """Totals over the program and its children."""

    count: int
    resident_memory_bytes: int
    cpu_seconds: float
    open_descriptors: int
    threads: int
    started_at: float  # wall clock, seconds since the epoch
    abandoned_children: int


@dataclass(frozen=True, slots=True)
class _Use:
    """What one process uses; `ended_secs` is the processor time of its children that have ended."""

    resident_bytes: int
    cpu_secs: float
    ended_secs: float
    descriptors: int
    threads: int
    started_secs: float  # after boot


class OurProcessesReader:
    """Sums over this process and all children; processor time of ended children stays in."""

    def __init__(self, groups: tuple[Children, ...]) -> None:
        self._groups = groups
        self._own_pid = os.getpid()
        self._booted_at = _booted_at()

    def read(self) -> Reading[OurProcesses]:
        """Read the totals now; a child that ends meanwhile is left out."""
        own = _use(self._own_pid)
        children = (_use_if_there(pid) for group in self._groups for pid in group.pids)
        uses = [own, *(use for use in children if use is not None)]
        return Reading(
            OurProcesses(
                count=len(uses),
                resident_memory_bytes=sum(use.resident_bytes for use in uses),
                cpu_seconds=sum(use.cpu_secs for use in uses) + own.ended_secs,
                open_descriptors=sum(use.descriptors for use in uses),
                threads=sum(use.threads for use in uses),
                started_at=self._booted_at + own.started_secs,
                abandoned_children=sum(group.abandoned_count for group in self._groups),
            )
        )


def _use_if_there(pid: int) -> _Use | None:
    try:
        return _use(pid)
    except OSError:
        return None  # it ended, or it is a child whose numbers we may not see


def _use(pid: int) -> _Use:
    """Read what a process uses now; raise OSError when it has ended."""
    # The name, which may hold anything, is in parentheses; the state, the third field, follows.
    fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    user, system, ended_user, ended_system = map(int, fields[11:15])
    return _Use(
        resident_bytes=int(fields[21]) * PAGE_BYTES,
        cpu_secs=(user + system) / TICKS,
        ended_secs=(ended_user + ended_system) / TICKS,
        descriptors=len(os.listdir(PROC / str(pid) / "fd")),  # noqa: PTH208 - names are enough
        threads=int(fields[17]),
        started_secs=int(fields[19]) / TICKS,
    )


def _booted_at() -> int:
    """Return the Unix time of the boot (proc_stat(5))."""
    for line in (PROC / "stat").read_text("ascii").splitlines():
        if line.startswith("btime "):
            return int(line.split()[1])
    raise OSError("/proc/stat has no btime")


FAMILIES = families(
    "hw_exporter_",
    reading(OurProcesses),
    Row("processes", "Processes of the exporter: the program and its children.", "count"),
    Row(
        "abandoned_children",
        "Killed child processes that do not exit: in uninterruptible sleep (D state).",
    ),
    Row(
        "process_resident_memory_bytes",
        "Resident memory of all processes of the exporter.",
        "resident_memory_bytes",
    ),
    Row(
        "process_cpu_seconds_total",
        "CPU time of all processes of the exporter.",
        "cpu_seconds",
        digits=2,
    ),
    Row(
        "process_open_fds",
        "Open file descriptors of all processes of the exporter.",
        "open_descriptors",
    ),
    Row("process_threads", "Threads of all processes of the exporter.", "threads"),
    Row(
        "process_start_time_seconds",
        "When the exporter was started (Unix time).",
        "started_at",
    ),
)
