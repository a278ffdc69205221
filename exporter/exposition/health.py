"""Families of the exporter itself: its sources and what it uses."""

from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.model.our_processes import OurProcesses
from exporter.model.snapshot import Outcome, Snapshot, SourceReport


def _of_each_source(
    value: Callable[[SourceReport], float | None],
) -> Callable[[Snapshot], Iterable[Sample]]:
    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        for report in snapshot.reports:
            yield from one(value(report), report.source)

    return samples


def _of_us(value: Callable[[OurProcesses], float]) -> Callable[[Snapshot], Iterable[Sample]]:
    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        ours = snapshot.reading(OurProcesses)
        return () if ours is None else one(value(ours))

    return samples


def _outcomes(snapshot: Snapshot) -> Iterable[Sample]:
    for report in snapshot.reports:
        yield (report.source, report.outcome.value), 1


def _rejected(snapshot: Snapshot) -> Iterable[Sample]:
    for report in snapshot.reports:
        for field, count in report.rejected:
            yield (report.source, field), count


FAMILIES = (
    Family(
        "hw_exporter_source_up",
        "Whether the source was read in the last collection.",
        Kind.GAUGE,
        ("source",),
        _of_each_source(lambda report: report.outcome is Outcome.OK),
    ),
    Family(
        "hw_exporter_source_outcome",
        "How the last attempt of the source ended (ok, absent, failed, stuck); always 1.",
        Kind.GAUGE,
        ("source", "outcome"),
        _outcomes,
    ),
    Family(
        "hw_exporter_source_duration_seconds",
        "How long the last attempt of the source took.",
        Kind.GAUGE,
        ("source",),
        _of_each_source(lambda report: round(report.duration_secs, 6)),
    ),
    Family(
        "hw_exporter_source_last_success_timestamp_seconds",
        "When the source was last read.",
        Kind.GAUGE,
        ("source",),
        _of_each_source(lambda report: report.last_success_at),
    ),
    Family(
        "hw_exporter_values_rejected_total",
        "Impossible values that were left out.",
        Kind.COUNTER,
        ("source", "field"),
        _rejected,
    ),
    Family(
        "hw_exporter_collections_total",
        "Complete collections since the start.",
        Kind.COUNTER,
        (),
        lambda snapshot: one(snapshot.sequence),
    ),
    Family(
        "hw_exporter_collections_skipped_total",
        "Collections left out because the one before took longer than the interval.",
        Kind.COUNTER,
        (),
        lambda snapshot: one(snapshot.skipped_ticks),
    ),
    Family(
        "hw_exporter_collection_duration_seconds",
        "How long the last complete collection took.",
        Kind.GAUGE,
        (),
        lambda snapshot: one(round(snapshot.duration_secs, 6)),
    ),
    Family(
        "hw_exporter_processes",
        "Our own processes: the program and its children.",
        Kind.GAUGE,
        (),
        _of_us(lambda ours: ours.count),
    ),
    Family(
        "hw_exporter_abandoned_children",
        "Children that were killed and do not die, asleep in the kernel.",
        Kind.GAUGE,
        (),
        _of_us(lambda ours: ours.abandoned_children),
    ),
    Family(
        "hw_exporter_process_resident_memory_bytes",
        "Resident memory of all our processes.",
        Kind.GAUGE,
        (),
        _of_us(lambda ours: ours.resident_memory_bytes),
    ),
    Family(
        "hw_exporter_process_cpu_seconds_total",
        "Processor time of all our processes.",
        Kind.COUNTER,
        (),
        _of_us(lambda ours: round(ours.cpu_seconds, 2)),
    ),
    Family(
        "hw_exporter_process_open_fds",
        "Open file descriptors of all our processes.",
        Kind.GAUGE,
        (),
        _of_us(lambda ours: ours.open_descriptors),
    ),
    Family(
        "hw_exporter_process_threads",
        "Threads of all our processes.",
        Kind.GAUGE,
        (),
        _of_us(lambda ours: ours.threads),
    ),
    Family(
        "hw_exporter_process_start_time_seconds",
        "When the program was started.",
        Kind.GAUGE,
        (),
        _of_us(lambda ours: ours.started_at),
    ),
)
