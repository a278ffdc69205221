"""Processes of the node: how many, and in which state."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from exporter.collector import About, Collector, files
from exporter.collectors.cpu.values import Cpu
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, families, reading
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject
from exporter.model.reading import Labeled, Reading
from exporter.model.snapshot import Snapshot
from exporter.reading.pid_namespace import is_initial, shows_kernel_threads
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader, names_in, parse_counter
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class ProcessCounts:
    """Numbers the kernel keeps anyway: no process is looked at."""

    processes_limit: int | None = None
    threads: int | None = None
    threads_limit: int | None = None
    file_descriptors_open: int | None = None
    file_descriptors_max: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessStates:
    """Processes by state, from a walk over all of them."""

    states: Labeled


MAX_STAT_BYTES = 512
OWN_PID_MAX = (6, 14)
"""The first kernel with a `pid_max` in each PID namespace (kernel/pid.c)."""

_RELEASE = re.compile(r"(\d{1,4})\.(\d{1,4})")

STATES = {
    "R": "runnable",
    "S": "sleeping",
    "D": "uninterruptible",
    "Z": "zombie",
    "T": "stopped",
    "t": "stopped",
    "I": "idle",
}


class ProcessCountsReader:
    """Reads four files under a proc root, however many processes there are."""

    def __init__(self, proc_root: Path) -> None:
        self._proc = proc_root

    def read(self) -> Reading[ProcessCounts]:
        """Read the numbers now; raise SourceAbsent where none is said."""
        fields = FieldReader()
        files = parse_file_nr(fields.text("file_descriptors", self._proc / "sys/fs/file-nr") or "")
        counts = ProcessCounts(
            processes_limit=self._processes_limit(fields),
            threads=parse_threads(fields.text("threads", self._proc / "loadavg") or ""),
            threads_limit=fields.count("threads_limit", self._proc / "sys/kernel/threads-max"),
            file_descriptors_open=files[0],
            file_descriptors_max=files[1],
        )
        if counts == ProcessCounts():
            raise SourceAbsent(
                "neither sys/kernel/pid_max, threads-max, loadavg nor sys/fs/file-nr say anything"
            )
        return Reading(counts, fields.missing)

    def _processes_limit(self, fields: FieldReader) -> int | None:
        """Read `pid_max`; None where it is that of our own PID namespace, as since Linux 6.14."""
        release = _RELEASE.match(fields.text("kernel", self._proc / "sys/kernel/osrelease") or "")
        version = (int(release[1]), int(release[2])) if release else (0, 0)
        if version >= OWN_PID_MAX and is_initial(self._proc) is False:
            fields.skip("processes_limit", "the PID namespace of the exporter has its own pid_max")
            return None
        return fields.count("processes_limit", self._proc / "sys/kernel/pid_max")


class ProcessStatesReader:
    """Walks over all processes under a proc root: some milliseconds for each thousand."""

    def __init__(self, proc_root: Path) -> None:
        self._proc = proc_root

    def read(self) -> Reading[ProcessStates]:
        """Read processes by state; raise SourceAbsent where those of the node are not shown."""
        names = names_in(self._proc, "processes")
        if not shows_kernel_threads(self._proc):
            raise SourceAbsent(f"{self._proc} does not show the processes of the node")
        counts: Counter[str] = Counter(dict.fromkeys(STATES.values(), 0))
        proc = str(self._proc)  # joining ten thousand Paths takes longer than reading the files
        fields = FieldReader()
        for name in filter(str.isdigit, names):
            stat = fields.text("state", f"{proc}/{name}/stat", MAX_STAT_BYTES)
            state = parse_state(stat) if stat else None  # none of one that has ended since
            if state is not None:
                counts[STATES.get(state, "other")] += 1
        states = tuple((state, float(counts[state])) for state in sorted(counts))
        return Reading(ProcessStates(states), fields.missing)


def parse_state(stat: str) -> str | None:
    """Parse the letter behind the name, which may itself hold brackets."""
    words = stat.rpartition(")")[2].split()
    return words[0] if words and len(words[0]) == 1 and ")" in stat else None


def parse_threads(loadavg: str) -> int | None:
    """Parse the number of threads: behind the stroke in `0.10 0.20 0.30 2/812 4711`.

    None for 0, which gVisor says: it does not count them.
    """
    words = loadavg.split()
    counts = words[3] if len(words) > 3 else ""  # noqa: PLR2004 - the fourth word
    return parse_counter(counts.partition("/")[2]) or None


def parse_file_nr(text: str) -> tuple[int | None, int | None]:
    """Parse open files and how many there may be."""
    words = text.split()
    if len(words) < 3:  # noqa: PLR2004 - the file has three numbers
        return None, None
    return parse_counter(words[0]), parse_counter(words[2])


def _states(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield running and blocked as the scheduler counts them; others where a walk is enabled."""
    cpu = snapshot.reading(Cpu)
    if cpu is not None:
        yield from one(cpu.processes_running, "running")
        yield from one(cpu.processes_blocked, "blocked")
    walked = snapshot.reading(ProcessStates)
    for state, count in walked.states if walked else ():
        yield (state,), count


FAMILIES = (
    family(
        "hw_processes",
        "Processes by state: running and blocked always, the others with source process_states.",
        _states,
        "state",
    ),
    *families(
        "hw_",
        reading(ProcessCounts),
        Row("processes_limit", "Maximum number of process and thread ids (pid_max)."),
        Row("threads", "Threads of all processes and of the kernel."),
        Row("threads_limit", "Maximum number of threads of the node (threads-max)."),
        Row(
            "file_descriptors_open",
            "Open file handles of the node (file-nr); file descriptors that are copies share one.",
        ),
        Row("file_descriptors_max", "Maximum number of open file handles (file-max)."),
    ),
)


WALK_SECS = 5.0
"""For a walk over all processes."""

COLLECTOR = Collector(
    "processes",
    sources=(
        files(
            "process_counts",
            "processes",
            lambda ctx: ProcessCountsReader(ctx.proc),
            about=About(
                "`pid_max`, `threads-max`, `loadavg`, `file-nr`",
                "`hw_processes_limit`, `hw_threads*`, `hw_file_descriptors_*`",
            ),
        ),
        files(
            "process_states",
            "processes",
            lambda ctx: ProcessStatesReader(ctx.proc),
            deadline_secs=WALK_SECS,
            by_default=False,
            about=About(
                "`/proc/<pid>/stat` of every process",
                "`hw_processes` for all states",
                "host process ids",
                without="only running and blocked are known",
            ),
        ),
    ),
    values=(ProcessCounts, ProcessStates),
    families=FAMILIES,
    subject=CollectorSubject(
        node=NodeFields(readings=(("", ProcessCounts),)),
    ),
)
