"""Incidents of heat, fans and power."""

from tests.corpus.eleventh.nodes import HOT, HOUR, SPIN
from tests.corpus.labels import incident
from tests.corpus.parts import sensor
from tests.corpus.seventh.nodes import rtx_3090s
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    backup_server,
    boot_server,
    box_of_b200,
    box_of_h100,
    box_of_h200,
    database_server,
    four_a100,
    four_l40s,
)


@incident(
    "gpu_thermal_throttle@*1b*|gpu_overheat@*1b*",
    may=HOT,
    never=("gpu_power_brake", "gpu_lost", "node_inlet_hot", "gpu_fan_stopped"),
    lasts=("gpu_thermal_throttle@*1b*|gpu_overheat@*1b*",),
    node=box_of_h200,
)
def paste_of_the_first_card_has_dried(node: Story) -> None:
    """One of eight cards is at 90 degrees in hardware slowdown under load, all the day long."""
    node.wait(600, 60)
    for heat in (70.0, 77.0, 83.0, 87.0):
        node.gpu("1b", temperature_celsius=heat, thermal_margin_celsius=87.0 - heat)
        node.gpu("1b", memory_temperature_celsius=heat + 2.0)
        node.wait(120)
    node.gpu("1b", temperature_celsius=90.0, thermal_margin_celsius=-3.0)
    node.gpu("1b", memory_temperature_celsius=92.0, power_draw_watts=352.0)
    node.gpu("1b", power_average_watts=352.0, clock_hertz={"graphics": 9.15e8, "sm": 9.15e8})
    node.gpu("1b", throttle_active={"hw_slowdown": 1, "hw_thermal_slowdown": 1})
    node.wait(4 * HOUR, 60)


@incident(
    "gpu_thermal_slowdown@*43*|gpu_overheat@*43*|gpu_thermal_throttle@*43*",
    may=HOT,
    never=("gpu_lost", "gpu_power_brake", "gpu_fan_stopped", "node_inlet_hot"),
    node=rtx_3090s,
)
def card_between_two_others_is_slowed_down(node: Story) -> None:
    """A card between two others is slowed down by its driver at 93 degrees, fans at full speed."""
    node.wait(600, 60)
    for heat in (79.0, 86.0, 91.0):
        node.gpu("43", temperature_celsius=heat, fan_speed_percent={"0": 92, "1": 92})
        node.wait(120)
    node.gpu("43", temperature_celsius=93.0, fan_speed_percent={"0": 100, "1": 100})
    node.gpu("43", throttle_active={"sw_thermal_slowdown": 1}, power_draw_watts=211.0)
    node.gpu("43", power_average_watts=211.0, clock_hertz={"graphics": 1.05e9, "sm": 1.05e9})
    node.wait(4 * HOUR, 60)


@incident(
    "gpu_memory_overheat@*8a*",
    may=HOT,
    never=("gpu_lost", "gpu_power_brake", "gpu_ecc_uncorrected", "node_inlet_hot"),
    node=four_a100,
)
def stacks_of_a_card_are_hotter_than_its_chip(node: Story) -> None:
    """The memory of an A100 has 99 degrees for three hours, four above its limit, chip at 71."""
    node.wait(900, 60)
    for heat in (78.0, 87.0, 93.0, 97.0):
        node.gpu("8a", memory_temperature_celsius=heat, temperature_celsius=heat - 25.0)
        node.wait(180, 60)
    node.gpu("8a", memory_temperature_celsius=99.0, temperature_celsius=71.0)
    node.wait(3 * HOUR, 60)


@incident(
    *("power_supply_alarm@*", "gpu_power_brake@*"),
    root="power_supply_alarm@*",
    may=("gpu_clock_low", "gpu_thermal_throttle", *SPIN),
    never=("gpu_overheat", "gpu_lost", "nvlink_down"),
    unfit=True,
    node=box_of_h100,
)
def half_of_the_supplies_have_no_mains(node: Story) -> None:
    """A feed of the rack fails: three of six supplies are dead, and all cards are braked."""
    node.wait(1200, 60)
    for number in (1, 2, 3):
        node.put("Sensors", "sensors", f"psu{number}", value=0.0, alarm=True)
    for number in (4, 5, 6):
        node.put("Sensors", "sensors", f"psu{number}", value=1720.0)
    node.gpus(
        throttle_active={"hw_slowdown": 1, "hw_power_brake_slowdown": 1},
        clock_hertz={"graphics": 3.9e8, "sm": 3.9e8},
        power_draw_watts=190.0,
        power_average_watts=190.0,
        temperature_celsius=42.0,
        thermal_margin_celsius=45.0,
        memory_temperature_celsius=49.0,
    )
    node.wait(3 * HOUR, 60)


@incident(
    "power_supply_alarm@*",
    unfit=True,
    never=("fan_stopped", "disk_io_errors"),
    gone=("power_supply_alarm",),
    fit_at_end=True,
    node=backup_server,
)
def cord_is_pulled_while_a_neighbour_is_mounted(node: Story) -> None:
    """One of two supplies has no mains for fifty minutes, until its cord is found and plugged."""
    node.wait(900, 60)
    node.put("Sensors", "sensors", "psu2", value=0.0, alarm=True)
    node.put("Sensors", "sensors", "psu1", value=655.0)
    node.wait(3000, 60)
    for number in (1, 2):
        node.put("Sensors", "sensors", f"psu{number}", value=340.0, alarm=False)
    node.wait(2 * HOUR, 60)


