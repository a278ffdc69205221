"""Families of sensors: temperatures, fans, voltages, power, energy.

A server has two hundred temperatures. A processor with many cores shows its hottest one; a board
with many sensors shows the first temperature of each device, which drivers make the main one, and
no limits.
"""

import re
from collections.abc import Callable

from exporter.collectors.sensors.values import EnergyMeter, EnergyMeters, Sensor, Sensors
from exporter.exposition.rows import Items, Row, each, families
from exporter.record import replace

CORE = re.compile(r"Core [0-9]+")
MAX_CORES_SHOWN = 4
MAX_TEMPERATURES_SHOWN = 16
HOTTEST_CORE = "hottest core"


def _of_kind(sensors: Sensors, kind: str) -> list[Sensor]:
    return [sensor for sensor in sensors.sensors if sensor.kind == kind]


def _temperatures(sensors: Sensors) -> list[Sensor]:
    """Return the temperatures that are shown."""
    shown = _with_hottest_cores(_of_kind(sensors, "temperature"))
    if len(shown) <= MAX_TEMPERATURES_SHOWN:
        return shown
    main: dict[str, Sensor] = {}
    for sensor in shown:
        main.setdefault(sensor.hw_id, sensor)
    hottest = [sensor for sensor in shown if sensor.sensor == HOTTEST_CORE]
    return [replace(sensor, limits=()) for sensor in (*main.values(), *hottest)]


def _with_hottest_cores(temperatures: list[Sensor]) -> list[Sensor]:
    """Return the temperatures, with one core instead of many of one processor."""
    cores: dict[str, list[Sensor]] = {}
    for sensor in temperatures:
        if CORE.fullmatch(sensor.sensor):
            cores.setdefault(sensor.hw_id, []).append(sensor)
    many = {hw_id: found for hw_id, found in cores.items() if len(found) > MAX_CORES_SHOWN}
    others = [s for s in temperatures if s.hw_id not in many or not CORE.fullmatch(s.sensor)]
    hottest = [max(found, key=lambda core: core.value or 0.0) for found in many.values()]
    return [*others, *(replace(core, sensor=HOTTEST_CORE) for core in hottest)]


def _sensors(select: Callable[[Sensors], list[Sensor]]) -> Items:
    return each(Sensors, select, Sensor, "hw_id", "hw_name", "sensor")


TEMPERATURES = _sensors(_temperatures)

FAMILIES = (
    *families(
        "hw_temperature_",
        TEMPERATURES,
        Row(
            "celsius",
            "Temperature; with many sensors, only the main one of each device.",
            "value",
        ),
        Row(
            "limit_celsius",
            "Temperature limit of the sensor: high.degraded or high.critical.",
            "limits",
            ("hw_limit_type",),
        ),
    ),
    *families(
        "hw_",
        _sensors(lambda found: _of_kind(found, "fan")),
        Row("fan_speed_rpm", "Fan speed in revolutions per minute.", "value"),
    ),
    *families(
        "hw_",
        _sensors(lambda found: _of_kind(found, "voltage")),
        Row("voltage_volts", "Voltage that the sensor measures now.", "value"),
    ),
    *families(
        "hw_",
        _sensors(lambda found: _of_kind(found, "power")),
        Row("power_watts", "Power draw that the sensor measures now.", "value"),
    ),
    *families(
        "hw_",
        each(EnergyMeters, lambda found: found.meters, EnergyMeter, "hw_type", "hw_id"),
        Row("energy_joules_total", "Energy consumption of processors and memory (RAPL)."),
    ),
)
