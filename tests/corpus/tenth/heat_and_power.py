"""Incidents of heat, fans and power."""

from tests.corpus.eighth.nodes import rtx_4090s
from tests.corpus.labels import incident
from tests.corpus.parts import sensor
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    HOUR,
    SPIN,
    database,
    file_server,
    inference_l40s,
    pod_of_h100,
    pod_of_h200,
)

HOT = (
    *("gpu_overheat", "gpu_memory_overheat", "gpu_thermal_throttle", "gpu_thermal_slowdown"),
    *("gpu_clock_low", "nccl_straggler", "gpu_unlike_siblings", "gpu_unlike_itself"),
)


@incident(
    "gpu_thermal_throttle@*62*|gpu_overheat@*62*",
    may=HOT,
    never=("gpu_power_brake", "gpu_lost", "node_inlet_hot"),
    unfit=False,
    node=pod_of_h100,
)
def cold_plate_has_lost_its_paste(node: Story) -> None:
    """One card is 25 degrees hotter than its siblings and slows down by itself, all afternoon."""
    node.wait(300, 60)
    for heat in (74.0, 82.0, 87.0):
        node.gpu("62", temperature_celsius=heat, thermal_margin_celsius=87.0 - heat)
        node.wait(60)
    node.gpu("62", temperature_celsius=90.0, thermal_margin_celsius=-3.0, power_draw_watts=310.0)
    node.gpu("62", memory_temperature_celsius=92.0, power_average_watts=310.0)
    node.gpu("62", throttle_active={"hw_slowdown": 1, "hw_thermal_slowdown": 1})
    node.gpu("62", clock_hertz={"graphics": 9.3e8, "sm": 9.3e8})
    node.wait(3 * HOUR, 60)


@incident(
    "gpu_power_brake@*",
    root="power_supply_alarm@*",
    may=("gpu_clock_low", "gpu_thermal_throttle", "board_too_hot", *SPIN),
    never=("gpu_overheat", "gpu_lost", "nvlink_down"),
    unfit=True,
    gone=("gpu_power_brake", "power_supply_alarm"),
    fit_at_end=True,
    node=pod_of_h100,
)
def feed_of_a_supply_is_lost_for_half_an_hour(node: Story) -> None:
    """One feed of the rack fails, the board brakes all cards until the feed is back."""
    place = {"hw_id": "psu-3", "hw_name": "pmbus"}
    node.put("Sensors", "sensors", psu3=sensor("power", "pin", 1380.0, alarm=False, **place))
    node.wait(300, 60)
    node.put("Sensors", "sensors", "psu3", value=0.0, alarm=True)
    node.gpus(
        throttle_active={"hw_slowdown": 1, "hw_power_brake_slowdown": 1},
        clock_hertz={"graphics": 4.95e8, "sm": 4.95e8},
        power_draw_watts=225.0,
        power_average_watts=225.0,
        temperature_celsius=45.0,
    )
    node.wait(1800, 30)
    node.put("Sensors", "sensors", "psu3", value=1380.0, alarm=False)
    node.gpus(
        throttle_active={"hw_slowdown": 0, "hw_power_brake_slowdown": 0},
        clock_hertz={"graphics": 1.755e9, "sm": 1.755e9},
        power_draw_watts=560.0,
        power_average_watts=560.0,
        temperature_celsius=62.0,
    )
    node.wait(HOUR, 60)


@incident(
    "fan_stopped@*",
    may=("board_too_hot", "node_inlet_hot", "cpu_thermal_throttle"),
    unfit=True,
    lasts=("fan_stopped",),
    fit_at_end=False,
    node=file_server,
)
def bearing_of_a_fan_is_worn(node: Story) -> None:
    """A fan slows down within minutes and stops; the others turn faster, disks stay cool."""
    node.wait(300, 60)
    for rpm in (6100.0, 3300.0, 1400.0):
        node.put("Sensors", "sensors", "fan2", value=rpm)
        node.wait(60)
    node.put("Sensors", "sensors", "fan2", value=0.0, alarm=True)
    for other in ("fan1", "fan3"):
        node.put("Sensors", "sensors", other, value=12_600.0)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_fan_stopped@*41*",
    may=HOT,
    never=("gpu_lost", "gpu_power_brake"),
    unfit=True,
    node=rtx_4090s,
)
def both_fans_of_a_card_stand_still(node: Story) -> None:
    """A fan controller dies under load: the card heats up to its limit and slows down."""
    node.wait(300, 60)
    node.gpu("41", fan_speed_percent={"0": 0, "1": 0})
    for heat, watts in ((78.0, 390.0), (86.0, 360.0), (90.0, 250.0), (91.0, 190.0)):
        node.gpu("41", temperature_celsius=heat, power_draw_watts=watts, power_average_watts=watts)
        node.wait(60)
    node.gpu("41", throttle_active={"sw_thermal_slowdown": 1})
    node.gpu("41", clock_hertz={"graphics": 1.2e9, "sm": 1.2e9})
    node.wait(HOUR, 60)


