"""The family that counts devices beyond the number that is shown at most."""

from collections.abc import Iterable

from exporter.exposition.family import Family, Kind, Sample
from exporter.model.disk import Disks
from exporter.model.filesystem import Filesystems
from exporter.model.infiniband import Infiniband
from exporter.model.network import Network
from exporter.model.snapshot import Snapshot


def _left_out(snapshot: Snapshot) -> Iterable[Sample]:
    """A kind that is shown whole has no sample."""
    for kind, reading in (
        ("interface", snapshot.reading(Network)),
        ("infiniband_port", snapshot.reading(Infiniband)),
        ("disk", snapshot.reading(Disks)),
        ("filesystem", snapshot.reading(Filesystems)),
    ):
        if reading is not None and reading.left_out:
            yield (kind,), reading.left_out


FAMILIES = (
    Family(
        "hw_exporter_devices_truncated",
        "Devices beyond devices.max_per_kind; only kinds that are not shown whole.",
        Kind.GAUGE,
        ("kind",),
        _left_out,
    ),
)
