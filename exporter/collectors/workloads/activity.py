"""Whether processes are active: compute, wait for a CPU to do so, read or write."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from exporter.collectors.workloads.processes import ProcessFacts
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.reading.sysfs import parse_counter
from exporter.record import dataclass

WINDOW_SECS = 6.0
CPU_SHARE = 0.2
BYTES_PER_SEC = 1_000_000.0
MAX_IO_BYTES = 4096
NANOSECONDS = 1e9
COUNTED = ("rchar:", "wchar:")


@dataclass(frozen=True, slots=True)
class _Mark:
    """What a process had done at one moment; CPU time includes that of waiting for a CPU."""

    at: float
    cpu_secs: float
    io_bytes: int


class Activity:
    """Compares what processes have done over windows of some seconds; blocks while it reads."""

    def __init__(self, proc_root: Path) -> None:
        self._proc = proc_root
        self._marks: dict[int, _Mark] = {}
        self._busy: dict[int, bool] = {}

    def look(self, processes: Iterable[ProcessFacts], now: float) -> Mapping[int, bool]:
        """Tell which of them were busy in the last window; nothing of those seen too shortly."""
        marks: dict[int, _Mark] = {}
        for facts in processes:
            before = self._marks.get(facts.pid)
            if before is not None and now - before.at < WINDOW_SECS:
                marks[facts.pid] = before
                continue
            cpu_secs = facts.cpu_secs + self._waited_secs(facts.pid)
            mark = marks[facts.pid] = _Mark(now, cpu_secs, self._moved(facts.pid))
            if before is not None:
                self._busy[facts.pid] = _is_busy(before, mark)
        self._marks = marks
        self._busy = {pid: busy for pid, busy in self._busy.items() if pid in marks}
        return dict(self._busy)

    def _waited_secs(self, pid: int) -> float:
        """Return how long its main thread was ready but had no CPU, /proc/PID/schedstat."""
        try:
            words = read_text(f"{self._proc}/{pid}/schedstat", MAX_IO_BYTES).split()
        except (SourceAbsent, SourceFailed):
            return 0.0  # a kernel without scheduler statistics
        waited = parse_counter(words[1]) if len(words) > 1 else None
        return (waited or 0) / NANOSECONDS

    def _moved(self, pid: int) -> int:
        """Sum up what it has read and written, /proc/PID/io; 0 where we may not know."""
        try:
            lines = read_text(f"{self._proc}/{pid}/io", MAX_IO_BYTES).split("\n")
        except (SourceAbsent, SourceFailed):
            return 0
        words = [line.split() for line in lines if line.startswith(COUNTED)]
        return sum(parse_counter(each[1]) or 0 for each in words if len(each) > 1)


def _is_busy(before: _Mark, now: _Mark) -> bool:
    secs = now.at - before.at
    spent, moved = now.cpu_secs - before.cpu_secs, now.io_bytes - before.io_bytes
    return spent > CPU_SHARE * secs or moved > BYTES_PER_SEC * secs
