"""Families of software RAID."""

from collections.abc import Iterable

from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, each, families
from exporter.model.raid import MdArray, MdArrays
from exporter.model.snapshot import Snapshot

ARRAYS = each(MdArrays, lambda found: found.arrays, MdArray, "device")


def _disks(snapshot: Snapshot) -> Iterable[Sample]:
    for labels, array in ARRAYS.read(snapshot):
        yield from one(array.active_disks, *labels, "active")
        yield from one(array.failed_disks, *labels, "failed")
        yield from one(array.spare_disks, *labels, "spare")
        yield from one(array.missing_disks, *labels, "missing")


FAMILIES = (
    family(
        "hw_md_disks",
        "Disks of the array: active, failed, spare, missing.",
        _disks,
        *("device", "state"),
    ),
    *families(
        "hw_md_",
        ARRAYS,
        Row("degraded", "Missing disks of the array; 0 if it is complete.", "missing_disks"),
        Row("resync_ratio", "Progress of a resync or rebuild, 0 to 1; absent if none is running."),
    ),
)
