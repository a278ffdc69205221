"""Incidents of heat, fans and power."""

from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    cluster_worker,
    disk_server,
    pair_of_a100,
    tower_of_a6000,
)
from tests.corpus.eleventh.nodes import HOT, HOUR, SPIN
from tests.corpus.labels import incident
from tests.corpus.parts import sensor
from tests.corpus.story import Story


@incident(
    "gpu_thermal_throttle@*93*|gpu_overheat@*93*",
    may=HOT,
    never=("gpu_power_brake", "gpu_lost", "node_inlet_hot", "gpu_fan_stopped"),
    lasts=("gpu_thermal_throttle@*93*|gpu_overheat@*93*",),
    node=chassis_of_h100,
)
def pipe_of_a_cooler_is_dry(node: Story) -> None:
    """One card climbs to 89 degrees within minutes and halves its clock, its siblings are at 62."""
    node.wait(900, 60)
    for heat in (71.0, 79.0, 85.0, 88.0):
        node.gpu("93", temperature_celsius=heat, thermal_margin_celsius=87.0 - heat)
        node.gpu("93", memory_temperature_celsius=heat + 3.0)
        node.wait(90)
    node.gpu("93", temperature_celsius=89.0, thermal_margin_celsius=-2.0)
    node.gpu("93", memory_temperature_celsius=91.0, power_draw_watts=331.0)
    node.gpu("93", power_average_watts=331.0, clock_hertz={"graphics": 8.85e8, "sm": 8.85e8})
    node.gpu("93", throttle_active={"hw_slowdown": 1, "hw_thermal_slowdown": 1})
    node.wait(3 * HOUR, 60)


@incident(
    "power_supply_alarm@*",
    may=("gpu_power_brake", "gpu_clock_low"),
    never=("gpu_overheat", "gpu_lost", "fan_stopped"),
    unfit=True,
    gone=("power_supply_alarm",),
    fit_at_end=True,
    node=chassis_of_h100,
)
def fourth_supply_of_six_burns_out(node: Story) -> None:
    """One of six supplies is dead; the others carry the node until it is exchanged."""
    node.wait(1200, 60)
    node.put("Sensors", "sensors", "psu4", value=0.0, alarm=True)
    for number in (1, 2, 3, 5, 6):
        node.put("Sensors", "sensors", f"psu{number}", value=1840.0)
    node.wait(3 * HOUR, 60)
    for number in range(1, 7):
        node.put("Sensors", "sensors", f"psu{number}", value=1530.0, alarm=False)
    node.wait(HOUR, 60)


@incident(
    "gpu_power_brake@*",
    may=("gpu_clock_low", "gpu_thermal_throttle", *SPIN),
    never=("gpu_overheat", "gpu_lost", "power_supply_alarm", "nvlink_down"),
    unfit=True,
    gone=("gpu_power_brake",),
    fit_at_end=True,
    node=chassis_of_h200,
)
def row_of_racks_is_over_its_limit(node: Story) -> None:
    """The brake of all eight cards is pulled for forty minutes: the row draws too much."""
    node.wait(900, 60)
    node.gpus(
        throttle_active={"hw_slowdown": 1, "hw_power_brake_slowdown": 1},
        clock_hertz={"graphics": 4.05e8, "sm": 4.05e8},
        power_draw_watts=205.0,
        power_average_watts=205.0,
        temperature_celsius=44.0,
        thermal_margin_celsius=43.0,
    )
    node.wait(2400, 30)
    node.gpus(
        throttle_active={"hw_slowdown": 0, "hw_power_brake_slowdown": 0},
        clock_hertz={"graphics": 1.755e9, "sm": 1.755e9},
        power_draw_watts=590.0,
        power_average_watts=590.0,
        temperature_celsius=62.0,
        thermal_margin_celsius=25.0,
    )
    node.wait(2 * HOUR, 60)


