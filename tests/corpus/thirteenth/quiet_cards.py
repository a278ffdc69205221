"""Quiet nodes with cards: work, idleness, crashing programs, stress, sharing, old numbers."""

from tests.corpus.eleventh.nodes import HOUR, aborts, starts
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import h100_slices, waits, works
from tests.corpus.parts import GIB
from tests.corpus.seventh.nodes import mi300s
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    desk_of_5090,
    eight_a100,
    four_l4,
    four_pro,
    guest_of_a10,
    new_h100,
    old_h100,
    some_b200,
    some_h200,
)

IDLE = ("gpu_idle_allocated", "gpu_allocated_unused")
CRASH = ("gpu_app_fault", "process_crashed", "gpu_page_fault", *IDLE)
HARDWARE = ("gpu_suspect_hardware", "gpu_lost", "gpu_ecc_uncorrected", "gpu_reset_required")


@healthy("gpu_busy_without_work", *IDLE, node=some_b200)
def pretraining_evaluates_every_two_hours(node: Story) -> None:
    """A job trains for eight hours; every two hours it evaluates for ten minutes at less power."""
    for _ in range(4):
        node.wait(2 * HOUR - 600, 240)
        works(node, watts=510.0, heat=49.0)
        node.wait(600, 120)
        works(node, watts=845.0, heat=58.0)
    node.wait(600, 120)


@healthy(*CRASH, never=HARDWARE, node=new_h100)
def kernel_of_a_beginner_writes_past_its_end(node: Story) -> None:
    """A kernel of a user writes beyond an array in all ranks; he mends it and starts again."""
    node.wait(1800, 120)
    for number, low in enumerate(node.bus_addresses):
        node.xid(
            low,
            31,
            f"Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC{(3 * number) % 8} "
            f"GPCCLIENT_T1_{number % 9} faulted @ 0x7f{number + 2}4_4e2{number}0000. Fault is of "
            "type FAULT_PTE ACCESS_TYPE_VIRT_WRITE",
            pid=str(4711 + number),
            name="python3",
        )
    aborts(node)
    node.wait(1500, 120)
    starts(node, new_h100, 70_420)
    node.wait(4 * HOUR, 180)


@healthy(*CRASH, never=HARDWARE, node=four_pro)
def queue_of_a_batch_is_cut_by_its_time_limit(node: Story) -> None:
    """A batch system kills a job at its time limit, which ends its channels, and starts another."""
    node.wait(2 * HOUR, 180)
    for number, low in enumerate(node.bus_addresses):
        for channel in (2, 3, 6):
            node.xid(low, 45, f"Ch {channel:08x}", pid=str(4711 + number), name="lmp")
    aborts(node, watts=78.0, heat=38.0)
    node.wait(120, 30)
    starts(node, four_pro, 18_090)
    node.wait(3 * HOUR, 180)


@healthy(
    *CRASH,
    expect=("gpu_app_fault@*|process_crashed@*|gpu_page_fault@*",),
    never=HARDWARE[1:],
    node=desk_of_5090,
)
def shader_of_a_desk_is_wrong_four_times(node: Story) -> None:
    """A developer starts the same wrong shader four times in an afternoon; each time it ends."""
    node.wait(1200, 120)
    aborts(node, watts=34.0, heat=40.0)
    for number in range(4):
        pid = str(9120 + 41 * number)
        node.wait(1500, 150)
        node.xid(
            "01",
            13,
            "Graphics Exception: Shader Program Header 18 Error",
            pid=pid,
            name="render-test",
        )
        node.xid("01", 43, "Ch 0000002e", pid=pid, name="render-test")
    node.wait(2 * HOUR, 180)


@healthy("gpu_busy_without_work", *IDLE, node=four_l4)
def boards_decode_films_by_night(node: Story) -> None:
    """Four boards turn films over: the decoders are busy, the rest of the cards hardly works."""
    for load, watts in ((21.0, 44.0), (34.0, 51.0), (12.0, 38.0)):
        node.gpus(utilization_percent=load, power_draw_watts=watts, power_average_watts=watts)
        node.gpus(temperature_celsius=30.0 + watts / 2.0, memory_controller_utilization_percent=9.0)
        node.wait(2 * HOUR, 180)


@healthy(*IDLE, "gpu_power_limit_low", node=eight_a100)
def tenant_asks_for_quiet_cards(node: Story) -> None:
    """All eight cards are set to 300 of 400 W for a study of energy, and work at that limit."""
    for low in node.bus_addresses:
        node.gpu(low, power_limit_watts=300.0, power_limit_range_watts={"requested": 300})
        node.gpu(low, power_draw_watts=298.0, power_average_watts=298.0)
        node.gpu(low, throttle_active={"sw_power_cap": 1}, temperature_celsius=52.0)
        node.gpu(low, clock_hertz={"graphics": 1.215e9, "sm": 1.215e9})
    node.wait(6 * HOUR, 180)


