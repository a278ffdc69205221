"""Families of the kernel log."""

from collections.abc import Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.model.kernel_log import KernelLog
from exporter.model.label import clean_text
from exporter.model.snapshot import Outcome, Snapshot

SOURCE = "kernel_log"


def _events(snapshot: Snapshot) -> Iterable[Sample]:
    log = snapshot.reading(KernelLog)
    return () if log is None else [((kind,), count) for kind, count in log.kinds]


def _rejected(snapshot: Snapshot) -> Iterable[Sample]:
    log = snapshot.reading(KernelLog)
    return () if log is None else [((reason,), count) for reason, count in log.rejected]


def _records(snapshot: Snapshot) -> Iterable[Sample]:
    log = snapshot.reading(KernelLog)
    return one(None if log is None else log.records)


def _overruns(snapshot: Snapshot) -> Iterable[Sample]:
    log = snapshot.reading(KernelLog)
    return one(None if log is None else log.lost)


def _suppressed(snapshot: Snapshot) -> Iterable[Sample]:
    log = snapshot.reading(KernelLog)
    return one(None if log is None else log.suppressed)


def _source(snapshot: Snapshot) -> Iterable[Sample]:
    """Which way is open, or none with the first word of the reason."""
    log = snapshot.reading(KernelLog)
    if log is not None:
        return one(1, log.source, log.reason)
    for report in snapshot.reports:
        if report.source == SOURCE and report.outcome is not Outcome.OK:
            word = (report.reason or report.outcome.value).partition(":")[0]
            return one(1, "none", clean_text(word))
    return ()


FAMILIES: tuple[Family, ...] = (
    Family(
        "hw_kernel_log_events_total",
        "Events found in the kernel log since boot or since the exporter started, by kind.",
        Kind.COUNTER,
        ("kind",),
        _events,
    ),
    Family(
        "hw_kernel_log_rejected_records_total",
        "Records of the kernel log that were not believed or not understood.",
        Kind.COUNTER,
        ("reason",),
        _rejected,
    ),
    Family(
        "hw_kernel_log_records_total",
        "Records of the kernel log that were read.",
        Kind.COUNTER,
        (),
        _records,
    ),
    Family(
        "hw_kernel_log_overruns_total",
        "Records of the kernel log that were overwritten before they could be read.",
        Kind.COUNTER,
        (),
        _overruns,
    ),
    Family(
        "hw_kernel_log_suppressed_lines_total",
        "Lines that the kernel says it left out; where this rises, events are lower bounds.",
        Kind.COUNTER,
        (),
        _suppressed,
    ),
    Family(
        "hw_kernel_log_source_info",
        "Where the kernel log is read (kmsg, syslog, none), and why not the better way; always 1.",
        Kind.GAUGE,
        ("source", "reason"),
        _source,
    ),
)
