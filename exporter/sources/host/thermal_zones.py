"""Temperatures of thermal zones, for boards whose chips do not say them (/sys/class/thermal).

https://docs.kernel.org/driver-api/thermal/sysfs-api.html
"""

from collections.abc import Container
from pathlib import Path

from exporter.model.sensors import Sensor
from exporter.sources.host.sysfs import Gaps, names_or_none

MILLIDEGREES = 1000
COLDEST, HOTTEST = -60.0, 250.0
SAME_AS = {"x86_pkg_temp": "coretemp", "acpitz": "acpitz"}
"""Zones that show again what the chip of this name shows."""
LIMIT_TYPES = {"critical": "high.critical", "hot": "high.degraded"}
MAX_TRIP_POINTS = 12


def read_thermal_zones(folder: Path, chips: Container[str], gaps: Gaps) -> list[Sensor]:
    """The zones under the folder that no chip shows already."""
    sensors = []
    for zone in names_or_none(folder):
        if not zone.startswith("thermal_zone"):
            continue
        kind = gaps.word(f"{zone} type", folder / zone / "type") or zone
        if SAME_AS.get(kind, kind) in chips:
            continue
        # A zone that is switched off answers with an error: no note of it.
        value = _celsius(Gaps().number(zone, folder / zone / "temp"))
        if value is not None:
            limits = _limits(folder / zone, gaps)
            sensors.append(Sensor("temperature", zone, kind, kind, value, limits))
    return sensors


def _limits(zone: Path, gaps: Gaps) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    for number in range(MAX_TRIP_POINTS):
        kind = gaps.word(zone.name, zone / f"trip_point_{number}_type")
        if kind is None:
            break
        limit = _celsius(gaps.number(zone.name, zone / f"trip_point_{number}_temp"))
        if kind in LIMIT_TYPES and limit is not None and limit > 0:
            found.setdefault(LIMIT_TYPES[kind], limit)
    return tuple(sorted(found.items()))


def _celsius(raw: int | None) -> float | None:
    if raw is None:
        return None
    value = raw / MILLIDEGREES
    return value if COLDEST <= value <= HOTTEST else None
