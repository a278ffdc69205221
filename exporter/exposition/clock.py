"""Families of the clock."""

from exporter.exposition.rows import Row, families, reading
from exporter.model.clock import Clock

FAMILIES = families(
    "hw_node_clock_",
    reading(Clock),
    Row("synchronized", "Whether the clock is synchronized (NTP, PTP)."),
    Row("offset_seconds", "Clock offset the kernel is still correcting."),
    Row("error_seconds", "Maximum clock error by the kernel's estimate."),
)
