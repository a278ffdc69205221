"""Sensors of the board."""

import pytest

from exporter.collectors.sensors.hwmon import HwmonReader
from exporter.collectors.sensors.values import Sensor
from exporter.reading.source import SourceAbsent
from tests.collectors.small_node import SmallNode

HWMON = "sys/class/hwmon"


def chip(node: SmallNode, number: int, name: str, **texts: object) -> None:
    """One chip with its files."""
    node.write_all(f"{HWMON}/hwmon{number}", {"name": name, **texts})


def look(node: SmallNode) -> tuple[Sensor, ...]:
    """All sensors of the node."""
    return HwmonReader(node.sys).read().value.sensors


def test_every_kind_is_in_base_units(node: SmallNode) -> None:
    """Degrees, turns per minute, volts and watts, whatever the chip counts in."""
    chip(
        node, 0, "nct6798",
        temp1_input=45500, fan2_input=8400, in0_input=12096, power1_average=1_812_000_000,
    )  # fmt: skip
    assert [(sensor.kind, sensor.sensor, sensor.value) for sensor in look(node)] == [
        ("fan", "fan2", 8400.0),
        ("voltage", "in0", 12.096),
        ("power", "power1", 1812.0),
        ("temperature", "temp1", 45.5),
    ]


def test_a_sensor_says_where_it_is_and_its_limits(node: SmallNode) -> None:
    """The device behind the chip is its stable name; hwmon numbers change with every boot."""
    chip(
        node, 3, "nvme",
        temp1_input=38850, temp1_label="Composite", temp1_max=81850, temp1_crit=84850,
        temp1_alarm=1,
    )  # fmt: skip
    node.link(f"{HWMON}/hwmon3/device", "sys/devices/pci0000:00/0000:00:01.0/nvme/nvme0")
    (sensor,) = look(node)
    assert (sensor.hw_id, sensor.hw_name, sensor.sensor) == ("nvme0", "nvme", "Composite")
    assert sensor.high_degraded == 81.85
    assert sensor.high_critical == 84.85
    assert sensor.alarm is True


@pytest.mark.parametrize("raw", ["-273150", "65535000", "x", "", "9" * 25])
def test_a_temperature_that_cannot_be_is_absent_with_a_reason(node: SmallNode, raw: str) -> None:
    """Chips answer all ones where no sensor is connected."""
    chip(node, 0, "odd", temp1_input=raw)
    reading = HwmonReader(node.sys).read()
    assert [sensor.value for sensor in reading.value.sensors] == [None]
    assert [missing.field for missing in reading.missing] == ["hwmon0 temp1"]


def test_the_temperature_of_a_broken_sensor_is_absent_with_a_reason(node: SmallNode) -> None:
    """An open diode reads as far too hot, and only its flag says so; a fan keeps its speed."""
    files = {"temp2_input": 127000, "temp2_crit": 100000, "fan1_input": 900, "fan1_fault": 1}
    chip(node, 0, "nct7802", **files, temp2_fault=1)
    reading = HwmonReader(node.sys).read()
    assert [(it.sensor, it.value, it.alarm) for it in reading.value.sensors] == [
        ("fan1", 900.0, True),
        ("temp2", None, True),
    ]
    assert [missing.field for missing in reading.missing] == ["hwmon0 temp2"]


@pytest.mark.parametrize(
    ("name", "alarms"),
    [("nct6779", [None, True]), ("w83627dhg", [None, True]), ("max31785", [True, True])],
)
def test_the_alarm_of_a_fan_counts_where_somebody_set_its_limit(
    node: SmallNode, name: str, alarms: list[bool | None]
) -> None:
    """On main boards the limits are what the BIOS left there; a fault is one everywhere."""
    chip(
        node, 0, name,
        fan1_input=1180, fan1_min=0, fan1_alarm=1,
        fan2_input=1230, fan2_alarm=1, fan2_fault=1,
    )  # fmt: skip
    assert [sensor.alarm for sensor in look(node)] == alarms


@pytest.mark.parametrize(
    ("name", "may_rest"), [("nct6779", [True, False]), ("thinkpad", [True, True])]
)
def test_a_fan_may_be_stopped_on_purpose(node: SmallNode, name: str, may_rest: list[bool]) -> None:
    """A main board switches it off, and says so; a laptop stops it while all is cool."""
    chip(node, 0, name, fan1_input=0, pwm1=0, fan2_input=0, pwm2=128)
    assert [sensor.may_rest for sensor in look(node)] == may_rest


def test_a_temperature_below_zero_is_one(node: SmallNode) -> None:
    """It may be cold."""
    chip(node, 0, "cold", temp1_input=-5000)
    assert look(node)[0].value == -5.0


def test_two_sensors_of_one_label_are_one(node: SmallNode) -> None:
    """The page has no series twice."""
    chip(node, 0, "odd", temp1_input=1000, temp1_label="T", temp2_input=2000, temp2_label="T")
    assert [sensor.value for sensor in look(node)] == [1.0]


def test_thermal_zones_speak_where_no_chip_does(node: SmallNode) -> None:
    """Boards without such chips have them; what a chip shows already is not shown twice."""
    for number, kind in enumerate(("x86_pkg_temp", "soc-thermal")):
        zone = f"sys/class/thermal/thermal_zone{number}"
        node.write_all(zone, {"type": kind, "temp": 50000})
        node.write_all(zone, {"trip_point_0_type": "critical", "trip_point_0_temp": 105000})
    chip(node, 0, "coretemp", temp1_input=51000, temp1_label="Package id 0")
    found = [(sensor.hw_id, sensor.sensor, sensor.value) for sensor in look(node)]
    assert found == [("hwmon0", "Package id 0", 51.0), ("thermal_zone1", "soc-thermal", 50.0)]
    assert look(node)[1].high_critical == 105.0


@pytest.mark.parametrize(
    ("kind", "state", "count"),
    [
        ("0x030000", "suspended", 0),
        ("0x120000", "suspended", 0),
        ("0x030000", "active", 1),
        ("0x020000", "suspended", 1),
    ],
)
def test_a_sleeping_gpu_is_not_woken(node: SmallNode, kind: str, state: str, count: int) -> None:
    """Reading a sensor of a suspended GPU would wake it: its chip is left out, by any driver."""
    chip(node, 0, "newgpu", temp1_input=45000)
    node.write_all(f"{HWMON}/hwmon0/device", {"class": f"{kind}\n"})
    node.write_all(f"{HWMON}/hwmon0/device/power", {"runtime_status": state})
    if not count:
        with pytest.raises(SourceAbsent):
            look(node)
        return
    assert len(look(node)) == count
