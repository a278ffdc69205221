"""Families of the kernel log."""

from exporter.collectors.kernel_log.families import FAMILIES
from exporter.collectors.kernel_log.values import KernelLog
from exporter.exposition.family import Sample
from exporter.model.snapshot import Outcome, Snapshot, SourceReport
from tests.exposition.sampling import snapshot_of


def said(snapshot: Snapshot) -> dict[str, list[Sample]]:
    """All samples by the name of their family; families without samples are left out."""
    found = {family.name: list(family.samples(snapshot)) for family in FAMILIES}
    return {name: samples for name, samples in found.items() if samples}


def test_only_kinds_that_occurred_have_a_series() -> None:
    """Counters of records are always there, those by kind and reason when there is one."""
    log = KernelLog(
        source="kmsg",
        reason="ok",
        records=12,
        lost=3,
        suppressed=0,
        rejected=(("user_record", 4),),
        kinds=(("oom_kill", 1), ("xid", 2)),
    )
    assert said(snapshot_of(log)) == {
        "hw_kernel_log_events_total": [(("oom_kill",), 1), (("xid",), 2)],
        "hw_kernel_log_rejected_records_total": [(("user_record",), 4)],
        "hw_kernel_log_records_total": [((), 12)],
        "hw_kernel_log_overruns_total": [((), 3)],
        "hw_kernel_log_suppressed_lines_total": [((), 0)],
        "hw_kernel_log_source_info": [(("kmsg", "ok"), 1)],
    }


def test_a_log_that_cannot_be_read_is_told_and_not_shown_as_quiet() -> None:
    """Without a reading there is no counter, and the reason is one word."""
    report = SourceReport(
        source="kernel_log",
        outcome=Outcome.ABSENT,
        duration_secs=0.0,
        reason="no_permission: /dev/kmsg gave no_permission, syslog(2) gave the same",
    )
    assert said(snapshot_of(reports=(report,))) == {
        "hw_kernel_log_source_info": [(("none", "no_permission"), 1)]
    }


def test_a_log_that_is_switched_off_says_nothing() -> None:
    """Neither a reading nor a report: no series."""
    assert said(snapshot_of()) == {}