@incident(
    "fan_stopped@*",
    may=("board_too_hot", "node_inlet_hot", "cpu_thermal_throttle", *HOT),
    never=("gpu_lost", "power_supply_alarm", "gpu_fan_stopped"),
    unfit=True,
    lasts=("fan_stopped@*",),
    fit_at_end=False,
    node=four_l40s,
)
def third_fan_of_a_wall_stands(node: Story) -> None:
    """A fan before the boards stops from one minute to the next; the boards get eight degrees."""
    node.wait(1500, 60)
    node.put("Sensors", "sensors", "fan3", value=0.0, alarm=True)
    for other in ("fan1", "fan2"):
        node.put("Sensors", "sensors", other, value=12_100.0)
    node.gpus(temperature_celsius=74.0)
    node.wait(4 * HOUR, 60)


@incident(
    "node_inlet_hot@*",
    may=(*HOT, "cpu_thermal_throttle", "board_too_hot", "nvme_overheat", "nic_module_hot"),
    never=("fan_stopped", "gpu_lost", "power_supply_alarm"),
    gone=("node_inlet_hot",),
    node=box_of_b200,
)
def chiller_of_a_hall_fails_for_an_hour(node: Story) -> None:
    """The air before a node climbs to 46 degrees and its cards to 85; then the cold returns."""
    node.wait(900, 60)
    for inlet in (30.0, 36.0, 41.0, 44.0):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.gpus(temperature_celsius=40.0 + inlet, thermal_margin_celsius=47.0 - inlet)
        node.gpus(memory_temperature_celsius=46.0 + inlet)
        node.wait(240, 60)
    node.put("Sensors", "sensors", "inlet", value=46.0)
    node.gpus(temperature_celsius=85.0, thermal_margin_celsius=2.0)
    node.wait(HOUR, 60)
    for inlet in (38.0, 31.0, 25.0):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.gpus(temperature_celsius=36.0 + inlet, thermal_margin_celsius=51.0 - inlet)
        node.gpus(memory_temperature_celsius=42.0 + inlet)
        node.wait(300, 60)
    node.wait(2 * HOUR, 60)


@incident(
    "cpu_thermal_throttle@*",
    may=("cpu_saturated", "board_too_hot", "node_inlet_hot"),
    never=("machine_check", "fan_stopped", "power_supply_alarm"),
    unfit=False,
    node=database_server,
)
def second_socket_is_throttled_by_each_batch(node: Story) -> None:
    """The second processor of a server is throttled by each batch, for five hours."""
    node.put("Cpu", usage_percent=71.0, used_cores=91.0, load1=94.0, load5=90.0)
    node.put("CpuHealth", frequencies={"min": 8e8, "avg": 1.9e9, "max": 3.6e9})
    node.wait(600, 60)
    node.rate(6.0, "CpuHealth", "thermal_throttles", "core")
    node.rate(4.0, "CpuHealth", "thermal_throttles", "package")
    for number in range(30):
        node.log(
            f"CPU{33 + number}: Core temperature is above threshold, cpu clock is throttled "
            f"(total events = {411 + 1700 * number})",
            f"CPU{33 + number}: Package temperature is above threshold, cpu clock is throttled "
            f"(total events = {702 + 2300 * number})",
        )
        node.wait(600, 60)


@incident(
    "board_too_hot@*",
    may=("cpu_thermal_throttle", "node_inlet_hot", "nic_module_hot"),
    never=("fan_stopped", "power_supply_alarm", "disk_io_errors"),
    unfit=True,
    gone=("board_too_hot",),
    fit_at_end=True,
    node=boot_server,
)
def bridge_of_a_board_is_over_its_limit(node: Story) -> None:
    """A sensor of the board passes its critical limit for twenty minutes, until a cover is on."""
    limits = {"high.degraded": 85, "high.critical": 95}
    place = {"hw_id": "ipmi-0", "hw_name": "ipmi", "limits": limits, "alarm": False}
    node.put("Sensors", "sensors", soc=sensor("temperature", "SOC VRM Temp", 63.0, **place))
    node.wait(900, 60)
    for heat in (76.0, 88.0, 94.0):
        node.put("Sensors", "sensors", "soc", value=heat)
        node.wait(120, 30)
    node.put("Sensors", "sensors", "soc", value=99.0, alarm=True)
    node.wait(1200, 30)
    node.put("Sensors", "sensors", "soc", value=67.0, alarm=False)
    node.wait(2 * HOUR, 60)


CASES = (
    paste_of_the_first_card_has_dried,
    card_between_two_others_is_slowed_down,
    stacks_of_a_card_are_hotter_than_its_chip,
    half_of_the_supplies_have_no_mains,
    cord_is_pulled_while_a_neighbour_is_mounted,
    third_fan_of_a_wall_stands,
    chiller_of_a_hall_fails_for_an_hour,
    second_socket_is_throttled_by_each_batch,
    bridge_of_a_board_is_over_its_limit,
)
