"""Builders for kernel-log tests: records in the layout of /dev/kmsg, and what comes of them."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from exporter.collectors.kernel_log.checkpoint import Saved
from exporter.collectors.kernel_log.pipeline import Pipeline, PrintClock
from exporter.collectors.kernel_log.record import Record, parse_kmsg
from exporter.collectors.kernel_log.table import Match, Table
from exporter.model.event import Event
from tests.fakes.kmsg import kmsg_record

BOOTTIME = 5_000.0
WALL = 1_800_000_000.0
XID = "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."


class RememberingTable(Table):
    """Tries the patterns once for a line that comes again and again."""

    def match(self, line: str) -> Match | None:
        """Return the first row that the line matches, or None; the fields are the caller's own."""
        found = self._tried(line)
        return found and replace(found, fields=dict(found.fields))

    @lru_cache(64)  # noqa: B019 - the one table lives as long as the tests
    def _tried(self, line: str) -> Match | None:
        return super().match(line)


TABLE = RememberingTable()
"""Joined once: that is most of what a pipeline costs to make."""


def kmsg(text: str, *, sequence: int = 1, stamp: float = 100.0, prefix: int = 4) -> bytes:
    """One record of /dev/kmsg."""
    return kmsg_record(text, sequence=sequence, stamp=stamp, prefix=prefix)


def record(text: str, *, sequence: int = 1, stamp: float = 100.0, prefix: int = 4) -> Record:
    """The same, parsed."""
    parsed = parse_kmsg(kmsg(text, sequence=sequence, stamp=stamp, prefix=prefix))
    assert parsed is not None
    return parsed


def pipeline(
    *, accept_user_records: bool = False, saved: Saved | None = None, table: Table = TABLE
) -> Pipeline:
    """A pipeline with clocks that stand still."""
    clock = PrintClock(lambda: WALL, lambda: BOOTTIME)
    return Pipeline(clock, accept_user_records=accept_user_records, saved=saved, table=table)


def events_of(*lines: str, apart_secs: float = 0.0001) -> tuple[Event, ...]:
    """The events that these lines of the kernel make, each a record a moment after the last."""
    return events_of_records(
        record(line, sequence=index, stamp=100.0 + index * apart_secs)
        for index, line in enumerate(lines)
    )


def events_of_records(records: Iterable[Record]) -> tuple[Event, ...]:
    """The events that these records make."""
    taker = pipeline()
    for each in records:
        taker.take(each)
    taker.settle()
    return taker.counters.ring.events()
