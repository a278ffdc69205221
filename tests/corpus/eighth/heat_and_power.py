"""Incidents of cooling and power."""

from tests.corpus.eighth.nodes import HOURS, cloud_t4, kubelet_node
from tests.corpus.fifth.nodes import a100s
from tests.corpus.labels import incident
from tests.corpus.parts import limits
from tests.corpus.seventh.nodes import HEAT, epyc, hgx
from tests.corpus.sixth.nodes import a6000s, h200s, raid_server
from tests.corpus.story import Story

COOLING = (*HEAT, "gpu_memory_overheat", "gpu_unlike_siblings")


@incident(
    "gpu_thermal_slowdown@GPU-ae|gpu_thermal_throttle@GPU-ae",
    root=("gpu_overheat@GPU-ae|gpu_thermal_slowdown@GPU-ae|gpu_thermal_throttle@GPU-ae",),
    may=COOLING,
    unfit=False,
    lasts=("gpu_thermal_slowdown@GPU-ae|gpu_thermal_throttle@GPU-ae",),
    fit_at_end=True,
    node=hgx,
)
def cold_plate_of_one_h100_sits_badly(node: Story) -> None:
    """One of eight is at 86 degrees and slowed down by software; its sisters are at 60."""
    node.wait(120)
    node.gpu("ae", temperature_celsius=86.0, thermal_margin_celsius=1.0)
    node.gpu("ae", memory_temperature_celsius=90.0, power_draw_watts=415.0)
    node.gpu("ae", throttle_active=limits("sw_thermal_slowdown"))
    node.gpu("ae", clock_hertz={"graphics": 1.17e9, "sm": 1.17e9})
    node.wait(HOURS, 60)


@incident(
    *(f"gpu_power_brake@GPU-{bus}" for bus in ("07", "0b", "48", "4c", "88", "8b", "c8", "cb")),
    root=("gpu_power_brake@*",),
    may=("gpu_clock_low", "power_supply_alarm"),
    unfit=True,
    gone=("gpu_power_brake",),
    fit_at_end=True,
    node=a100s,
)
def shelf_of_a_rack_brakes_a_whole_node(node: Story) -> None:
    """All eight cards are braked from outside for twenty-five minutes."""
    node.wait(120)
    node.gpus(throttle_active=limits("hw_power_brake_slowdown", "hw_slowdown"))
    node.gpus(clock_hertz={"graphics": 3.45e8, "sm": 3.45e8}, power_draw_watts=118.0)
    node.wait(1500, 30)
    node.gpus(throttle_active=limits(), power_draw_watts=335.0)
    node.gpus(clock_hertz={"graphics": 1.365e9, "sm": 1.365e9})
    node.wait(1800, 60)


@incident(
    "power_supply_alarm@*",
    unfit=True,
    gone=("power_supply_alarm",),
    fit_at_end=True,
    node=h200s,
)
def supply_of_a_gpu_server_is_changed_after_three_hours(node: Story) -> None:
    """One supply gives nothing and alarms; the other one carries all until it is changed."""
    node.wait(300, 60)
    node.put("Sensors", "sensors", "psu1", value=0.0, alarm=True)
    node.put("Sensors", "sensors", "psu2", value=2890.0)
    node.wait(3 * 3600, 180)
    node.put("Sensors", "sensors", "psu1", value=1460.0, alarm=False)
    node.put("Sensors", "sensors", "psu2", value=1440.0)
    node.wait(1800, 60)


@incident(
    "fan_stopped@*",
    may=("node_inlet_hot", "board_too_hot", "cpu_thermal_throttle", "nvme_overheat"),
    unfit=True,
    gone=("fan_stopped",),
    fit_at_end=True,
    node=raid_server,
)
def bearing_of_a_fan_wears_out(node: Story) -> None:
    """A fan turns ever slower, stands still with an alarm, and is changed the same day."""
    node.wait(120)
    for turns in (5200.0, 2900.0, 800.0):
        node.put("Sensors", "sensors", "fan1", value=turns)
        node.wait(300, 60)
    node.put("Sensors", "sensors", "fan1", value=0.0, alarm=True)
    node.wait(HOURS, 120)
    node.put("Sensors", "sensors", "fan1", value=8500.0, alarm=False)
    node.wait(1800, 60)


