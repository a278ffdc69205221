"""Incidents of cooling, power and clocks."""

from tests.corpus.labels import incident
from tests.corpus.parts import limits, sensor
from tests.corpus.seventh.nodes import (
    EIGHT,
    HEAT,
    a10s,
    disk_shelf,
    epyc,
    hgx,
    pro_6000s,
    rtx_3090s,
)
from tests.corpus.story import Story

HOT = ("gpu_overheat", "gpu_thermal_throttle", "gpu_thermal_slowdown")
COOLING = (*HEAT, "gpu_memory_overheat", "cpu_thermal_throttle", "nvme_overheat")


@incident(
    "node_inlet_hot@*",
    *(f"gpu_thermal_throttle@GPU-{bus}|gpu_thermal_slowdown@GPU-{bus}" for bus in EIGHT),
    root=("node_inlet_hot@*",),
    may=COOLING,
    unfit=False,
    gone=("node_inlet_hot", *HOT),
    fit_at_end=True,
    node=hgx,
)
def air_conditioner_of_a_row_stops(node: Story) -> None:
    """The inlet goes from 24 to 44 degrees within half an hour; all cards are slowed down."""
    node.wait(120, 30)
    for inlet, chip in ((31.0, 70.0), (37.0, 77.0), (42.0, 83.0)):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.gpus(temperature_celsius=chip, thermal_margin_celsius=87.0 - chip)
        node.wait(420, 30)
    node.put("Sensors", "sensors", "inlet", value=44.0)
    node.gpus(temperature_celsius=86.0, thermal_margin_celsius=1.0)
    node.gpus(throttle_active=limits("sw_thermal_slowdown"), power_draw_watts=455.0)
    node.gpus(clock_hertz={"graphics": 1.32e9, "sm": 1.32e9})
    node.wait(1500, 60)
    node.put("Sensors", "sensors", "inlet", value=25.0)
    node.gpus(temperature_celsius=63.0, thermal_margin_celsius=24.0, throttle_active=limits())
    node.gpus(clock_hertz={"graphics": 1.755e9, "sm": 1.755e9}, power_draw_watts=560.0)
    node.wait(1800, 60)


@incident(
    *("gpu_overheat@GPU-43", "gpu_thermal_throttle@GPU-43|gpu_thermal_slowdown@GPU-43"),
    root=("gpu_overheat@GPU-43|gpu_thermal_throttle@GPU-43|gpu_thermal_slowdown@GPU-43",),
    may=HEAT,
    unfit=False,
    fit_at_end=True,
    node=rtx_3090s,
)
def middle_card_of_a_tower_gets_no_air(node: Story) -> None:
    """The card between two others is at its limit at full fans and runs at half of its clock."""
    node.wait(120)
    node.gpu("43", temperature_celsius=95.0, fan_speed_percent={"0": 100, "1": 100})
    node.gpu("43", throttle_active=limits("hw_thermal_slowdown", "hw_slowdown"))
    node.gpu("43", clock_hertz={"graphics": 8.1e8, "sm": 8.1e8}, power_draw_watts=205.0)
    node.wait(1800, 30)


@incident(
    "fan_stopped@*",
    may=("node_inlet_hot", "board_too_hot"),
    unfit=True,
    lasts=("fan_stopped",),
    fit_at_end=False,
    node=epyc,
)
def one_fan_of_a_server_stands_still(node: Story) -> None:
    """One of three fans turns no more; the chip of the board raises its alarm."""
    node.wait(120)
    node.put("Sensors", "sensors", "fan3", value=0.0, alarm=True)
    for name in ("fan1", "fan2"):
        node.put("Sensors", "sensors", name, value=13_200.0)
    node.wait(2400, 60)


@incident(
    "power_supply_alarm@*",
    unfit=True,
    lasts=("power_supply_alarm",),
    fit_at_end=False,
    node=disk_shelf,
)
def supply_of_a_storage_server_dies(node: Story) -> None:
    """One of two supplies gives nothing and raises its alarm for good."""
    node.wait(120)
    node.put("Sensors", "sensors", "psu2", value=0.0, alarm=True)
    node.put("Sensors", "sensors", "psu1", value=790.0)
    node.wait(2 * 3600, 120)


