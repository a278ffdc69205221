"""Families of the clock."""

from exporter.exposition.family import Family, Kind
from exporter.exposition.samples import of
from exporter.model.clock import Clock

FAMILIES = (
    Family(
        "hw_node_clock_synchronized",
        "Whether somebody keeps the clock in step.",
        Kind.GAUGE,
        (),
        of(Clock, lambda clock: clock.synchronized),
    ),
    Family(
        "hw_node_clock_offset_seconds",
        "Offset that the kernel is still correcting.",
        Kind.GAUGE,
        (),
        of(Clock, lambda clock: clock.offset_seconds),
    ),
    Family(
        "hw_node_clock_error_seconds",
        "How far from true time the clock can be at most, by the kernel's own bound.",
        Kind.GAUGE,
        (),
        of(Clock, lambda clock: clock.error_seconds),
    ),
)
