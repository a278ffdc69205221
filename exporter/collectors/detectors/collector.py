"""The collector of GPUs that behave unusually."""

from pathlib import Path

from exporter.collector import Collector
from exporter.collectors.detectors.detectors import detectors_of
from exporter.collectors.detectors.entities import EXTENSION
from exporter.collectors.detectors.families import FAMILIES
from exporter.exposition.family import experimental
from exporter.faults.subject import CollectorSubject

COLLECTOR = Collector(
    "detectors",
    families=experimental(FAMILIES),
    subject=CollectorSubject(extension=EXTENSION),
    rules=Path(__file__).parent / "rules",
    detector=detectors_of,
)
