"""Families of pressure stall information (PSI)."""

from exporter.exposition.rows import Items, Row, each, families
from exporter.model.pressure import Pressure, Pressures


def _of(kind: str) -> Items:
    """Return the pressure on each resource, of the kind `some` or `full`, which contain another."""
    return each(
        Pressures,
        lambda found: (one for one in found.pressures if one.kind == kind),
        Pressure,
        "resource",
    )


FAMILIES = (
    *families(
        "hw_pressure_",
        _of("some"),
        Row(
            "waiting_seconds_total",
            "Pressure stall (PSI, some): time in which at least one task waited for the resource.",
            "seconds_total",
        ),
    ),
    *families(
        "hw_pressure_",
        _of("full"),
        Row(
            "stalled_seconds_total",
            "Pressure stall (PSI, full): time in which all tasks waited for the resource at once.",
            "seconds_total",
        ),
    ),
)
