"""The collector of the exporter itself."""

from collections.abc import Iterable
from pathlib import Path

from exporter.collector import Collector, files
from exporter.collectors.exporter import fault_families, health_families, page_families
from exporter.collectors.exporter.usage import FAMILIES, OurProcesses, OurProcessesReader
from exporter.faults.entities.kind import (
    FieldsOf,
    Getter,
    Kind,
    getters_of,
    names_of,
)
from exporter.faults.entities.node import NodeFields
from exporter.faults.subject import CollectorSubject
from exporter.faults.values import Entity, FieldType, Type, Value
from exporter.model.snapshot import Outcome, Snapshot, SourceReport
from exporter.model.verdict import Naming


def _sources(snapshot: Snapshot) -> Iterable[Entity]:
    for report in snapshot.reports:
        yield Entity(("source", report.source), report.source, FieldsOf(report, _SOURCE_GETTERS))


def _is(outcome: Outcome) -> Getter:
    def value_of(report: object) -> Value:
        return isinstance(report, SourceReport) and report.outcome is outcome

    return value_of


_SOURCE_GETTERS = getters_of(SourceReport) | {
    "stuck": _is(Outcome.STUCK),
    "failed": _is(Outcome.FAILED),
    "absent": _is(Outcome.ABSENT),
}

SOURCE = Kind(
    "source",
    "exporter",
    names_of(SourceReport)
    | {name: FieldType(Type.TRUTH) for name in ("stuck", "failed", "absent")},
    _sources,
    SourceReport,
    graph_word="exporter",
    naming=Naming(is_alone=True),
)


COLLECTOR = Collector(
    "exporter",
    sources=(
        files(
            "our_processes",
            "exporter",
            lambda ctx: OurProcessesReader((ctx.children, ctx.driver_children)),
        ),
    ),
    families=(
        health_families.TRUNCATED,
        *fault_families.FAMILIES,
        *health_families.FAMILIES,
        *FAMILIES,
    ),
    live_families=page_families.live_families,
    subject=CollectorSubject(
        kinds=(SOURCE,), node=NodeFields(readings=(("exporter_", OurProcesses),))
    ),
    rules=Path(__file__).parent / "rules",
)
