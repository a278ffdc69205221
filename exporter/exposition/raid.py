"""Families of software RAID."""

from collections.abc import Iterable

from exporter.exposition.family import Family, Kind, Sample
from exporter.exposition.samples import of_each
from exporter.model.raid import MdArrays
from exporter.model.snapshot import Snapshot


def _disks(snapshot: Snapshot) -> Iterable[Sample]:
    found = snapshot.reading(MdArrays)
    for array in found.arrays if found else ():
        yield (array.device, "active"), array.active_disks
        yield (array.device, "failed"), array.failed_disks
        yield (array.device, "spare"), array.spare_disks
        if array.missing_disks is not None:
            yield (array.device, "missing"), array.missing_disks


FAMILIES = (
    Family(
        "hw_md_disks",
        "Disks of the array: active, failed, spare, missing.",
        Kind.GAUGE,
        ("device", "state"),
        _disks,
    ),
    Family(
        "hw_md_degraded",
        "How many disks the array is short of; 0 when it is whole.",
        Kind.GAUGE,
        ("device",),
        of_each(
            MdArrays,
            lambda found: found.arrays,
            lambda array: (array.device,),
            lambda array: array.missing_disks,
        ),
    ),
)
