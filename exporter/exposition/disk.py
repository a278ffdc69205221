"""Families of disks."""

from exporter.exposition.rows import Row, each, families, info
from exporter.model.disk import Disk, Disks

DISKS = each(Disks, lambda disks: disks.disks, Disk, "device")

FAMILIES = (
    *families(
        "hw_disk_",
        DISKS,
        Row("read_bytes_total", "Bytes read from the disk since boot."),
        Row("written_bytes_total", "Bytes written to the disk since boot."),
        Row("reads_completed_total", "Read requests that the disk has completed."),
        Row("writes_completed_total", "Write requests that the disk has completed."),
        Row("read_time_seconds_total", "Time spent by all read requests of the disk."),
        Row("write_time_seconds_total", "Time spent by all write requests of the disk."),
        Row("io_time_seconds_total", "Time with at least one I/O in flight."),
        Row("queue_time_seconds_total", "Weighted I/O time: time spent by all I/Os in flight."),
        Row("io_in_flight", "I/O requests of the disk now in flight."),
    ),
    info(
        "hw_disk_info",
        "Model, serial, firmware and transport of the disk; always 1.",
        DISKS,
        ("model", "serial", "firmware", "rotational", "transport"),
    ),
)
