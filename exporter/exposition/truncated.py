"""The family that counts devices beyond the configured maximum."""

from collections.abc import Iterable

from exporter.exposition.family import Sample, family
from exporter.model.reading import Truncated
from exporter.model.snapshot import Snapshot


def _truncated(snapshot: Snapshot) -> Iterable[Sample]:
    for reading in snapshot.readings.values():
        if isinstance(reading, Truncated) and reading.truncated:
            yield (reading.device_kind(),), reading.truncated


FAMILIES = (
    family(
        "hw_exporter_devices_truncated",
        "Devices not exported because there are more than devices.max_per_kind; absent if"
        " there are none.",
        _truncated,
        "kind",
    ),
)
