"""Sensors, fans and power supplies of the board as components of rules."""

from collections.abc import Callable, Iterable, Mapping

from exporter.collectors.sensors.values import Sensor, Sensors
from exporter.faults.entities.kind import FieldsOf, Getter, Kind, getters_of, names_of
from exporter.faults.values import Entity, FieldType, Type, Value
from exporter.model.snapshot import Snapshot


def _limit(name: str) -> Getter:
    def value_of(sensor: object) -> Value:
        return sensor.limit(name) if isinstance(sensor, Sensor) else None

    return value_of


_SENSOR_GETTERS: Mapping[str, Getter] = getters_of(Sensor) | {
    "high_degraded": _limit("high.degraded"),
    "high_critical": _limit("high.critical"),
}

_SENSOR_NAMES = names_of(Sensor) | {
    "high_degraded": FieldType(Type.NUMBER),
    "high_critical": FieldType(Type.NUMBER),
}


def _sensors(kind: str, name: str) -> Callable[[Snapshot], Iterable[Entity]]:
    def build(snapshot: Snapshot) -> Iterable[Entity]:
        reading = snapshot.reading(Sensors)
        for sensor in reading.sensors if reading else ():
            if sensor.kind == kind:
                key = (name, f"{sensor.hw_id}/{sensor.sensor}")
                title = f"{sensor.hw_name} {sensor.sensor}"
                yield Entity(key, title, FieldsOf(sensor, _SENSOR_GETTERS))

    return build


FAN = Kind("fan", "fan", _SENSOR_NAMES, _sensors("fan", "fan"), Sensors)

TEMPERATURE = Kind(
    "temperature", "temperature", _SENSOR_NAMES, _sensors("temperature", "temperature"), Sensors
)

POWER = Kind(
    "power_supply", "power_supply", _SENSOR_NAMES, _sensors("power", "power_supply"), Sensors
)
