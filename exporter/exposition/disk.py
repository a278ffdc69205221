"""Families of disks."""

from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample
from exporter.exposition.samples import of_each
from exporter.model.disk import Disk, Disks
from exporter.model.snapshot import Snapshot


def _family(name: str, help_text: str, kind: Kind, value: Callable[[Disk], float | None]) -> Family:
    samples = of_each(Disks, lambda disks: disks.disks, lambda disk: (disk.device,), value)
    return Family(f"hw_disk_{name}", help_text, kind, ("device",), samples)


def _info(snapshot: Snapshot) -> Iterable[Sample]:
    disks = snapshot.reading(Disks)
    for disk in disks.disks if disks else ():
        rotational = "" if disk.rotational is None else str(int(disk.rotational))
        words = (disk.model, disk.serial, disk.firmware, rotational, disk.transport)
        yield (disk.device, *(word or "" for word in words)), 1


FAMILIES = (
    _family("read_bytes_total", "Bytes read.", Kind.COUNTER, lambda disk: disk.read_bytes),
    _family("written_bytes_total", "Bytes written.", Kind.COUNTER, lambda disk: disk.written_bytes),
    _family(
        "reads_completed_total",
        "Reads that ended.",
        Kind.COUNTER,
        lambda disk: disk.reads_completed,
    ),
    _family(
        "writes_completed_total",
        "Writes that ended.",
        Kind.COUNTER,
        lambda disk: disk.writes_completed,
    ),
    _family(
        "read_time_seconds_total",
        "Time all reads took, added up.",
        Kind.COUNTER,
        lambda disk: disk.read_time_seconds,
    ),
    _family(
        "write_time_seconds_total",
        "Time all writes took, added up.",
        Kind.COUNTER,
        lambda disk: disk.write_time_seconds,
    ),
    _family(
        "io_time_seconds_total",
        "Time in which at least one request was on its way.",
        Kind.COUNTER,
        lambda disk: disk.io_time_seconds,
    ),
    _family(
        "queue_time_seconds_total",
        "Time all requests were on their way, added up.",
        Kind.COUNTER,
        lambda disk: disk.queue_time_seconds,
    ),
    _family("io_in_flight", "Requests on their way.", Kind.GAUGE, lambda disk: disk.io_in_flight),
    Family(
        "hw_disk_info",
        "What the disk is; always 1.",
        Kind.GAUGE,
        ("device", "model", "serial", "firmware", "rotational", "transport"),
        _info,
    ),
)
