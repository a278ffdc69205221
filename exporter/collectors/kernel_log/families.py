"""Families of the kernel log."""

from collections.abc import Iterable

from exporter.collectors.kernel_log.values import KernelLog
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, families, reading
from exporter.model.label import clean_text
from exporter.model.snapshot import Outcome, Snapshot


def _source(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield which interface is open, or none with the first word of the reason."""
    log = snapshot.reading(KernelLog)
    if log is not None:
        return one(1, log.source, log.reason)
    report = snapshot.report("kernel_log")
    if report is None or report.outcome is Outcome.OK:
        return ()
    word = (report.reason or report.outcome.value).partition(":")[0]
    return one(1, "none", clean_text(word))


FAMILIES = (
    *families(
        "hw_kernel_log_",
        reading(KernelLog),
        Row(
            "events_total",
            "Events found in the kernel log since boot or since the exporter started, by kind.",
            "kinds",
            ("kind",),
        ),
        Row(
            "rejected_records_total",
            "Kernel log records rejected: written by user space, or malformed.",
            "rejected",
            ("reason",),
        ),
        Row("records_total", "Records of the kernel log that were read."),
        Row(
            "overruns_total",
            "Kernel log records overwritten before they were read.",
            "lost",
        ),
        Row(
            "suppressed_lines_total",
            "Lines the kernel rate-limited (callbacks suppressed); while this rises, event counts "
            "are lower bounds.",
            "suppressed",
        ),
    ),
    family(
        "hw_kernel_log_source_info",
        "Interface used to read the kernel log (kmsg, syslog, none), and the reason if it is"
        " not kmsg; always 1.",
        _source,
        *("source", "reason"),
    ),
)
