"""Incidents of heat, fans, clocks and power."""

from tests.corpus.fifth.nodes import a100s, l40s
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import HOUR, delta_a100s, hpc_worker, others, roce_box, waits, works
from tests.corpus.parts import limits, sensor
from tests.corpus.seventh.nodes import HEAT, LINKS, NOBODY, SPINS, hgx, rests, rtx_3090s
from tests.corpus.sixth.nodes import a6000s, h200s
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER

WARM = (*HEAT, "gpu_memory_overheat", "node_inlet_hot", "board_too_hot", "nvswitch_hot")
DIM = ("gpu_clock_low", "gpu_unlike_siblings", "gpu_unlike_itself")


def _slowed(node: Story, reason: str, hertz: float, watts: float, *buses: str) -> None:
    """These cards run slower for this reason."""
    for bus in buses or node.bus_addresses:
        node.gpu(bus, throttle_active=limits(reason), clock_hertz={"graphics": hertz, "sm": hertz})
        node.gpu(bus, power_draw_watts=watts, power_average_watts=watts)


def _full_speed(node: Story, hertz: float, watts: float, heat: float) -> None:
    """All cards run as before."""
    node.gpus(throttle_active=limits(), clock_hertz={"graphics": hertz, "sm": hertz})
    node.gpus(power_draw_watts=watts, power_average_watts=watts, temperature_celsius=heat)


@incident(
    *("node_inlet_hot@*", "gpu_thermal_slowdown@GPU-03|gpu_thermal_throttle@GPU-03"),
    root=("node_inlet_hot@*",),
    may=WARM,
    gone=("node_inlet_hot", *HEAT),
    fit_at_end=True,
    node=h200s,
)
def chiller_of_the_hall_fails_for_an_hour(node: Story) -> None:
    """The air of the aisle climbs to 46 degrees, all cards slow down; it is cold again later."""
    for inlet, card in ((29.0, 68.0), (35.0, 77.0), (41.0, 84.0), (44.0, 87.0), (46.0, 88.0)):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        node.gpus(temperature_celsius=card, memory_temperature_celsius=card + 5.0)
        node.gpus(thermal_margin_celsius=max(87.0 - card, 0.0))
        if card >= 87.0:
            _slowed(node, "sw_thermal_slowdown", 1.2e9, 430.0)
        node.wait(480, 30)
    node.wait(1200, 60)
    for inlet, card in ((38.0, 81.0), (30.0, 70.0), (24.0, 62.0)):
        node.put("Sensors", "sensors", "inlet", value=inlet)
        _full_speed(node, 1.755e9, 610.0, card)
        node.gpus(memory_temperature_celsius=card + 8.0, thermal_margin_celsius=87.0 - card)
        node.wait(900, 60)
    node.wait(HOUR, 120)


@incident(
    *("power_supply_alarm@*", "gpu_power_brake@*"),
    root=("power_supply_alarm@*",),
    may=DIM,
    unfit=True,
    gone=("power_supply_alarm", "gpu_power_brake"),
    fit_at_end=True,
    node=h200s,
)
def supply_fails_and_all_cards_brake(node: Story) -> None:
    """One of two supplies is dead, the board brakes all cards until it is exchanged."""
    node.wait(120)
    node.put("Sensors", "sensors", "psu2", value=0.0, alarm=True)
    node.put("Sensors", "sensors", "psu1", value=2790.0)
    node.wait(15)
    _slowed(node, "hw_power_brake_slowdown", 7.5e8, 265.0)
    node.wait(5400, 60)
    node.put("Sensors", "sensors", "psu2", value=1450.0, alarm=False)
    node.put("Sensors", "sensors", "psu1", value=1450.0)
    _full_speed(node, 1.755e9, 610.0, 62.0)
    node.wait(HOUR, 60)


@incident(
    "power_supply_alarm@*",
    unfit=True,
    gone=("power_supply_alarm",),
    fit_at_end=True,
    node=hpc_worker,
)
def cord_of_a_supply_is_pulled(node: Story) -> None:
    """Somebody pulls the wrong cord; the other supply carries the server for twenty minutes."""
    node.wait(300, 60)
    node.put("Sensors", "sensors", "psu1", value=0.0, alarm=True)
    node.put("Sensors", "sensors", "psu2", value=648.0)
    node.wait(1200, 30)
    node.put("Sensors", "sensors", "psu1", value=330.0, alarm=False)
    node.put("Sensors", "sensors", "psu2", value=330.0)
    node.wait(HOUR, 60)


