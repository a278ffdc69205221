"""Quiet nodes with cards: work, idleness, crashing programs, stress, sharing, old numbers."""

from tests.corpus.eighth.nodes import rtx_4090s
from tests.corpus.eleventh.nodes import HOUR, aborts, starts
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import others, waits, works
from tests.corpus.parts import GIB
from tests.corpus.seventh.nodes import arcs, npus, rtx_3090s
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    box_of_b200,
    box_of_h100,
    box_of_h200,
    desk_of_4080,
    four_a100,
    four_l40s,
    guest_of_l4,
    two_h100,
)

IDLE = ("gpu_idle_allocated", "gpu_allocated_unused")
CRASH = ("gpu_app_fault", "process_crashed", "gpu_page_fault", *IDLE)
HARDWARE = ("gpu_suspect_hardware", "gpu_lost", "gpu_ecc_uncorrected", "gpu_reset_required")


@healthy("gpu_busy_without_work", *IDLE, node=box_of_b200)
def long_training_saves_every_half_an_hour(node: Story) -> None:
    """A job trains all night; each half an hour its ranks stop for a minute to save their state."""
    for _ in range(14):
        node.wait(1740, 60)
        waits(node, watts=240.0)
        node.rate(6e9, "Disks", "disks", "nvme1n1", "written_bytes")
        node.wait(60, 15)
        node.rate(0.0, "Disks", "disks", "nvme1n1", "written_bytes")
        works(node, watts=872.0, heat=60.0)
    node.wait(300, 60)


@healthy("gpu_busy_without_work", node=four_l40s)
def questions_come_by_day_and_rest_by_night(node: Story) -> None:
    """Four boards answer questions: many before noon, few after midnight, far from any limit."""
    for load, watts in ((91.0, 331.0), (72.0, 270.0), (40.0, 190.0), (6.0, 98.0), (83.0, 301.0)):
        node.gpus(utilization_percent=load, power_draw_watts=watts, power_average_watts=watts)
        node.gpus(temperature_celsius=38.0 + watts / 9.0)
        node.wait(HOUR, 60)


@healthy(*CRASH, never=HARDWARE, node=box_of_h100)
def wrong_index_ends_all_ranks(node: Story) -> None:
    """An index beyond a table ends all eight ranks of a new model at once; the old one runs on."""
    node.wait(1200, 60)
    for number, low in enumerate(node.bus_addresses):
        pid = str(4711 + number)
        node.xid(
            low,
            31,
            f"Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC{number % 7} "
            f"GPCCLIENT_T1_{number % 5} faulted @ 0x7f{number}c_9a000000. Fault is of type "
            "FAULT_PDE ACCESS_TYPE_VIRT_READ",
            pid=pid,
            name="torchrun_worker",
        )
        node.xid(low, 43, "Ch 00000008", pid=pid, name="torchrun_worker")
    node.wait(30)
    aborts(node)
    node.wait(900, 60)
    starts(node, box_of_h100, 31_550)
    node.wait(3 * HOUR, 120)


@healthy(
    *CRASH,
    expect=("gpu_app_fault@*|process_crashed@*|gpu_page_fault@*",),
    never=HARDWARE[1:],
    node=rtx_3090s,
)
def thesis_of_a_student_faults_until_it_is_right(node: Story) -> None:
    """A student starts the same wrong program seven times, on whichever card is free."""
    node.wait(600, 60)
    aborts(node, watts=24.0, heat=38.0)
    for number in range(7):
        low = node.bus_addresses[number % 4]
        pid = str(21_104 + 57 * number)
        node.wait(600, 60)
        node.xid(
            low,
            13,
            f"Graphics SM Warp Exception on (GPC {number % 6}, TPC {number % 4}, SM {number % 2}): "
            "Out Of Range Address",
            pid=pid,
            name="my_kernel",
        )
        node.xid(low, 43, "Ch 00000008", pid=pid, name="my_kernel")
    node.wait(HOUR, 60)