@incident(
    *("gpu_power_brake@GPU-25", "gpu_power_brake@GPU-43"),
    root=("gpu_power_brake@*",),
    may=("gpu_clock_low",),
    gone=("gpu_power_brake",),
    fit_at_end=True,
    node=pro_6000s,
)
def one_shelf_of_supplies_brakes_its_cards(node: Story) -> None:
    """Two of four cards are braked from outside for twelve minutes."""
    node.wait(120)
    for bus in ("25", "43"):
        node.gpu(bus, throttle_active=limits("hw_power_brake_slowdown", "hw_slowdown"))
        node.gpu(bus, clock_hertz={"graphics": 7.2e8, "sm": 7.2e8}, power_draw_watts=240.0)
    node.wait(720, 30)
    for bus in ("25", "43"):
        node.gpu(bus, throttle_active=limits(), power_draw_watts=505.0)
        node.gpu(bus, clock_hertz={"graphics": 2.28e9, "sm": 2.28e9})
    node.wait(1800, 60)


@incident(
    "gpu_clock_low@GPU-c2",
    unfit=False,
    gone=("gpu_clock_low",),
    fit_at_end=True,
    node=a10s,
)
def card_is_stuck_at_its_lowest_clock(node: Story) -> None:
    """One busy card of four stays at 210 MHz without a reason until its driver is set right."""
    node.wait(300, 60)
    node.gpu("c2", clock_hertz={"graphics": 2.1e8, "sm": 2.1e8}, power_draw_watts=51.0)
    node.gpu("c2", utilization_percent=100.0)
    node.wait(2400, 60)
    node.gpu("c2", clock_hertz={"graphics": 1.56e9, "sm": 1.56e9}, power_draw_watts=132.0)
    node.wait(1800, 60)


@incident(
    "nvme_overheat@nvme0n1",
    may=("nvme_warns", "disk_slow"),
    gone=("nvme_overheat",),
    fit_at_end=True,
    node=epyc,
)
def disk_behind_a_blanked_slot_is_hot(node: Story) -> None:
    """A disk is three degrees above its warning temperature for half an hour; then it cools."""
    place = {"hw_id": "nvme0", "hw_name": "nvme"}
    composite = sensor("temperature", "Composite", 55.0, **place)
    composite["limits"] = {"high.degraded": 70.0, "high.critical": 80.0}
    node.put("Sensors", "sensors", nvme0=composite)
    node.wait(120)
    node.put("Sensors", "sensors", "nvme0", value=73.0)
    node.put("NvmeHealths", "controllers", "nvme0", temperature_celsius=73.0)
    node.wait(1800, 60)
    node.put("Sensors", "sensors", "nvme0", value=52.0)
    node.put("NvmeHealths", "controllers", "nvme0", temperature_celsius=52.0)
    node.wait(1800, 60)


@incident(
    *("node_inlet_hot@*", "cpu_thermal_throttle@node"),
    may=("board_too_hot",),
    unfit=False,
    gone=("node_inlet_hot", "cpu_thermal_throttle"),
    fit_at_end=True,
    node=disk_shelf,
)
def door_of_a_cold_aisle_stands_open(node: Story) -> None:
    """The inlet is at 43 degrees for an hour, and processors are slowed down again and again."""
    node.wait(120)
    node.put("Sensors", "sensors", "inlet", value=43.0)
    node.wait(600, 60)
    node.rate(4.0, "CpuHealth", "thermal_throttles", "package")
    node.rate(4.0, "CpuHealth", "thermal_throttles", "core")
    for total in range(40, 60):
        node.log(
            f"CPU{total}: Package temperature is above threshold, cpu clock is throttled (total "
            f"events = {total})"
        )
        node.wait(120, 30)
    node.rate(0.0, "CpuHealth", "thermal_throttles", "package")
    node.rate(0.0, "CpuHealth", "thermal_throttles", "core")
    node.put("Sensors", "sensors", "inlet", value=23.0)
    node.wait(3600, 60)


CASES = (
    air_conditioner_of_a_row_stops,
    middle_card_of_a_tower_gets_no_air,
    one_fan_of_a_server_stands_still,
    supply_of_a_storage_server_dies,
    one_shelf_of_supplies_brakes_its_cards,
    card_is_stuck_at_its_lowest_clock,
    disk_behind_a_blanked_slot_is_hot,
    door_of_a_cold_aisle_stands_open,
)