@incident(
    "cpu_thermal_throttle@node",
    may=("cpu_saturated", "board_too_hot"),
    gone=("cpu_thermal_throttle",),
    fit_at_end=True,
    node=hpc_worker,
)
def package_of_a_worker_is_at_its_limit(node: Story) -> None:
    """Under a long simulation one package is at its limit for an hour; then the job ends."""
    node.wait(300, 60)
    node.rate(0.9, "CpuHealth", "thermal_throttles", "core")
    node.rate(0.3, "CpuHealth", "thermal_throttles", "package")
    for number in range(12):
        events = 100 + 90 * number
        node.log(
            f"CPU37: Core temperature is above threshold, cpu clock is throttled (total events = "
            f"{events})",
            f"CPU37: Package temperature is above threshold, cpu clock is throttled (total events "
            f"= {events})",
        )
        node.put("CpuHealth", frequencies={"min": 1.2e9, "avg": 1.9e9, "max": 3.2e9})
        node.wait(300, 30)
    node.log(
        "CPU37: Core temperature/speed normal",
        "CPU37: Package temperature/speed normal",
    )
    node.rate(0.0, "CpuHealth", "thermal_throttles", "core")
    node.rate(0.0, "CpuHealth", "thermal_throttles", "package")
    node.put("CpuHealth", frequencies={"min": 1.5e9, "avg": 2.2e9, "max": 3.3e9})
    node.put("Cpu", usage_percent=3.0, used_cores=4.0, load1=4.0)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_memory_overheat@GPU-8b",
    may=HEAT,
    node=a100s,
)
def memory_of_one_a100_is_at_its_limit(node: Story) -> None:
    """The stacks of one card reach 95 degrees while its chip stays at 71; dust, it turns out."""
    node.wait(300, 60)
    for heat in (84.0, 90.0, 94.0, 95.0):
        node.gpu("8b", memory_temperature_celsius=heat, temperature_celsius=66.0 + heat / 20.0)
        node.wait(300, 60)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_fan_stopped@GPU-a5",
    root=("gpu_fan_stopped@GPU-a5",),
    may=(*HEAT, "gpu_unlike_siblings"),
    unfit=True,
    fit_at_end=False,
    node=rtx_3090s,
)
def fans_of_a_geforce_have_seized(node: Story) -> None:
    """Both fans of one of four cards stand still; it slows itself down at 93 degrees."""
    node.wait(120)
    node.gpu("a5", fan_speed_percent={"0": 0, "1": 0})
    for heat in (78.0, 84.0, 89.0, 93.0):
        node.gpu("a5", temperature_celsius=heat)
        node.wait(60)
    _slowed(node, "sw_thermal_slowdown", 1.02e9, 150.0, "a5")
    node.wait(2 * HOUR, 120)


@incident(
    *("gpu_thermal_throttle@GPU-c7", "gpu_lost@GPU-c7"),
    root=("gpu_thermal_throttle@GPU-c7|gpu_overheat@GPU-c7|gpu_thermal_slowdown@GPU-c7",),
    may=(*GPU_AFTER, *LINKS, *SPINS, *HEAT, "gpu_memory_overheat", "gpu_unlike_siblings"),
    unfit=True,
    lasts=("gpu_lost@GPU-c7",),
    fit_at_end=False,
    node=delta_a100s,
)
def cooling_plate_of_a_card_leaks(node: Story) -> None:
    """A card climbs to its limit in two minutes, throttles, and shuts itself down: Xid 79."""
    node.wait(120)
    for heat in (66.0, 78.0, 86.0, 89.0):
        node.gpu("c7", temperature_celsius=heat, memory_temperature_celsius=heat + 4.0)
        node.wait(30)
    _slowed(node, "hw_thermal_slowdown", 6.0e8, 140.0, "c7")
    node.gpu("c7", temperature_celsius=91.0, memory_temperature_celsius=96.0)
    node.wait(90)
    node.xid("c7", 79, FELL, **NOBODY)
    node.lose("c7")
    waits(node, *others(node, "c7"), watts=88.0)
    node.wait(2 * HOUR, 120)


@incident(
    "fan_stopped@*",
    may=(*HEAT, "gpu_fan_stopped"),
    unfit=True,
    gone=("fan_stopped",),
    fit_at_end=True,
    node=roce_box,
)
def fan_of_the_board_stops_and_its_neighbours_are_enough(node: Story) -> None:
    """One of three fans stands still, the others speed up; it is exchanged in the running node."""
    node.wait(300, 60)
    node.put("Sensors", "sensors", "fan2", value=0.0, alarm=True)
    for fan in ("fan1", "fan3"):
        node.put("Sensors", "sensors", fan, value=14200.0)
    node.gpus(temperature_celsius=66.0)
    node.wait(2 * HOUR, 120)
    for fan in ("fan1", "fan2", "fan3"):
        node.put("Sensors", "sensors", fan, value=8400.0, alarm=False)
    node.gpus(temperature_celsius=62.0)
    node.wait(HOUR, 60)