@healthy(*IDLE, "gpu_memory_pressure", node=some_h200)
def engine_holds_nearly_all_memory_for_its_cache(node: Story) -> None:
    """An engine takes 134 of 141 GiB of each card; questions come and go with the hours."""
    node.gpus(memory_used_bytes=134 * GIB, memory_free_bytes=6 * GIB)
    for load, watts in ((88.0, 540.0), (37.0, 310.0), (11.0, 190.0), (93.0, 575.0)):
        node.gpus(utilization_percent=load, power_draw_watts=watts, power_average_watts=watts)
        node.gpus(temperature_celsius=36.0 + watts / 25.0)
        node.gpus(thermal_margin_celsius=51.0 - watts / 25.0)
        node.wait(5400, 150)


@healthy(*IDLE, node=old_h100)
def numbers_of_an_old_node_stand_still(node: Story) -> None:
    """A node of two years remembers remapped rows, flits and replays; nothing is added."""
    node.gpu("2d", remapped_rows_total={"corrected": 2, "uncorrected": 1})
    node.gpu("2d", row_remap_banks={"max": 638, "high": 2})
    node.gpu("a8", ecc_errors_total={"corrected": {"aggregate": 2804}})
    node.gpu("a8", ecc_errors_total={"uncorrected": {"aggregate": 2}}, pcie_replays_total=733)
    node.gpu("e1", nvlink_errors_total={"crc_flit": 40_210, "replay": 94, "recovery": 1})
    node.wait(7 * HOUR, 180)


@healthy(node=eight_a100)
def four_bits_are_corrected_in_ten_hours(node: Story) -> None:
    """A card corrects four single errors within ten hours and works on."""
    for number in (1, 2, 3, 4):
        node.wait(2 * HOUR, 300)
        node.gpu(
            "63", ecc_errors_total={"corrected": {"volatile": number, "aggregate": 3 + number}}
        )
    node.wait(2 * HOUR, 240)


@healthy(*IDLE, expect=("gpu_idle_allocated@*",), node=guest_of_a10)
def notebook_of_a_guest_is_left_open(node: Story) -> None:
    """A notebook holds the card of a guest for an evening and a night, and computes nothing."""
    node.wait(1200, 120)
    node.gpu("1e", utilization_percent=0.0, memory_controller_utilization_percent=0.0)
    node.gpu("1e", power_draw_watts=58.0, power_average_watts=58.0, temperature_celsius=33.0)
    node.gpu("1e", throttle_active={"gpu_idle": 1})
    node.rate(1.0, "Workloads", "uses", "1e", "idle_allocated_secs")
    node.wait(9 * HOUR, 300)


@healthy("workload_over_memory_quota", *IDLE, node=h100_slices)
def seminar_uses_slices_of_two_boards(node: Story) -> None:
    """Two boards cut into slices serve notebooks of a seminar, more before noon than after."""
    for watts in (210.0, 180.0, 120.0, 95.0):
        node.gpus(power_draw_watts=watts, power_average_watts=watts)
        node.gpus(temperature_celsius=30.0 + watts / 10.0)
        node.wait(5400, 150)


@healthy(*IDLE, "gpu_busy_without_work", node=mi300s)
def instincts_serve_a_large_model(node: Story) -> None:
    """Eight cards of AMD serve a model through the day, warm by noon and cooler by night."""
    for watts, heat in ((590.0, 61.0), (640.0, 66.0), (420.0, 52.0), (300.0, 46.0)):
        node.gpus(power_draw_watts=watts, power_average_watts=watts, temperature_celsius=heat)
        node.wait(2 * HOUR, 240)


@healthy("gpu_busy_without_work", *IDLE, node=new_h100)
def first_batch_waits_for_its_compiler(node: Story) -> None:
    """A new job compiles its graph for eight minutes before its first step; its cards wait."""
    node.wait(1200, 120)
    aborts(node)
    node.wait(240, 60)
    starts(node, new_h100, 12_800)
    waits(node, watts=121.0)
    node.gpus(utilization_percent=0.0)
    node.wait(480, 60)
    works(node)
    node.wait(4 * HOUR, 180)


@healthy("gpu_busy_without_work", *IDLE, node=four_pro)
def stress_of_an_acceptance_test_is_hot_but_allowed(node: Story) -> None:
    """An acceptance test keeps four boards at 600 W and 84 degrees, below every limit."""
    node.gpus(power_draw_watts=598.0, power_average_watts=598.0, utilization_percent=100.0)
    node.gpus(temperature_celsius=84.0, throttle_active={"sw_power_cap": 1})
    node.gpus(clock_hertz={"graphics": 2.07e9, "sm": 2.07e9})
    node.wait(4 * HOUR, 120)


CASES = (
    pretraining_evaluates_every_two_hours,
    kernel_of_a_beginner_writes_past_its_end,
    queue_of_a_batch_is_cut_by_its_time_limit,
    shader_of_a_desk_is_wrong_four_times,
    boards_decode_films_by_night,
    tenant_asks_for_quiet_cards,
    engine_holds_nearly_all_memory_for_its_cache,
    numbers_of_an_old_node_stand_still,
    four_bits_are_corrected_in_ten_hours,
    notebook_of_a_guest_is_left_open,
    seminar_uses_slices_of_two_boards,
    instincts_serve_a_large_model,
    first_batch_waits_for_its_compiler,
    stress_of_an_acceptance_test_is_hot_but_allowed,
)
