"""Families of pressure."""

from exporter.exposition.family import Family, Kind
from exporter.exposition.samples import of_each
from exporter.model.pressure import Pressures

FAMILIES = (
    Family(
        "hw_pressure_seconds_total",
        "Time in which some, or all (full), tasks waited for the resource.",
        Kind.COUNTER,
        ("resource", "kind"),
        of_each(
            Pressures,
            lambda found: found.pressures,
            lambda pressure: (pressure.resource, pressure.kind),
            lambda pressure: pressure.seconds,
        ),
    ),
)
