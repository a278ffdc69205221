"""Families of sensors: temperatures, fans, voltages, power, energy."""

import re
from collections.abc import Iterable

from exporter.exposition.family import Family, Kind, Sample
from exporter.exposition.samples import Samples, of_each
from exporter.model.sensors import EnergyMeters, Sensor, Sensors
from exporter.model.snapshot import Snapshot

CORE = re.compile(r"Core [0-9]+")
MAX_CORES_SHOWN = 4
HOTTEST_CORE = "hottest core"


def _shown(sensors: Sensors, kind: str) -> Iterable[Sensor]:
    """The sensors of one kind; of a processor with many cores only the hottest core."""
    of_kind = [sensor for sensor in sensors.sensors if sensor.kind == kind]
    cores: dict[str, list[Sensor]] = {}
    for sensor in of_kind:
        if CORE.fullmatch(sensor.sensor):
            cores.setdefault(sensor.hw_id, []).append(sensor)
    many = {hw_id for hw_id, found in cores.items() if len(found) > MAX_CORES_SHOWN}
    for sensor in of_kind:
        if sensor.hw_id not in many or not CORE.fullmatch(sensor.sensor):
            yield sensor
    for hw_id in sorted(many):
        hottest = max(cores[hw_id], key=lambda sensor: sensor.value or 0.0)
        yield Sensor(kind, hw_id, hottest.hw_name, HOTTEST_CORE, hottest.value, hottest.limits)


def _labels(sensor: Sensor) -> tuple[str, ...]:
    return sensor.hw_id, sensor.hw_name, sensor.sensor


def _of(kind: str) -> Samples:
    return of_each(
        Sensors, lambda sensors: _shown(sensors, kind), _labels, lambda sensor: sensor.value
    )


def _family(name: str, help_text: str, kind: str) -> Family:
    return Family(name, help_text, Kind.GAUGE, ("hw_id", "hw_name", "sensor"), _of(kind))


def _limits(snapshot: Snapshot) -> Iterable[Sample]:
    sensors = snapshot.reading(Sensors)
    for sensor in _shown(sensors, "temperature") if sensors else ():
        for limit_type, limit in sensor.limits:
            yield (*_labels(sensor), limit_type), limit


FAMILIES = (
    _family("hw_temperature_celsius", "Temperature.", "temperature"),
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
