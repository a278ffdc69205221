"""Processors and their use, from /proc/stat and the CPU topology in sysfs.

https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat
https://docs.kernel.org/admin-guide/cputopology.html
"""

from dataclasses import dataclass
from pathlib import Path

from exporter.model.node import Cpu
from exporter.model.reading import Missing, Reading
from exporter.sources.files import read_text
from exporter.sources.interface import SourceAbsent, SourceFailed

IDLE_FIELDS = (3, 4)  # idle and iowait: a processor that waits for a disk could do other work
COUNTED_FIELDS = 8  # guest time, behind these, is in user time already


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Ticks since boot, summed over all processors, and how many of them are online."""

    busy: int
    total: int
    threads: int


class CpuReader:
    """Reads `stat` and the topology; keeps the sample before for the use in between."""

    def __init__(self, proc_root: Path, sys_root: Path) -> None:
        self._stat = proc_root / "stat"
        self._topology = sys_root / "devices/system/cpu"
        self._before: CpuTimes | None = None

    def look(self) -> Reading[Cpu]:
        """Use since the look before; raises SourceAbsent or SourceFailed."""
        now = parse_stat(read_text(self._stat))
        usage = usage_percent(self._before, now)
        self._before = now
        cores = count_cores(self._topology)
        missing = () if cores else (Missing("cores", "no topology in sysfs"),)
        used = None if usage is None else usage / 100 * now.threads
        return Reading(
            Cpu(cores=cores, threads=now.threads, usage_percent=usage, used_cores=used), missing
        )


def parse_stat(text: str) -> CpuTimes:
    """The summed times of `/proc/stat`; raises SourceFailed when its first line is not there."""
    ticks: list[int] | None = None
    threads = 0
    for line in text.splitlines():
        words = line.split()
        if not words or not words[0].startswith("cpu"):
            continue
        if words[0] != "cpu":
            threads += 1
        elif all(word.isdigit() for word in words[1:]):
            ticks = [int(word) for word in words[1 : 1 + COUNTED_FIELDS]]
    if not ticks or len(ticks) <= max(IDLE_FIELDS) or not threads:
        raise SourceFailed("stat does not say the times of the processors")
    idle = sum(ticks[field] for field in IDLE_FIELDS)
    return CpuTimes(busy=sum(ticks) - idle, total=sum(ticks), threads=threads)


def usage_percent(before: CpuTimes | None, now: CpuTimes) -> float | None:
    """Busy share between two samples, 0 to 100; None for the first one and when time stood still.

    A processor taken offline takes its ticks along: such an interval says nothing.
    """
    if before is None or before.threads != now.threads or now.total <= before.total:
        return None
    share = (now.busy - before.busy) / (now.total - before.total)
    return 100 * min(1.0, max(0.0, share))


def count_cores(topology: Path) -> int | None:
    """Physical cores online, by `thread_siblings_list`; None where sysfs does not say."""
    siblings = set()
    for cpu in topology.glob("cpu[0-9]*/topology"):
        for name in ("core_cpus_list", "thread_siblings_list"):
            try:
                siblings.add(read_text(cpu / name, 256).strip())
            except (SourceAbsent, SourceFailed):
                continue  # an older kernel has only the second name
            break
    return len(siblings) or None
