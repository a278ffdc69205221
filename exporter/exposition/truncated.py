"""The family that counts devices beyond the configured maximum."""

from collections.abc import Iterable

from exporter.exposition.family import Sample, family
from exporter.model.disk import Disks
from exporter.model.filesystem import Filesystems
from exporter.model.infiniband import Infiniband
from exporter.model.network import Network
from exporter.model.snapshot import Snapshot


def _truncated(snapshot: Snapshot) -> Iterable[Sample]:
    for kind, reading in (
        ("interface", snapshot.reading(Network)),
        ("infiniband_port", snapshot.reading(Infiniband)),
        ("disk", snapshot.reading(Disks)),
        ("filesystem", snapshot.reading(Filesystems)),
    ):
        if reading is not None and reading.truncated:
            yield (kind,), reading.truncated


FAMILIES = (
    family(
        "hw_exporter_devices_truncated",
        "Devices not exported because there are more than devices.max_per_kind; absent if"
        " there are none.",
        _truncated,
        "kind",
    ),
)