@healthy(*CRASH, never=HARDWARE, node=four_a100)
def job_is_cancelled_by_its_owner(node: Story) -> None:
    """A user cancels a job: Xid 45 for each of its channels, and the next job starts at once."""
    node.wait(1500, 60)
    for number, low in enumerate(node.bus_addresses):
        for channel in (8, 9, 10, 11):
            node.xid(low, 45, f"Ch {channel:08x}", pid=str(4711 + number), name="relion_refine_mp")
    aborts(node, watts=62.0, heat=30.0)
    node.wait(60)
    starts(node, four_a100, 29_480)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, "gpu_power_limit_low", node=box_of_h100)
def cards_of_a_hall_are_capped_in_summer(node: Story) -> None:
    """All eight cards are limited to 500 W for the summer, and work at that limit."""
    for low in node.bus_addresses:
        node.gpu(low, power_limit_watts=500.0, power_limit_range_watts={"requested": 500})
        node.gpu(low, power_draw_watts=498.0, power_average_watts=498.0)
        node.gpu(low, throttle_active={"sw_power_cap": 1})
        node.gpu(low, clock_hertz={"graphics": 1.605e9, "sm": 1.605e9})
    node.wait(5 * HOUR, 120)


@healthy("gpu_busy_without_work", *IDLE, node=box_of_h200)
def new_node_is_burned_in(node: Story) -> None:
    """A new node is tested for hours: matrices at 700 W and 82 degrees, then links, then memory."""
    for watts, heat, load in (
        (699.0, 82.0, 100.0),
        (310.0, 52.0, 100.0),
        (470.0, 68.0, 100.0),
        (698.0, 81.0, 100.0),
    ):
        for low in node.bus_addresses:
            node.gpu(low, power_draw_watts=watts, power_average_watts=watts)
            node.gpu(low, temperature_celsius=heat, thermal_margin_celsius=87.0 - heat)
            node.gpu(low, memory_temperature_celsius=heat + 5.0, utilization_percent=load)
            node.gpu(low, throttle_active={"sw_power_cap": int(watts > 690.0)})
        node.wait(HOUR, 60)


@healthy(*IDLE, "gpu_persistence_off", node=desk_of_4080)
def desk_trains_and_then_shows_a_film(node: Story) -> None:
    """A desk trains a small model for two hours, then its card only decodes and draws a film."""
    node.wait(2 * HOUR, 120)
    aborts(node, watts=21.0, heat=41.0)
    node.gpu("02", fan_speed_percent={"0": 0, "1": 0}, performance_state=5)
    node.gpu("02", memory_used_bytes=GIB, memory_free_bytes=14 * GIB)
    node.gpu("02", processes=[{"pid": 1422, "kind": "graphics"}], utilization_percent=9.0)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, expect=("gpu_idle_allocated@*",), node=guest_of_l4)
def model_of_a_guest_waits_for_its_users(node: Story) -> None:
    """A server keeps a model on the card of a guest over a weekend in which nobody asks it."""
    node.wait(900, 60)
    node.gpu("03", utilization_percent=0.0, memory_controller_utilization_percent=0.0)
    node.gpu("03", power_draw_watts=27.0, power_average_watts=27.0, temperature_celsius=41.0)
    node.gpu("03", throttle_active={"gpu_idle": 1})
    node.rate(1.0, "Workloads", "uses", "03", "idle_allocated_secs")
    node.wait(8 * HOUR, 120)


