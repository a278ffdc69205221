"""What a program and its children use, as the kernel counts it."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Use:
    """A program and all its descendants together."""

    pss_bytes: int
    threads: int
    descriptors: int
    processes: int


def family(pid: int) -> Iterator[int]:
    """The process and all its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def use(pid: int) -> Use:
    """What the program uses now."""
    pids = list(family(pid))
    return Use(
        pss_bytes=sum(map(_pss, pids)),
        threads=sum(_entries(f"/proc/{p}/task") for p in pids),
        descriptors=sum(_entries(f"/proc/{p}/fd") for p in pids),
        processes=len(pids),
    )


def cpu_secs(pid: int) -> float:
    """Processor time of the program, its descendants, and children that have ended."""
    return sum(map(_cpu, family(pid)))


def _entries(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


def _pss(pid: int) -> int:
    """Proportional set size in bytes (proc_pid_smaps_rollup(5))."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _cpu(pid: int) -> float:
    """Seconds: by the scheduler's nanoseconds where the threads live, plus ended children."""
    nanoseconds = sum(
        int((task / "schedstat").read_text().split()[0])
        for task in Path(f"/proc/{pid}/task").iterdir()
    )
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return nanoseconds / 1e9 + sum(map(int, fields[13:15])) / TICKS
