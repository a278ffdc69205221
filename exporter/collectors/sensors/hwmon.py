"""Sensors of the board, from /sys/class/hwmon (https://docs.kernel.org/hwmon/sysfs-interface.html).

https://docs.kernel.org/driver-api/thermal/sysfs-api.html (thermal zones)
Chips answer in thousandths of a degree and volt, millionths of a watt, and turns per minute.
"""

import re
from collections.abc import Container, Iterable
from pathlib import Path

from exporter.collectors.sensors.values import Sensor, Sensors
from exporter.model.reading import Reading
from exporter.reading.source import SourceAbsent
from exporter.reading.sysfs import FieldReader, link_name, names_in, names_or_none
from exporter.record import dataclass

INPUT = re.compile(r"(temp|fan|in|power)([0-9]{1,3})_(input|average)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a kind of sensor is called, its unit, and the values that can be true."""

    kind: str
    per_unit: int
    lowest: float
    highest: float
    limits: tuple[tuple[str, str], ...] = ()

    def value_of(self, raw: int | None) -> float | None:
        """Return the value in its unit; None where it is unknown or cannot be true."""
        value = None if raw is None else raw / self.per_unit
        return value if value is not None and self.lowest <= value <= self.highest else None


QUANTITIES = {
    "temp": Quantity(
        "temperature", 1000, -60, 250, (("high.degraded", "max"), ("high.critical", "crit"))
    ),
    "fan": Quantity("fan", 1, 0, 100_000),
    "in": Quantity("voltage", 1000, -1000, 1000),
    "power": Quantity("power", 1_000_000, 0, 100_000),
}
FAULT = "fault"
ALARMS = ("alarm", "crit_alarm", FAULT)
SUPER_IO = (
    "dme",
    "f718",
    "f80",
    "f81",
    "it8",
    "nct6",
    "pc87",
    "sch3",
    "sch50",
    "smsc47",
    "vt1",
    "w83",
)
"""Names of chips of main boards. The least speeds of fans are there what the BIOS left: sound fans
raise their alarms on many boards (`1180 RPM (min = 0 RPM) ALARM`); only a fault counts.
"""
SWITCHED_OFF = 0
"""What `pwm1` reads while the board has stopped fan1 because it is not needed."""
SAME_CHIP = {"x86_pkg_temp": "coretemp", "acpitz": "acpitz"}
"""Thermal zones that show again what the chip of this name shows."""
TRIP_POINTS = {"critical": "high.critical", "hot": "high.degraded"}
MAX_TRIP_POINTS = 12
MAY_SLEEP = ("0x03", "0x12")
"""PCI classes of GPUs, which sleep to save power: reading a sensor of one would wake it.

Display controllers and processing accelerators: include/linux/pci_ids.h.
"""


class HwmonReader:
    """Reads the chips and the thermal zones under a sys root."""

    def __init__(self, sys_root: Path) -> None:
        self._sys = sys_root
        self._folder = sys_root / "class/hwmon"

    def read(self) -> Reading[Sensors]:
        """Read all sensors now; raise SourceAbsent where there is none, or SourceFailed."""
        fields = FieldReader()
        sensors: list[Sensor] = []
        reason = f"{self._folder} holds no sensor"
        try:
            for chip in names_in(self._folder, "sensors"):
                sensors += self._chip(chip, fields)
        except SourceAbsent as absent:
            reason = str(absent)  # boards without such chips may have thermal zones
        names = {sensor.hw_name for sensor in sensors}
        sensors += read_thermal_zones(self._sys / "class/thermal", names, fields)
        if not sensors:
            raise SourceAbsent(reason)
        return Reading(Sensors(tuple(_distinct(sensors))), fields.missing)

    def _chip(self, chip: str, fields: FieldReader) -> list[Sensor]:
        folder = f"{self._folder}/{chip}"
        result: dict[tuple[str, int], str] = {}
        for name in names_or_none(folder):
            match = INPUT.fullmatch(name)
            if match:
                result.setdefault((match[1], int(match[2])), name)
        named = Chip(
            hw_id=link_name(f"{folder}/device") or chip,
            hw_name=fields.label(f"{chip} name", f"{folder}/name") or chip,
        )
        pci_class = fields.text(f"{chip} class", f"{folder}/device/class") or ""
        if pci_class.startswith(MAY_SLEEP):
            power = fields.text(f"{chip} power", f"{folder}/device/power/runtime_status") or ""
            if power.strip() == "suspended":
                return []
        return [named.sensor(folder, result[key], *key, fields) for key in sorted(result)]


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip with sensors: the device it belongs to, and its driver."""

    hw_id: str
    hw_name: str

    def sensor(
        self, folder: str, file: str, prefix: str, number: int, fields: FieldReader
    ) -> Sensor:
        """One sensor of the chip, whose value is in this file of its folder."""
        name, quantity = f"{prefix}{number}", QUANTITIES[prefix]
        known_as = f"{self.hw_id} {name}"
        limits = (
            (
                limit_type,
                _value(f"{known_as} {ending}", f"{folder}/{name}_{ending}", quantity, fields),
            )
            for limit_type, ending in quantity.limits
        )
        flags = {
            ending: fields.count(f"{name} {ending}", f"{folder}/{name}_{ending}")
            for ending in ALARMS
        }
        # An open or shorted diode: what the chip then measures says nothing.
        is_broken = prefix == "temp" and flags[FAULT]
        if is_broken:
            fields.skip(known_as, "the chip reports a fault of this sensor")
        is_super_io = self.hw_name.startswith(SUPER_IO)
        if prefix == "fan" and is_super_io:
            flags = {FAULT: flags[FAULT]}
        # Laptops and GPUs stop fans that are not needed; chips of servers flag a fault.
        may_rest = prefix == "fan" and (
            not is_super_io
            or fields.count(f"{known_as} pwm", f"{folder}/pwm{number}") == SWITCHED_OFF
        )
        known = [flag for flag in flags.values() if flag is not None]
        return Sensor(
            kind=quantity.kind,
            hw_id=self.hw_id,
            hw_name=self.hw_name,
            sensor=fields.label(f"{known_as} label", f"{folder}/{name}_label") or name,
            value=None if is_broken else _value(known_as, f"{folder}/{file}", quantity, fields),
            limits=tuple((limit_type, limit) for limit_type, limit in limits if limit),
            alarm=any(known) if known else None,
            may_rest=may_rest,
        )


def _value(
    known_as: str, file: Path | str, quantity: Quantity, fields: FieldReader
) -> float | None:
    raw = fields.number(known_as, file)
    value = quantity.value_of(raw)
    if raw is not None and value is None:
        fields.skip(known_as, f"{raw} cannot be true")
    return value


def _distinct(sensors: Iterable[Sensor]) -> Iterable[Sensor]:
    """Drop sensors whose name is taken: two chips may use one label."""
    seen: set[tuple[str, str, str, str]] = set()
    for sensor in sensors:
        key = (sensor.kind, sensor.hw_id, sensor.hw_name, sensor.sensor)
        if key not in seen:
            seen.add(key)
            yield sensor


def read_thermal_zones(folder: Path, chips: Container[str], fields: FieldReader) -> list[Sensor]:
    """Read the zones under the folder that no chip shows already."""
    sensors = []
    for zone in names_or_none(folder):
        if not zone.startswith("thermal_zone"):
            continue
        kind = fields.label(f"{zone} type", folder / zone / "type") or zone
        if SAME_CHIP.get(kind, kind) in chips:
            continue
        # A zone that is switched off answers with an error: no note of it.
        value = QUANTITIES["temp"].value_of(FieldReader().number(zone, folder / zone / "temp"))
        if value is not None:
            limits = _limits(folder / zone, fields)
            sensors.append(Sensor("temperature", zone, kind, kind, value, limits))
    return sensors


def _limits(zone: Path, fields: FieldReader) -> tuple[tuple[str, float], ...]:
    result: dict[str, float] = {}
    for number in range(MAX_TRIP_POINTS):
        kind = fields.label(zone.name, zone / f"trip_point_{number}_type")
        if kind is None:
            break
        limit = QUANTITIES["temp"].value_of(
            fields.number(zone.name, zone / f"trip_point_{number}_temp")
        )
        if kind in TRIP_POINTS and limit is not None and limit > 0:
            result.setdefault(TRIP_POINTS[kind], limit)
    return tuple(sorted(result.items()))