@incident(
    "gpu_overheat@GPU-1e|gpu_thermal_throttle@GPU-1e|gpu_thermal_slowdown@GPU-1e",
    may=COOLING,
    unfit=False,
    gone=HEAT,
    fit_at_end=True,
    node=cloud_t4,
)
def passive_t4_is_cooked_by_its_neighbours(node: Story) -> None:
    """A T4 is at 94 degrees and its hardware halves its clock, for forty minutes."""
    node.wait(120)
    node.gpu("1e", temperature_celsius=94.0, power_draw_watts=41.0)
    node.gpu("1e", throttle_active=limits("hw_thermal_slowdown", "hw_slowdown"))
    node.gpu("1e", clock_hertz={"graphics": 6e8, "sm": 6e8})
    node.wait(2400, 30)
    node.gpu("1e", temperature_celsius=71.0, power_draw_watts=58.0, throttle_active=limits())
    node.gpu("1e", clock_hertz={"graphics": 1.29e9, "sm": 1.29e9})
    node.wait(1800, 60)


@incident(
    "gpu_fan_stopped@GPU-41",
    may=COOLING,
    unfit=True,
    lasts=("gpu_fan_stopped@GPU-41",),
    fit_at_end=False,
    node=a6000s,
)
def fan_of_an_a6000_is_dead(node: Story) -> None:
    """The one fan of a card stands still while the card works, ever hotter."""
    node.wait(120)
    node.gpu("41", fan_speed_percent={"0": 0})
    for heat in (82.0, 89.0, 94.0):
        node.gpu("41", temperature_celsius=heat)
        node.wait(120, 30)
    node.gpu("41", throttle_active=limits("sw_thermal_slowdown"), power_draw_watts=120.0)
    node.gpu("41", clock_hertz={"graphics": 9e8, "sm": 9e8})
    node.wait(HOURS, 120)


@incident(
    "cpu_thermal_throttle@node",
    may=("board_too_hot",),
    unfit=False,
    gone=("cpu_thermal_throttle",),
    fit_at_end=True,
    node=kubelet_node,
)
def pump_of_a_processor_cooler_fails_for_an_hour(node: Story) -> None:
    """The processors are throttled many times a second while the inlet is cool."""
    node.wait(120)
    node.rate(20.0, "CpuHealth", "thermal_throttles", "package")
    node.rate(35.0, "CpuHealth", "thermal_throttles", "core")
    node.put("CpuHealth", frequencies={"min": 8e8, "avg": 1.1e9, "max": 1.3e9})
    for total in range(1000, 13_000, 1000):
        node.log(
            f"CPU12: Core temperature is above threshold, cpu clock is throttled (total events = "
            f"{total})",
            f"CPU76: Package temperature is above threshold, cpu clock is throttled (total events "
            f"= {total})",
        )
        node.wait(300, 30)
    node.rate(0.0, "CpuHealth", "thermal_throttles", "package")
    node.rate(0.0, "CpuHealth", "thermal_throttles", "core")
    node.put("CpuHealth", frequencies={"min": 8e8, "avg": 2.9e9, "max": 3.5e9})
    node.log("CPU76: Package temperature/speed normal")
    node.wait(3600, 60)


@incident(
    "node_inlet_hot@*",
    may=("board_too_hot", "cpu_thermal_throttle", "nvme_overheat"),
    unfit=False,
    gone=("node_inlet_hot",),
    fit_at_end=True,
    node=epyc,
)
def chiller_trips_on_a_summer_night(node: Story) -> None:
    """The inlet climbs to 46 degrees within forty minutes and falls again within the hour."""
    node.wait(120)
    for inlet in (30.0, 36.0, 41.0, 46.0):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.wait(600, 60)
    for inlet in (38.0, 29.0, 24.0):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.wait(1200, 60)


CASES = (
    cold_plate_of_one_h100_sits_badly,
    shelf_of_a_rack_brakes_a_whole_node,
    supply_of_a_gpu_server_is_changed_after_three_hours,
    bearing_of_a_fan_wears_out,
    passive_t4_is_cooked_by_its_neighbours,
    fan_of_an_a6000_is_dead,
    pump_of_a_processor_cooler_fails_for_an_hour,
    chiller_trips_on_a_summer_night,
)
