"""Families of sensors: temperatures, fans, voltages, power, energy.

A server has two hundred temperatures. A processor with many cores shows its hottest one; a board
with many sensors shows the first temperature of each device, which drivers make the main one, and
no limits.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from exporter.exposition.family import Family, Kind, Sample
from exporter.exposition.samples import Samples, of_each
from exporter.model.sensors import EnergyMeters, Sensor, Sensors
from exporter.model.snapshot import Snapshot

CORE = re.compile(r"Core [0-9]+")
MAX_CORES_SHOWN = 4
MAX_TEMPERATURES_SHOWN = 16
HOTTEST_CORE = "hottest core"


def _of_kind(sensors: Sensors, kind: str) -> list[Sensor]:
    return [sensor for sensor in sensors.sensors if sensor.kind == kind]


def _temperatures(sensors: Sensors) -> list[Sensor]:
    """The temperatures that are shown."""
    shown = _with_hottest_cores(_of_kind(sensors, "temperature"))
    if len(shown) <= MAX_TEMPERATURES_SHOWN:
        return shown
    main: dict[str, Sensor] = {}
    for sensor in shown:
        main.setdefault(sensor.hw_id, sensor)
    hottest = [sensor for sensor in shown if sensor.sensor == HOTTEST_CORE]
    return [replace(sensor, limits=()) for sensor in (*main.values(), *hottest)]


def _with_hottest_cores(temperatures: list[Sensor]) -> list[Sensor]:
    """The temperatures, with one core instead of many of one processor."""
    cores: dict[str, list[Sensor]] = {}
    for sensor in temperatures:
        if CORE.fullmatch(sensor.sensor):
            cores.setdefault(sensor.hw_id, []).append(sensor)
    many = {hw_id: found for hw_id, found in cores.items() if len(found) > MAX_CORES_SHOWN}
    others = [s for s in temperatures if s.hw_id not in many or not CORE.fullmatch(s.sensor)]
    hottest = [max(found, key=lambda core: core.value or 0.0) for found in many.values()]
    return [*others, *(replace(core, sensor=HOTTEST_CORE) for core in hottest)]


def _labels(sensor: Sensor) -> tuple[str, ...]:
    return sensor.hw_id, sensor.hw_name, sensor.sensor


def _of(kind: str) -> Samples:
    return of_each(
        Sensors, lambda sensors: _of_kind(sensors, kind), _labels, lambda sensor: sensor.value
    )


def _family(name: str, help_text: str, kind: str) -> Family:
    return Family(name, help_text, Kind.GAUGE, ("hw_id", "hw_name", "sensor"), _of(kind))


def _limits(snapshot: Snapshot) -> Iterable[Sample]:
    sensors = snapshot.reading(Sensors)
    for sensor in _temperatures(sensors) if sensors else ():
        for limit_type, limit in sensor.limits:
            yield (*_labels(sensor), limit_type), limit


FAMILIES = (
    Family(
        "hw_temperature_celsius",
        "Temperature; a node with many sensors shows the main one of each device.",
        Kind.GAUGE,
        ("hw_id", "hw_name", "sensor"),
        of_each(Sensors, _temperatures, _labels, lambda sensor: sensor.value),
    ),
    Family(
        "hw_temperature_limit_celsius",
        "Limit of the temperature: high.degraded or high.critical.",
        Kind.GAUGE,
        ("hw_id", "hw_name", "sensor", "hw_limit_type"),
        _limits,
    ),
    _family("hw_fan_speed_rpm", "Turns of the fan in a minute.", "fan"),
    _family("hw_voltage_volts", "Voltage.", "voltage"),
    _family("hw_power_watts", "Power drawn.", "power"),
    Family(
        "hw_energy_joules_total",
        "Energy used.",
        Kind.COUNTER,
        ("hw_type", "hw_id"),
        of_each(
            EnergyMeters,
            lambda found: found.meters,
            lambda meter: (meter.hw_type, meter.hw_id),
            lambda meter: meter.energy_joules,
        ),
    ),
)