@healthy(*IDLE, node=four_a100)
def cards_have_lived_through_much(node: Story) -> None:
    """Old cards remember remapped rows, corrected errors and replays of years; none is added."""
    node.gpu("48", remapped_rows_total={"corrected": 3, "uncorrected": 2})
    node.gpu("48", row_remap_banks={"max": 636, "high": 4})
    node.gpu("48", ecc_errors_total={"corrected": {"aggregate": 9120}})
    node.gpu("48", ecc_errors_total={"uncorrected": {"aggregate": 3}}, pcie_replays_total=1904)
    node.gpu("ad", nvlink_errors_total={"crc_flit": 88_012, "replay": 201, "recovery": 3})
    node.wait(6 * HOUR, 120)


@healthy(node=two_h100)
def two_bits_are_corrected_in_a_day(node: Story) -> None:
    """A board corrects two single errors, hours apart, and goes on as if nothing was."""
    for number in (1, 2):
        node.wait(3 * HOUR, 120)
        node.gpu(
            "41", ecc_errors_total={"corrected": {"volatile": number, "aggregate": 3 + number}}
        )
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, "gpu_memory_pressure", node=box_of_h200)
def cache_of_an_engine_takes_what_there_is(node: Story) -> None:
    """An engine keeps 136 of 141 GiB of each card; its load goes up and down with the hours."""
    node.gpus(memory_used_bytes=136 * GIB, memory_free_bytes=4 * GIB)
    for load, watts in ((96.0, 610.0), (51.0, 380.0), (22.0, 230.0), (88.0, 560.0)):
        node.gpus(utilization_percent=load, power_draw_watts=watts, power_average_watts=watts)
        node.gpus(
            temperature_celsius=34.0 + watts / 24.0, thermal_margin_celsius=53.0 - watts / 24.0
        )
        node.wait(HOUR, 60)


@healthy(node=arcs)
def arcs_paint_pictures(node: Story) -> None:
    """Two boards of Intel paint pictures for six hours, as warm as they usually are."""
    for heat in (66.0, 71.0, 69.0):
        node.gpus(temperature_celsius=heat)
        node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=npus)
def ascends_train_overnight(node: Story) -> None:
    """Eight NPUs train a model from the evening to the morning, healthy by their own word."""
    for watts, heat in ((290.0, 51.0), (312.0, 54.0), (301.0, 52.0)):
        node.gpus(power_draw_watts=watts, temperature_celsius=heat)
        node.wait(3 * HOUR, 120)


@healthy("gpu_busy_without_work", *IDLE, node=box_of_h100)
def loader_of_a_job_is_slow_for_minutes(node: Story) -> None:
    """Cards wait twice for four minutes because shards come from a slow store; then they work."""
    for _ in range(2):
        node.wait(HOUR, 60)
        waits(node, *others(node, "1b"))
        node.gpu("1b", utilization_percent=0.0, power_draw_watts=118.0, power_average_watts=118.0)
        node.wait(240, 30)
        works(node)
    node.wait(HOUR, 60)


@healthy(node=rtx_4090s)
def rig_is_rented_for_a_render(node: Story) -> None:
    """Four boards render for five hours at 78 degrees with their fans at 81 percent."""
    node.gpus(temperature_celsius=78.0, fan_speed_percent={"0": 81, "1": 81})
    node.gpus(
        power_draw_watts=441.0, power_average_watts=440.0, throttle_active={"sw_power_cap": 1}
    )
    node.wait(5 * HOUR, 120)


CASES = (
    long_training_saves_every_half_an_hour,
    questions_come_by_day_and_rest_by_night,
    wrong_index_ends_all_ranks,
    thesis_of_a_student_faults_until_it_is_right,
    job_is_cancelled_by_its_owner,
    cards_of_a_hall_are_capped_in_summer,
    new_node_is_burned_in,
    desk_trains_and_then_shows_a_film,
    model_of_a_guest_waits_for_its_users,
    cards_have_lived_through_much,
    two_bits_are_corrected_in_a_day,
    cache_of_an_engine_takes_what_there_is,
    arcs_paint_pictures,
    ascends_train_overnight,
    loader_of_a_job_is_slow_for_minutes,
    rig_is_rented_for_a_render,
)
