"""How the events of the kernel log, also those of a recording, reach the rules."""

from collections.abc import Iterable

from exporter.collectors.kernel_log.pattern_file import Lines
from exporter.collectors.kernel_log.pipeline import LINE_BREAK, Pipeline, PrintClock
from exporter.collectors.kernel_log.record import Record
from exporter.collectors.kernel_log.table import Table
from exporter.collectors.kernel_log.values import KERNEL_LOG, KernelLog
from exporter.collectors.kernel_log.xid import with_process
from exporter.faults.replay.snapshots import START_BOOTTIME, START_WALL
from exporter.faults.subject import NumberedEvents
from exporter.faults.values import Address
from exporter.model.event import Event, EventType
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Key

TYPES = (EventType.ERROR_HW, EventType.ERROR_NET, EventType.TOPO_LINK_DOWN)


def event_kinds(lines: Lines) -> dict[str, frozenset[str]]:
    """Return the words that rules have for the events of these lines."""
    types = (each.value for each in TYPES)
    return dict.fromkeys((*lines.kinds, *types), frozenset({KERNEL_LOG}))


def feed(is_resumed: bool) -> NumberedEvents:  # noqa: FBT001 - the type of a feed
    """Return the feed; after a restart, events that the process before had seen are not new."""
    first_new = (lambda log: log.first_new_number) if is_resumed else None
    return NumberedEvents(KERNEL_LOG, KernelLog, first_new=first_new)


def gpus_at_addresses(snapshot: Snapshot) -> Iterable[tuple[Address, Key]]:
    """Yield which GPU sits at which address, as the driver says: also GPUs that NVML never saw."""
    log = snapshot.reading(KernelLog)
    for pci, uuid in log.gpu_uuids if log else ():
        yield ("gpu", pci), ("gpu", uuid)


def line_of(event: Event) -> str:
    """Return the lines of an event as recordings have them, one below the other."""
    return with_process(event.raw.replace(LINE_BREAK, "\n"), event.fields)


APART_SECS = 1e-6
"""The time between two lines of a recording that are printed together."""


class KernelLines:
    """Gives the events of lines that are printed together, as the kernel log is read."""

    def __init__(self, lines: Lines | None = None, source: str = KERNEL_LOG) -> None:
        clock = PrintClock(lambda: START_WALL, lambda: START_BOOTTIME)
        table = Table(lines)
        self._pipeline = Pipeline(clock, accept_user_records=False, table=table, source=source)
        self._last = 0

    def events(self, texts: Iterable[object], boottime: float) -> Iterable[Event]:
        """Return the events in the lines of these texts, printed by this boot time in seconds."""
        lines = [line for text in texts for line in str(text).split("\n")]
        for place, line in enumerate(lines, start=1 - len(lines)):
            self._pipeline.take(Record(4, None, boottime + place * APART_SECS, line.encode()))
        self._pipeline.settle()
        new = [e for e in self._pipeline.counters.ring.events() if e.number > self._last]
        self._last = self._pipeline.counters.number
        return new
