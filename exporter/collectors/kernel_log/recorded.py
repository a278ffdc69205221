"""Kernel log lines of a recording, parsed like the real kernel log."""

from collections.abc import Iterable

from exporter.collectors.kernel_log.pattern_file import Lines
from exporter.collectors.kernel_log.pipeline import Pipeline, PrintClock
from exporter.collectors.kernel_log.record import Record
from exporter.collectors.kernel_log.table import Table
from exporter.faults.replay.snapshots import START_BOOTTIME, START_WALL
from exporter.model.event import Event


class KernelLines:
    """Gives the events of each line; lines of one message must be in one text."""

    def __init__(self, lines: Lines | None = None) -> None:
        clock = PrintClock(lambda: START_WALL, lambda: START_BOOTTIME)
        self._pipeline = Pipeline(clock, accept_user_records=False, table=Table(lines))
        self._last = 0

    def events(self, text: object, boottime: float) -> Iterable[Event]:
        """Return the events in these lines, printed at this boot time in seconds."""
        for line in str(text).split("\n"):
            self._pipeline.take(Record(4, None, boottime, line.encode()))
        self._pipeline.settle()
        new = [e for e in self._pipeline.counters.ring.events() if e.number > self._last]
        self._last = self._pipeline.counters.number
        return new