@incident(
    "gpu_fan_stopped@*af*",
    may=HOT,
    never=("gpu_lost", "gpu_power_brake", "node_inlet_hot"),
    unfit=True,
    lasts=("gpu_fan_stopped@*af*",),
    fit_at_end=False,
    node=tower_of_a6000,
)
def cable_lies_in_the_blower_of_a_board(node: Story) -> None:
    """The blower of one board stands still under load: 93 degrees, half of the clock, for hours."""
    node.wait(600, 60)
    node.gpu("af", fan_speed_percent={"0": 0})
    for heat, watts in ((84.0, 270.0), (90.0, 232.0), (92.0, 164.0)):
        node.gpu("af", temperature_celsius=heat, power_draw_watts=watts, power_average_watts=watts)
        node.wait(90)
    node.gpu("af", temperature_celsius=93.0, throttle_active={"sw_thermal_slowdown": 1})
    node.gpu("af", clock_hertz={"graphics": 8.4e8, "sm": 8.4e8}, power_draw_watts=121.0)
    node.gpu("af", power_average_watts=121.0)
    node.wait(3 * HOUR, 60)


@incident(
    "nvme_overheat@nvme1*",
    may=("disk_slow", "nvme_warns", "io_stall", "disk_stalled", "process_waits_for_storage"),
    never=("nvme_controller_failed", "disk_io_errors", "node_inlet_hot"),
    gone=("nvme_overheat",),
    fit_at_end=True,
    node=cluster_worker,
)
def disk_without_a_heat_sink_writes_images(node: Story) -> None:
    """A disk of images is at 79 degrees under an hour of unpacking, and cools down after it."""
    place = {
        "kind": "temperature",
        "hw_id": "nvme1",
        "hw_name": "nvme",
        "sensor": "Composite",
        "limits": {"high.degraded": 74.85, "high.critical": 84.85},
    }
    node.put("Sensors", "sensors", nvme1={**place, "value": 58.0})
    node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=58.0)
    node.wait(600, 60)
    disk = ("Disks", "disks", "nvme1n1")
    node.rate(1.4e9, *disk, "written_bytes")
    node.rate(9000.0, *disk, "writes_completed")
    for heat, secs in ((66.0, 180), (72.0, 180), (79.0, 3000)):
        node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=heat)
        node.put("Sensors", "sensors", "nvme1", value=heat)
        node.wait(secs, 60)
    node.rate(0.0, *disk, "written_bytes")
    node.rate(0.0, *disk, "writes_completed")
    for heat in (68.0, 59.0, 49.0):
        node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=heat)
        node.put("Sensors", "sensors", "nvme1", value=heat)
        node.wait(180, 60)
    node.wait(HOUR, 60)


@incident(
    "nvswitch_hot@*",
    may=("nvswitch_warning", "nvlink_errors", "gpu_unlike_siblings", *SPIN),
    never=("gpu_lost", "nvswitch_fatal", "gpu_power_brake"),
    unfit=False,
    node=chassis_of_h100,
)
def switch_behind_the_cables_is_warm(node: Story) -> None:
    """An NVSwitch passes its warning of heat three times in an afternoon and slows its links."""
    switch = "nvidia-nvswitch2: SXid (PCI:0000:07:00.0)"
    node.wait(600, 60)
    for _ in range(3):
        node.log(
            f"{switch}: 10004, Thermal Slowdown Engaged | Temp higher than WARN Threshold",
            f"{switch}: 10004, Thermal Slowdown Engaged | Links Thermal Mode ON",
        )
        node.wait(1500, 60)
        node.log(
            f"{switch}: 10005, Thermal Slowdown Disengaged | Links Thermal Mode OFF",
        )
        node.wait(1800, 60)
    node.wait(HOUR, 60)


@incident(
    "cpu_thermal_throttle@*",
    may=("cpu_saturated", "board_too_hot", "node_inlet_hot"),
    never=("machine_check", "fan_stopped"),
    unfit=False,
    node=disk_server,
)
def duct_of_air_was_left_out(node: Story) -> None:
    """A server was opened in the morning: under load its processors are throttled all day long."""
    node.put("Host", uptime_secs=1900.0)
    node.put("Cpu", usage_percent=83.0, used_cores=106.0, load1=109.0, load5=104.0)
    node.put("CpuHealth", frequencies={"min": 8e8, "avg": 1.55e9, "max": 2.1e9})
    node.rate(9.0, "CpuHealth", "thermal_throttles", "core")
    node.rate(6.0, "CpuHealth", "thermal_throttles", "package")
    for number in range(24):
        node.log(
            f"CPU{number}: Core temperature is above threshold, cpu clock is throttled "
            f"(total events = {9120 + 2700 * number})",
            f"CPU{number}: Package temperature is above threshold, cpu clock is throttled "
            f"(total events = {6011 + 1800 * number})",
        )
        node.wait(600, 60)


