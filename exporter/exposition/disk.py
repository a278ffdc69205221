"""Families of disks."""

from exporter.exposition.rows import Row, each, families, info
from exporter.model.disk import Disk, Disks

DISKS = each(Disks, lambda disks: disks.disks, Disk, "device")

FAMILIES = (
    *families(
        "hw_disk_",
        DISKS,
        Row("read_bytes_total", "Bytes read."),
        Row("written_bytes_total", "Bytes written."),
        Row("reads_completed_total", "Reads completed."),
        Row("writes_completed_total", "Writes completed."),
        Row("read_time_seconds_total", "Time spent by all reads."),
        Row("write_time_seconds_total", "Time spent by all writes."),
        Row("io_time_seconds_total", "Time with at least one I/O in flight."),
        Row("queue_time_seconds_total", "Weighted I/O time: time spent by all I/Os in flight."),
        Row("io_in_flight", "I/Os in flight."),
    ),
    info(
        "hw_disk_info",
        "Model, serial, firmware and transport of the disk; always 1.",
        DISKS,
        ("model", "serial", "firmware", "rotational", "transport"),
    ),
)
