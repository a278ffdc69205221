"""The collector of external probes."""

from exporter.collector import Collector, SourceRow
from exporter.collectors.external_probes.entities import (
    EXTENSION,
    EXTERNAL,
    ProbeEvents,
    about_components,
    edges_of_probes,
)
from exporter.collectors.external_probes.families import FAMILIES, named_by_probes
from exporter.collectors.external_probes.source import ExternalProbesSource
from exporter.faults.events.query import PROBE
from exporter.faults.subject import CollectorSubject

COLLECTOR = Collector(
    "external_probes",
    sources=(
        SourceRow(
            "external_probes",
            "probes",
            ExternalProbesSource,
            is_asked_for=lambda config: bool(config.probes),
        ),
    ),
    families=FAMILIES,
    families_of=named_by_probes,
    subject=CollectorSubject(
        kinds=(EXTERNAL,),
        feeds=(lambda _: ProbeEvents(),),
        event_kinds={PROBE: frozenset()},
        names_processes=frozenset({PROBE}),
        links=(edges_of_probes,),
        extension=EXTENSION,
        resolve=about_components,
    ),
)
