"""What a program and its children use, as the kernel counts it."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
MIB = 1024 * 1024
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ (?P<offset>[0-9a-f]+) (?P<file>\S+ \d+)")


@dataclass(frozen=True, slots=True)
class Use:
    """A program and all its descendants together."""

    pss_bytes: int
    alone_bytes: int  # as if no other program ran: each page of a file that is mapped counts once
    own_bytes: int  # what nobody else maps: does not move with other programs on the machine
    threads: int
    descriptors: int
    processes: int


def family(pid: int) -> Iterator[int]:
    """Yield the process and all its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def pss_bytes(pid: int) -> int:
    """Return the proportional set size of one process."""
    return _rolled_up(pid, "Pss")


def alone_bytes(pids: Iterable[int]) -> int:
    """Return what these processes hold together, whatever other programs share their files.

    Of a part of a file that several of them map, the largest counts (proc_pid_smaps(5)).
    """
    anonymous = 0
    shared: dict[tuple[str, str], int] = {}
    for pid in pids:
        place = ("", "")
        resident = 0
        for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            if mapped := _MAPPING.match(line):
                place = (mapped["file"], mapped["offset"])
            elif line.startswith("Rss:"):
                resident = int(line.split()[1])
            elif line.startswith("Anonymous:"):
                own = int(line.split()[1])
                anonymous += own
                shared[place] = max(shared.get(place, 0), resident - own)
    return (anonymous + sum(shared.values())) * 1024


def use(pid: int) -> Use:
    """Return what the program uses now."""
    pids = list(family(pid))
    return Use(
        pss_bytes=sum(_rolled_up(p, "Pss") for p in pids),
        alone_bytes=alone_bytes(pids),
        own_bytes=sum(_rolled_up(p, "Pss_Anon") for p in pids),
        threads=sum(_entries(f"/proc/{p}/task") for p in pids),
        descriptors=sum(_entries(f"/proc/{p}/fd") for p in pids),
        processes=len(pids),
    )


def cpu_secs(pid: int) -> float:
    """Processor time of the program, its descendants, and children that have ended."""
    return sum(map(_cpu, family(pid)))


def own_cpu_secs(pid: int) -> float:
    """Processor time of one process, without its children."""
    return sum(_ticks(pid)[:2]) / TICKS


def _entries(folder: str) -> int:
    return sum(1 for _ in Path(folder).iterdir())


def _rolled_up(pid: int, field: str) -> int:
    """Bytes of one field of all mappings together (proc_pid_smaps_rollup(5))."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _cpu(pid: int) -> float:
    """Seconds, children that have ended included (proc_pid_stat(5))."""
    return sum(_ticks(pid)) / TICKS


def _ticks(pid: int) -> list[int]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return list(map(int, fields[11:15]))
