"""The collector of expected hardware, and what rules see of what is not there."""

from collections.abc import Iterable
from pathlib import Path

from exporter.collector import About, Collector, SourceRow
from exporter.collectors.expect.source import ExpectSource
from exporter.collectors.expect.values import Expected, Shortage
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.subject import CollectorSubject
from exporter.faults.values import Entity
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Naming

_GETTERS = getters_of(Shortage)


def _shortages(snapshot: Snapshot) -> Iterable[Entity]:
    expected = snapshot.reading(Expected)
    named = (
        {f"{each.kind} {each.slot}".strip(): each for each in expected.shortages}
        if expected
        else {}
    )
    for name, each in named.items():
        key = ("expected", name)
        yield Entity(key, name, FieldsOf(each, _GETTERS), (key,))


EXPECTED = Kind(
    "expected",
    "expected",
    names_of(Shortage),
    _shortages,
    Expected,
    ends=True,
    naming=Naming("unmet expectations"),
)

COLLECTOR = Collector(
    "expect",
    sources=(
        SourceRow(
            "expect",
            "node",
            ExpectSource,
            is_asked_for=lambda config: config.expect.is_on,
            about=About(
                "what the other sources read",
                "none: faults only",
                "`[expect]` in the configuration",
                without="no fault tells of hardware that is missing since the start",
            ),
        ),
    ),
    values=(Expected,),
    subject=CollectorSubject(kinds=(EXPECTED,)),
    rules=Path(__file__).parent / "rules",
)