@incident(
    "node_inlet_hot@*",
    may=(*HOT, "cpu_thermal_throttle", "board_too_hot", "nvme_overheat", "nic_module_hot"),
    never=("fan_stopped", "gpu_lost", "power_supply_alarm"),
    unfit=False,
    gone=("node_inlet_hot",),
    fit_at_end=True,
    node=pod_of_h200,
)
def cooling_of_the_hall_fails_for_an_hour(node: Story) -> None:
    """The inlet rises to 46 degrees, all cards slow down by software; the chillers come back."""
    node.wait(300, 60)
    for inlet in (30.0, 37.0, 43.0, 46.0):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.gpus(temperature_celsius=50.0 + inlet * 0.8, thermal_margin_celsius=46.0 - inlet)
        node.wait(300, 30)
    for bus in node.bus_addresses:
        node.gpu(bus, throttle_active={"sw_thermal_slowdown": 1}, power_draw_watts=470.0)
        node.gpu(bus, clock_hertz={"graphics": 1.38e9, "sm": 1.38e9})
    node.wait(HOUR, 60)
    node.put("Sensors", "sensors", "inlet", value=25.0)
    for bus in node.bus_addresses:
        node.gpu(bus, throttle_active={"sw_thermal_slowdown": 0}, power_draw_watts=605.0)
        node.gpu(bus, clock_hertz={"graphics": 1.755e9, "sm": 1.755e9})
        node.gpu(bus, temperature_celsius=63.0, thermal_margin_celsius=24.0)
    node.wait(HOUR, 60)


@incident(
    "gpu_memory_overheat@*de*",
    may=HOT,
    never=("gpu_lost", "gpu_ecc_uncorrected", "fan_stopped"),
    unfit=False,
    node=pod_of_h200,
)
def memory_of_the_last_card_is_hot(node: Story) -> None:
    """The stacks of the card at the outlet are at 97 degrees, its core is at 74."""
    node.wait(300, 60)
    node.gpu("de", temperature_celsius=74.0, memory_temperature_celsius=90.0)
    node.wait(300, 60)
    node.gpu("de", memory_temperature_celsius=97.0, thermal_margin_celsius=13.0)
    node.wait(2 * HOUR, 60)


@incident(
    "cpu_thermal_throttle@*",
    may=("cpu_saturated", "board_too_hot", "machine_check_corrected_rate"),
    never=("machine_check", "fan_stopped"),
    unfit=False,
    node=database,
)
def heat_sink_of_a_socket_is_loose(node: Story) -> None:
    """The processors are throttled many times a minute, their clocks are at half."""
    node.wait(300, 60)
    node.rate(4.0, "CpuHealth", "thermal_throttles", "core")
    node.rate(2.5, "CpuHealth", "thermal_throttles", "package")
    node.put("CpuHealth", frequencies={"min": 8e8, "avg": 1.4e9, "max": 2.2e9})
    node.put("Cpu", usage_percent=71.0, used_cores=91.0, load1=96.0)
    for _ in range(12):
        node.log(
            "mce: CPU41: Core temperature above threshold, cpu clock throttled "
            "(total events = 1187)",
            "mce: CPU41: Package temperature above threshold, cpu clock throttled "
            "(total events = 9921)",
        )
        node.wait(300, 30)


@incident(
    "gpu_thermal_slowdown@*a1*",
    root="gpu_thermal_slowdown@*a1*|gpu_overheat@*a1*",
    may=HOT,
    never=("gpu_lost", "gpu_power_brake", "gpu_fan_stopped"),
    unfit=False,
    node=inference_l40s,
)
def cardboard_lies_before_a_board(node: Story) -> None:
    """A passive board gets no air: it holds 87 degrees by slowing down, for three hours."""
    node.wait(300, 60)
    node.gpu("a1", temperature_celsius=80.0, thermal_margin_celsius=7.0)
    node.wait(120, 30)
    node.gpu("a1", temperature_celsius=87.0, thermal_margin_celsius=0.0, power_draw_watts=171.0)
    node.gpu("a1", throttle_active={"sw_thermal_slowdown": 1}, power_average_watts=171.0)
    node.gpu("a1", clock_hertz={"graphics": 1.35e9, "sm": 1.35e9})
    node.wait(3 * HOUR, 60)


CASES = (
    cold_plate_has_lost_its_paste,
    feed_of_a_supply_is_lost_for_half_an_hour,
    bearing_of_a_fan_is_worn,
    both_fans_of_a_card_stand_still,
    cooling_of_the_hall_fails_for_an_hour,
    memory_of_the_last_card_is_hot,
    heat_sink_of_a_socket_is_loose,
    cardboard_lies_before_a_board,
)
