"""The collector of temperatures, fans, power supplies and energy of the board."""

from collections.abc import Iterable

from exporter.collector import About, Collector, files
from exporter.collectors.sensors.families import FAMILIES
from exporter.collectors.sensors.hwmon import HwmonReader
from exporter.collectors.sensors.rapl import RaplReader
from exporter.collectors.sensors.values import Sensor, Sensors
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.subject import CollectorSubject
from exporter.faults.values import Entity
from exporter.model.snapshot import Snapshot

_GETTERS, _NAMES = getters_of(Sensor), names_of(Sensor)


def _kind_of(sort: str, name: str) -> Kind:
    """Return the kind of component for the sensors of one sort."""

    def build(snapshot: Snapshot) -> Iterable[Entity]:
        reading = snapshot.reading(Sensors)
        for sensor in reading.sensors if reading else ():
            if sensor.kind == sort:
                key = (name, f"{sensor.hw_id}/{sensor.sensor}")
                title = f"{sensor.hw_name} {sensor.sensor}"
                yield Entity(key, title, FieldsOf(sensor, _GETTERS))

    return Kind(name, name, _NAMES, build, Sensors)


FAN = _kind_of("fan", "fan")
TEMPERATURE = _kind_of("temperature", "temperature")
POWER = _kind_of("power", "power_supply")


COLLECTOR = Collector(
    "sensors",
    sources=(
        files(
            "hwmon",
            "sensors",
            lambda ctx: HwmonReader(ctx.sys),
            about=About(
                "`/sys/class/hwmon`, `/sys/class/thermal`",
                "`hw_temperature_*`, `hw_fan_*`, `hw_voltage_*`, `hw_power_*`",
            ),
        ),
        files(
            "rapl",
            "sensors",
            lambda ctx: RaplReader(ctx.sys),
            about=About(
                "`/sys/class/powercap`",
                "`hw_energy_joules_total`",
                "root: the kernel shows energy to root only",
                without="absent",
            ),
        ),
    ),
    values=(Sensors,),
    families=FAMILIES,
    subject=CollectorSubject(kinds=(TEMPERATURE, FAN, POWER)),
)
