"""Processors and their use, from /proc/stat, /proc/loadavg and the CPU topology in sysfs.

https://docs.kernel.org/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat
https://docs.kernel.org/admin-guide/cputopology.html
"""

import os
from dataclasses import field
from pathlib import Path

from exporter.collectors.cpu.values import Cpu
from exporter.model.reading import Reading
from exporter.reading.files import read_text
from exporter.reading.seldom import Seldom
from exporter.reading.source import SourceFailed
from exporter.reading.sysfs import FieldReader, parse_counter, parse_decimal
from exporter.record import dataclass

MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MOST_BACKWARD_SECS = 3.0
"""Idle and iowait are known to step back a little; further back means that a processor began anew.

As kernels before 6.8 let it, when it comes online.
"""
IDLE_FIELDS = (3, 4)  # idle and iowait: a processor that waits for a disk could do other work
COUNTED_FIELDS = 8  # guest time, behind these, is in user time already


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Ticks since boot, summed over all processors, and how many of them are online."""

    busy: int
    total: int
    threads: int
    by_mode: tuple[int, ...] = ()  # in the order of MODES
    single: dict[str, int] = field(default_factory=dict)  # ctxt, btime, procs_running, …


@dataclass(slots=True)
class _Seconds:
    """Seconds of one mode, which only rise; `offset` is what processors that went had counted."""

    shown: float
    offset: float = 0.0

    def update(self, secs: float, *, is_same_set: bool) -> float:
        """Return the seconds to export, unchanged where the set of processors is another one."""
        if not is_same_set or secs + self.offset < self.shown - MOST_BACKWARD_SECS:
            self.offset = self.shown - secs
        self.shown = max(self.shown, secs + self.offset)
        return self.shown


class CpuReader:
    """Reads `stat` and the topology; keeps the sample before for the use in between."""

    def __init__(self, proc_root: Path, sys_root: Path) -> None:
        self._stat = proc_root / "stat"
        self._loadavg = proc_root / "loadavg"
        self._topology = sys_root / "devices/system/cpu"
        self._before: CpuTimes | None = None
        self._seconds: dict[str, _Seconds] = {}
        self._cores: Seldom[int] = Seldom()

    def read(self) -> Reading[Cpu]:
        """Read processors, and their use since the last reading; raise SourceFailed."""
        now = parse_stat(read_text(self._stat))
        usage = usage_percent(self._before, now)
        is_same_set = self._before is None or self._before.threads == now.threads
        self._before = now
        fields = FieldReader()
        cores = self._cores.get(now.threads, lambda: count_cores(self._topology))
        if not cores:
            fields.skip("cores", "no topology in sysfs")
        load = parse_loadavg(fields.text("load", self._loadavg) or "")
        if load == (None, None, None):
            fields.skip("load", "no load averages in loadavg")
        cpu = Cpu(
            cores=cores,
            threads=now.threads,
            usage_percent=usage,
            used_cores=None if usage is None else usage / 100 * now.threads,
            seconds=tuple(
                (mode, self._risen(mode, ticks / TICKS_PER_SECOND, is_same_set=is_same_set))
                for mode, ticks in zip(MODES, now.by_mode, strict=False)
            ),
            load1=load[0],
            load5=load[1],
            load15=load[2],
            context_switches=now.single.get("ctxt"),
            boot_time=now.single.get("btime"),
            processes_running=now.single.get("procs_running"),
            processes_blocked=now.single.get("procs_blocked"),
        )
        return Reading(cpu, fields.missing)

    def _risen(self, mode: str, secs: float, *, is_same_set: bool) -> float:
        known = self._seconds.setdefault(mode, _Seconds(secs))
        return known.update(secs, is_same_set=is_same_set)


def parse_stat(text: str) -> CpuTimes:
    """Parse the summed times of `/proc/stat`; raise SourceFailed without them."""
    ticks: list[int] | None = None
    threads = 0
    single = {}
    for line in text.split("\n"):
        name, *words = line.split() or [""]
        if name == "cpu" and all(parse_counter(word) is not None for word in words):
            ticks = [int(word) for word in words[:COUNTED_FIELDS]]
        elif name.startswith("cpu") and name != "cpu":
            threads += 1
        elif len(words) == 1 and (number := parse_counter(words[0])) is not None:
            single[name] = number
    if not ticks or len(ticks) <= max(IDLE_FIELDS) or not threads:
        raise SourceFailed("stat has no CPU times")
    idle = sum(ticks[at] for at in IDLE_FIELDS)
    return CpuTimes(sum(ticks) - idle, sum(ticks), threads, tuple(ticks), single)


def parse_loadavg(text: str) -> tuple[float | None, float | None, float | None]:
    """Parse the load averages over one, five and fifteen minutes; None if not a number."""
    loads = [parse_decimal(word) for word in text.split()[:3]]
    one, five, fifteen = (*loads, None, None, None)[:3]
    return one, five, fifteen


def usage_percent(before: CpuTimes | None, now: CpuTimes) -> float | None:
    """Return the busy share between two samples, 0 to 100; None where time stood still.

    A processor taken offline takes its ticks along: such an interval says nothing.
    """
    if before is None or before.threads != now.threads or now.total <= before.total:
        return None
    share = (now.busy - before.busy) / (now.total - before.total)
    return 100 * min(1.0, max(0.0, share))


def count_cores(topology: Path) -> int | None:
    """Count physical cores online, by `thread_siblings_list`; None where sysfs does not say."""
    fields = FieldReader()
    siblings = {
        fields.text("siblings", cpu / "core_cpus_list")
        or fields.text("siblings", cpu / "thread_siblings_list")  # all that an older kernel has
        for cpu in topology.glob("cpu[0-9]*/topology")
    }
    return len(siblings - {None, ""}) or None
