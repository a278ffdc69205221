"""Incidents of heat, fans and power."""

from tests.corpus.eleventh.nodes import HOT, HOUR, SPIN
from tests.corpus.labels import incident
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    desk_of_5090,
    eight_a100,
    new_h100,
    osd_server,
    some_b200,
)


@incident(
    "gpu_thermal_throttle@*|gpu_overheat@*|gpu_thermal_slowdown@*",
    may=HOT,
    never=("gpu_power_brake", "gpu_lost", "fan_stopped", "gpu_fan_stopped"),
    node=some_b200,
)
def pump_of_a_loop_runs_too_slowly(node: Story) -> None:
    """Cold plates get too little water: all eight cards climb to 89 degrees and are throttled."""
    node.wait(900, 60)
    for heat in (66.0, 74.0, 81.0, 86.0):
        node.gpus(temperature_celsius=heat, thermal_margin_celsius=87.0 - heat)
        node.gpus(memory_temperature_celsius=heat + 2.0)
        node.wait(240, 60)
    node.gpus(
        temperature_celsius=89.0,
        thermal_margin_celsius=-2.0,
        memory_temperature_celsius=91.0,
        throttle_active={"hw_slowdown": 1, "hw_thermal_slowdown": 1},
        clock_hertz={"graphics": 8.7e8, "sm": 8.7e8},
        power_draw_watts=512.0,
        power_average_watts=512.0,
    )
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_clock_low@*a8*",
    may=(*HOT, *SPIN),
    never=("gpu_lost", "gpu_power_brake", "gpu_ecc_uncorrected", "gpu_pcie_link_degraded"),
    unfit=False,
    node=new_h100,
)
def one_card_computes_at_half_the_clock(node: Story) -> None:
    """One of eight cards stays at 885 MHz under load, and the driver gives no reason for it."""
    node.wait(900, 60)
    node.gpu("a8", clock_hertz={"graphics": 8.85e8, "sm": 8.85e8}, temperature_celsius=47.0)
    node.gpu("a8", power_draw_watts=331.0, power_average_watts=331.0, utilization_percent=100.0)
    node.gpu("a8", thermal_margin_celsius=40.0, memory_temperature_celsius=56.0)
    for low in node.bus_addresses:
        if low != "a8":
            node.gpu(low, power_draw_watts=402.0, power_average_watts=402.0)
            node.gpu(low, utilization_percent=100.0, memory_controller_utilization_percent=24.0)
    node.wait(5 * HOUR, 150)


@incident(
    "gpu_fan_stopped@*01*",
    root="gpu_fan_stopped@*01*",
    may=(*HOT, "gpu_unlike_itself"),
    never=("gpu_lost", "fan_stopped", "gpu_power_brake"),
    unfit=True,
    fit_at_end=False,
    node=desk_of_5090,
)
def cable_hangs_into_a_fan_of_a_desk(node: Story) -> None:
    """One of two fans of a card stands still under load; the other one cannot keep it cool."""
    node.wait(1200, 120)
    node.gpu("01", fan_speed_percent={"0": 0, "1": 74})
    for heat in (72.0, 79.0, 85.0, 88.0):
        node.gpu("01", temperature_celsius=heat, fan_speed_percent={"0": 0, "1": 100})
        node.wait(180, 60)
    node.gpu("01", temperature_celsius=90.0, throttle_active={"sw_thermal_slowdown": 1})
    node.gpu("01", power_draw_watts=352.0, power_average_watts=352.0)
    node.gpu("01", clock_hertz={"graphics": 1.86e9, "sm": 1.86e9})
    node.wait(4 * HOUR, 150)


@incident(
    "fan_stopped@*",
    may=("board_too_hot", "node_inlet_hot", "cpu_thermal_throttle", "nvme_overheat"),
    never=("power_supply_alarm", "disk_io_errors", "disk_offline"),
    unfit=True,
    gone=("fan_stopped",),
    fit_at_end=True,
    node=osd_server,
)
def fan_of_a_store_is_exchanged_while_it_runs(node: Story) -> None:
    """A fan of a server of disks slows down and stops; two hours later a new one is put in."""
    node.wait(1800, 120)
    for turns in (5200.0, 2100.0, 700.0):
        node.put("Sensors", "sensors", "fan2", value=turns)
        node.wait(120, 60)
    node.put("Sensors", "sensors", "fan2", value=0.0, alarm=True)
    for other in ("fan1", "fan3"):
        node.put("Sensors", "sensors", other, value=13_100.0)
    node.wait(2 * HOUR, 120)
    for fan in ("fan1", "fan2", "fan3"):
        node.put("Sensors", "sensors", fan, value=8300.0, alarm=False)
    node.wait(HOUR, 120)


@incident(
    *("power_supply_alarm@*", "gpu_power_brake@*"),
    root="power_supply_alarm@*|gpu_power_brake@*",
    may=("gpu_clock_low", "gpu_thermal_throttle", *SPIN),
    never=("gpu_overheat", "gpu_lost", "nvlink_down"),
    unfit=True,
    gone=("gpu_power_brake",),
    fit_at_end=True,
    node=eight_a100,
)
def breaker_of_one_feed_trips_for_half_an_hour(node: Story) -> None:
    """Two of four supplies lose their mains, all cards are braked until the breaker is closed."""
    node.wait(1800, 120)
    for number in (2, 4):
        node.put("Sensors", "sensors", f"psu{number}", value=0.0, alarm=True)
    for number in (1, 3):
        node.put("Sensors", "sensors", f"psu{number}", value=1290.0)
    node.gpus(
        throttle_active={"hw_slowdown": 1, "hw_power_brake_slowdown": 1},
        clock_hertz={"graphics": 2.85e8, "sm": 2.85e8},
        power_draw_watts=104.0,
        power_average_watts=104.0,
        temperature_celsius=40.0,
        memory_temperature_celsius=48.0,
    )
    node.wait(1800, 60)
    for number in (1, 2, 3, 4):
        node.put("Sensors", "sensors", f"psu{number}", value=1120.0, alarm=False)
    node.gpus(
        throttle_active={"hw_slowdown": 0, "hw_power_brake_slowdown": 0},
        clock_hertz={"graphics": 1.38e9, "sm": 1.38e9},
        power_draw_watts=341.0,
        power_average_watts=341.0,
        temperature_celsius=55.0,
        memory_temperature_celsius=66.0,
    )
    node.wait(2 * HOUR, 120)


CASES = (
    pump_of_a_loop_runs_too_slowly,
    one_card_computes_at_half_the_clock,
    cable_hangs_into_a_fan_of_a_desk,
    fan_of_a_store_is_exchanged_while_it_runs,
    breaker_of_one_feed_trips_for_half_an_hour,
)