@incident(
    "gpu_thermal_slowdown@GPU-21|gpu_thermal_throttle@GPU-21|gpu_overheat@GPU-21",
    may=(*HEAT, "gpu_unlike_siblings"),
    never=("gpu_lost",),
    gone=HEAT,
    fit_at_end=True,
    node=l40s,
)
def cables_hang_before_a_passive_card(node: Story) -> None:
    """One passive card gets no air and runs at 88 degrees until the cables are moved."""
    node.wait(120)
    for heat in (74.0, 82.0, 87.0, 88.0):
        node.gpu("21", temperature_celsius=heat)
        node.wait(120)
    _slowed(node, "sw_thermal_slowdown", 1.41e9, 205.0, "21")
    node.wait(HOUR, 60)
    _full_speed(node, 2.31e9, 290.0, 63.0)
    node.wait(HOUR, 60)


@incident(
    "gpu_power_limit_low@GPU-e4",
    may=(*DIM, "nccl_straggler"),
    unfit=False,
    gone=("gpu_power_limit_low",),
    fit_at_end=True,
    node=hgx,
)
def limit_of_an_experiment_is_forgotten_on_one_card(node: Story) -> None:
    """One of eight cards keeps a limit of 350 W: the job is slow, until somebody sees it."""
    node.wait(120)
    node.gpu("e4", power_limit_watts=350.0, power_limit_range_watts={"requested": 350})
    node.gpu("e4", throttle_active=limits("sw_power_cap"), power_draw_watts=349.0)
    node.gpu("e4", clock_hertz={"graphics": 1.29e9, "sm": 1.29e9}, power_average_watts=349.0)
    node.wait(3 * HOUR, 120)
    node.gpu("e4", power_limit_watts=700.0, power_limit_range_watts={"requested": 700})
    node.gpu("e4", throttle_active=limits(), clock_hertz={"graphics": 1.755e9, "sm": 1.755e9})
    works(node, "e4")
    node.wait(HOUR, 60)


@incident(
    "gpu_power_brake@*",
    may=DIM,
    gone=("gpu_power_brake",),
    fit_at_end=True,
    node=hgx,
)
def rack_is_over_its_budget_each_afternoon(node: Story) -> None:
    """The manager of the rack brakes all cards for some minutes, three times in an afternoon."""
    node.put("Sensors", "sensors", psu1=sensor("power", "pin", 5200.0, hw_id="pmbus-1"))
    for _ in range(3):
        node.wait(1800, 60)
        _slowed(node, "hw_power_brake_slowdown", 9.0e8, 300.0)
        node.wait(420, 15)
        _full_speed(node, 1.755e9, 560.0, 62.0)
    node.wait(HOUR, 60)


@incident(
    "board_too_hot@*",
    may=("cpu_thermal_throttle", "node_inlet_hot"),
    unfit=True,
    gone=("board_too_hot",),
    fit_at_end=True,
    node=a6000s,
)
def regulators_of_a_board_are_too_hot(node: Story) -> None:
    """A sensor of the board's regulators passes its critical limit; a fan curve mends it."""
    node.put(
        "Sensors",
        "sensors",
        vrm=sensor(
            "temperature",
            "CPU1 VRM Temp",
            71.0,
            hw_id="ipmi-0",
            hw_name="ipmi",
            limits={"high.degraded": 95, "high.critical": 105},
        ),
    )
    node.wait(600, 60)
    for heat in (93.0, 101.0, 108.0, 109.0):
        node.put("Sensors", "sensors", "vrm", value=heat)
        node.wait(300, 30)
    node.wait(1200, 60)
    node.put("Sensors", "sensors", "vrm", value=78.0)
    node.wait(HOUR, 60)


@incident(
    "gpu_clock_low@GPU-2d",
    may=(*DIM, "gpu_power_limit_low"),
    unfit=False,
    node=hgx,
)
def one_card_is_slower_than_its_seven_siblings(node: Story) -> None:
    """At the same load one card stays at 1.1 GHz although nothing holds it down."""
    node.wait(300, 60)
    node.gpu("2d", clock_hertz={"graphics": 1.095e9, "sm": 1.095e9}, power_draw_watts=340.0)
    node.gpu("2d", utilization_percent=99.0, temperature_celsius=51.0)
    node.wait(2 * HOUR, 60)
    rests(node, 72.0)
    node.idle_clocks()
    node.wait(600, 60)


CASES = (
    chiller_of_the_hall_fails_for_an_hour,
    supply_fails_and_all_cards_brake,
    cord_of_a_supply_is_pulled,
    package_of_a_worker_is_at_its_limit,
    memory_of_one_a100_is_at_its_limit,
    fans_of_a_geforce_have_seized,
    cooling_plate_of_a_card_leaks,
    fan_of_the_board_stops_and_its_neighbours_are_enough,
    cables_hang_before_a_passive_card,
    limit_of_an_experiment_is_forgotten_on_one_card,
    rack_is_over_its_budget_each_afternoon,
    regulators_of_a_board_are_too_hot,
    one_card_is_slower_than_its_seven_siblings,
)
