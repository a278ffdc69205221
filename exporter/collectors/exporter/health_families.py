"""Families of the exporter itself: its sources, its collections, and truncated devices."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from exporter.exposition.family import Sample, family
from exporter.exposition.rows import Items, Row, families
from exporter.model.snapshot import Outcome, Snapshot, SourceReport


@runtime_checkable
class Truncated(Protocol):
    """A reading of devices, without the devices beyond the configured maximum."""

    @property
    def truncated(self) -> int:
        """The number of devices beyond the maximum."""
        ...

    @property
    def device_kind(self) -> str:
        """The value of the label `kind` for these devices."""
        ...


def _up(snapshot: Snapshot) -> Iterable[Sample]:
    """Yield whether each source was read; absent hardware has no sample."""
    for report in snapshot.reports:
        if report.outcome is not Outcome.ABSENT:
            yield (report.source,), report.outcome is Outcome.OK


def _outcomes(snapshot: Snapshot) -> Iterable[Sample]:
    for report in snapshot.reports:
        yield (report.source, report.outcome.value), 1


def _truncated(snapshot: Snapshot) -> Iterable[Sample]:
    for reading in snapshot.readings.values():
        # Looked at first: `isinstance` with a protocol takes ten times as long.
        if getattr(reading, "truncated", 0) and isinstance(reading, Truncated):
            yield (reading.device_kind,), reading.truncated


TRUNCATED = family(
    "hw_exporter_devices_truncated",
    "Devices not exported because there are more than devices.max_per_kind; absent if"
    " there are none.",
    _truncated,
    "kind",
)
REPORTS = Items(
    ("source",),
    SourceReport,
    lambda snapshot: (((report.source,), report) for report in snapshot.reports),
)
SNAPSHOT = Items((), Snapshot, lambda snapshot: (((), snapshot),))

FAMILIES = (
    family(
        "hw_exporter_source_up",
        "Whether the source was read in the last collection: 0 if the reading failed or hangs;"
        " absent if the node has no such hardware.",
        _up,
        "source",
    ),
    family(
        "hw_exporter_source_outcome",
        "Outcome of the last attempt of the source (ok, absent, failed, stuck); always 1.",
        _outcomes,
        *("source", "outcome"),
    ),
    *families(
        "hw_exporter_",
        REPORTS,
        Row(
            "source_duration_seconds",
            "Duration of the last attempt of the source.",
            "duration_secs",
            digits=6,
        ),
        Row(
            "source_last_success_timestamp_seconds",
            "When the source was last read successfully (Unix time).",
            "last_success_at",
        ),
        Row(
            "values_rejected_total",
            "Values that a source reported and that were rejected as implausible.",
            "rejected",
            ("field",),
        ),
    ),
    *families(
        "hw_exporter_",
        SNAPSHOT,
        Row(
            "collections_total",
            "Collections that were completed since the exporter was started.",
            "sequence",
        ),
        Row(
            "collections_skipped_total",
            "Collections skipped because the previous one took longer than the interval.",
            "skipped_ticks",
        ),
        Row(
            "collection_duration_seconds",
            "Duration of the last complete collection.",
            "duration_secs",
            digits=6,
        ),
    ),
)
