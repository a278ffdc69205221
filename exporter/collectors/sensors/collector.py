"""The collector of temperatures, fans, power supplies and energy of the board."""

from exporter.collector import About, Collector, files
from exporter.collectors.sensors.entities import FAN, POWER, TEMPERATURE
from exporter.collectors.sensors.families import FAMILIES
from exporter.collectors.sensors.hwmon import HwmonReader
from exporter.collectors.sensors.rapl import RaplReader
from exporter.collectors.sensors.values import Sensors
from exporter.faults.subject import CollectorSubject

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