@incident(
    "fan_stopped@*",
    may=("board_too_hot", "node_inlet_hot", "cpu_thermal_throttle"),
    unfit=True,
    gone=("fan_stopped",),
    fit_at_end=True,
    node=disk_server,
)
def fan_of_a_disk_server_is_exchanged(node: Story) -> None:
    """The first of three fans turns slower and slower until it stands; at two it is exchanged."""
    node.wait(600, 60)
    for rpm in (6900.0, 4100.0, 1900.0, 600.0):
        node.put("Sensors", "sensors", "fan1", value=rpm)
        node.wait(120, 30)
    node.put("Sensors", "sensors", "fan1", value=0.0, alarm=True)
    for other in ("fan2", "fan3"):
        node.put("Sensors", "sensors", other, value=13_200.0)
    node.wait(2 * HOUR, 60)
    node.put("Sensors", "sensors", "fan1", value=8400.0, alarm=False)
    for other in ("fan2", "fan3"):
        node.put("Sensors", "sensors", other, value=8400.0)
    node.wait(HOUR, 60)


@incident(
    "board_too_hot@*",
    may=("cpu_thermal_throttle", "node_inlet_hot", *HOT),
    never=("fan_stopped", "gpu_lost", "power_supply_alarm"),
    unfit=True,
    gone=("board_too_hot",),
    fit_at_end=True,
    node=pair_of_a100,
)
def regulators_of_a_board_are_over_their_limit(node: Story) -> None:
    """The regulators of a socket pass 115 degrees for half an hour, until a fan curve is mended."""
    limits = {"high.degraded": 100, "high.critical": 115}
    place = {"hw_id": "ipmi-0", "hw_name": "ipmi", "limits": limits, "alarm": False}
    node.put("Sensors", "sensors", regulator=sensor("temperature", "VRM CPU1 Temp", 81.0, **place))
    node.wait(900, 60)
    for heat in (92.0, 104.0, 112.0):
        node.put("Sensors", "sensors", "regulator", value=heat)
        node.wait(180, 60)
    node.put("Sensors", "sensors", "regulator", value=119.0, alarm=True)
    node.wait(1800, 30)
    node.put("Sensors", "sensors", "regulator", value=86.0, alarm=False)
    node.wait(2 * HOUR, 60)


@incident(
    "node_inlet_hot@*",
    may=(*HOT, "cpu_thermal_throttle", "board_too_hot", "nvme_overheat", "nic_module_hot"),
    never=("fan_stopped", "gpu_lost", "power_supply_alarm", "gpu_power_brake"),
    unfit=False,
    lasts=("node_inlet_hot@*",),
    node=chassis_of_b200,
)
def door_of_a_cold_aisle_is_open(node: Story) -> None:
    """The air before a node has 44 degrees for three hours; its cards get warm and work on."""
    node.wait(900, 60)
    for inlet in (29.0, 35.0, 40.0, 43.0):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.gpus(temperature_celsius=36.0 + inlet, thermal_margin_celsius=51.0 - inlet)
        node.wait(300, 60)
    node.put("Sensors", "sensors", "inlet", value=44.0)
    node.wait(3 * HOUR, 60)


CASES = (
    pipe_of_a_cooler_is_dry,
    fourth_supply_of_six_burns_out,
    row_of_racks_is_over_its_limit,
    cable_lies_in_the_blower_of_a_board,
    disk_without_a_heat_sink_writes_images,
    switch_behind_the_cables_is_warm,
    duct_of_air_was_left_out,
    fan_of_a_disk_server_is_exchanged,
    regulators_of_a_board_are_over_their_limit,
    door_of_a_cold_aisle_is_open,
)
