"""Families of pressure stall information (PSI)."""

from exporter.exposition.rows import Row, each, families
from exporter.model.pressure import Pressure, Pressures

FAMILIES = families(
    "hw_pressure_",
    each(Pressures, lambda found: found.pressures, Pressure, "resource", "kind"),
    Row(
        "seconds_total",
        "Pressure stall (PSI): time in which some, or all (full), tasks waited for the resource.",
    ),
)
