"""Processes, threads and open files, counted by the kernel itself.

https://docs.kernel.org/admin-guide/sysctl/kernel.html (pid_max)
https://docs.kernel.org/admin-guide/sysctl/fs.html (file-nr: allocated, unused, highest)
"""

import os
from collections import Counter
from pathlib import Path

from exporter.model.process_counts import ProcessCounts, ProcessStates
from exporter.model.reading import Reading
from exporter.sources.files import read_text
from exporter.sources.host.sysfs import FieldReader, parse_counter
from exporter.sources.interface import SourceAbsent, SourceFailed

MAX_STAT_BYTES = 512
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
    """Reads three files under a proc root, however many processes there are."""

    def __init__(self, proc_root: Path) -> None:
        self._proc = proc_root

    def read(self) -> Reading[ProcessCounts]:
        """Read the numbers now; raise SourceAbsent where none is said."""
        fields = FieldReader()
        files = parse_file_nr(fields.text("file_descriptors", self._proc / "sys/fs/file-nr") or "")
        counts = ProcessCounts(
            processes_limit=fields.count("processes_limit", self._proc / "sys/kernel/pid_max"),
            threads=parse_threads(fields.text("threads", self._proc / "loadavg") or ""),
            file_descriptors_open=files[0],
            file_descriptors_max=files[1],
        )
        if counts == ProcessCounts():
            raise SourceAbsent(
                "neither sys/kernel/pid_max, loadavg nor sys/fs/file-nr say anything"
            )
        return Reading(counts, fields.missing)


class ProcessStatesReader:
    """Walks over all processes under a proc root: some milliseconds for each thousand."""

    def __init__(self, proc_root: Path) -> None:
        self._proc = proc_root

    def read(self) -> Reading[ProcessStates]:
        """Read processes by state; raise SourceAbsent where no process can be seen."""
        counts: Counter[str] = Counter(dict.fromkeys(STATES.values(), 0))
        proc = str(self._proc)  # joining ten thousand Paths takes longer than reading the files
        for name in self._pids():
            try:
                state = parse_state(read_text(f"{proc}/{name}/stat", MAX_STAT_BYTES))
            except (SourceAbsent, SourceFailed):
                continue  # it ended since it was listed
            if state is not None:
                counts[STATES.get(state, "other")] += 1
        if not any(counts.values()):
            raise SourceAbsent(f"{self._proc} shows no process")
        return Reading(ProcessStates(tuple((s, float(counts[s])) for s in sorted(counts))))

    def _pids(self) -> list[str]:
        try:
            return [name for name in os.listdir(self._proc) if name.isdigit()]  # noqa: PTH208 - names are wanted
        except OSError as error:
            raise SourceAbsent(f"{self._proc} cannot be listed: {error.strerror}") from error


def parse_state(stat: str) -> str | None:
    """Parse the letter behind the name, which may itself hold brackets."""
    words = stat.rpartition(")")[2].split()
    return words[0] if words and len(words[0]) == 1 and ")" in stat else None


def parse_threads(loadavg: str) -> int | None:
    """Parse the number of threads: behind the stroke in `0.10 0.20 0.30 2/812 4711`."""
    words = loadavg.split()
    counts = words[3] if len(words) > 3 else ""  # noqa: PLR2004 - the fourth word
    return parse_counter(counts.partition("/")[2])


def parse_file_nr(text: str) -> tuple[int | None, int | None]:
    """Parse open files and how many there may be."""
    words = text.split()
    if len(words) < 3:  # noqa: PLR2004 - the file has three numbers
        return None, None
    return parse_counter(words[0]), parse_counter(words[2])
