"""Quiet nodes with cards: work, idleness, crashing programs, stress, sharing, limits."""

from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    cloud_of_a10,
    desk_of_5080,
    pair_of_a100,
    quad_of_a100,
    quad_of_l4,
    tower_of_a6000,
)
from tests.corpus.eleventh.nodes import HOUR, aborts, starts
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import h100_slices, others, waits, works
from tests.corpus.parts import GIB, JOB
from tests.corpus.seventh.nodes import grace_hopper, mi300s
from tests.corpus.story import Story

IDLE = ("gpu_idle_allocated", "gpu_allocated_unused")
CRASH = ("gpu_app_fault", "process_crashed", "gpu_page_fault", *IDLE)
HARDWARE = ("gpu_suspect_hardware", "gpu_lost", "gpu_ecc_uncorrected", "gpu_reset_required")


@healthy("gpu_busy_without_work", *IDLE, node=chassis_of_b200)
def model_is_trained_and_saved_every_hour(node: Story) -> None:
    """A job of eight ranks trains for nine hours and stops for ninety seconds to save each hour."""
    for _ in range(9):
        node.wait(3480, 60)
        waits(node, watts=230.0)
        node.rate(5e9, "Disks", "disks", "nvme1n1", "written_bytes")
        node.wait(90, 30)
        node.rate(0.0, "Disks", "disks", "nvme1n1", "written_bytes")
        works(node, watts=845.0, heat=58.0)
    node.wait(300, 60)


@healthy(node=quad_of_l4)
def cameras_are_transcoded_by_day(node: Story) -> None:
    """Four small boards decode streams: much by day, little at night, never near a limit."""
    for load, watts in ((64.0, 61.0), (88.0, 70.0), (31.0, 44.0), (4.0, 29.0), (58.0, 60.0)):
        node.gpus(utilization_percent=load, power_draw_watts=watts, power_average_watts=watts)
        node.gpus(temperature_celsius=34.0 + watts / 2.2)
        node.wait(HOUR, 60)


@healthy(*CRASH, never=HARDWARE, node=chassis_of_h200)
def new_kernel_writes_where_it_may_not(node: Story) -> None:
    """All eight ranks of a new build die of Xid 31 and 43 at once; the build before it runs."""
    node.wait(900, 60)
    for number, low in enumerate(node.bus_addresses):
        pid = str(4711 + number)
        node.xid(
            low,
            31,
            "Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_4 faulted "
            f"@ 0x7e{number}1_4c000000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_WRITE",
            pid=pid,
            name="pt_main_thread",
        )
        node.xid(low, 43, "Ch 00000010", pid=pid, name="pt_main_thread")
    node.wait(30)
    aborts(node)
    node.wait(1200, 60)
    starts(node, chassis_of_h200, 25_660)
    node.wait(2 * HOUR, 120)


@healthy(
    *CRASH,
    expect=("gpu_app_fault@*|process_crashed@*|gpu_page_fault@*",),
    never=HARDWARE[1:],
    node=pair_of_a100,
)
def exercise_of_a_course_reads_beyond_its_end(node: Story) -> None:
    """Students of a course start the same wrong program on both boards, one after the other."""
    node.wait(600, 60)
    aborts(node, watts=46.0, heat=33.0)
    for number in range(8):
        low = node.bus_addresses[number % 2]
        pid = str(15_000 + 41 * number)
        node.wait(480, 60)
        node.xid(
            low,
            13,
            f"Graphics SM Warp Exception on (GPC {number % 7}, TPC {number % 5}, SM "
            f"{number % 2}): Out Of Range Address",
            pid=pid,
            name="exercise3",
        )
        node.xid(low, 43, "Ch 00000008", pid=pid, name="exercise3")
    node.wait(HOUR, 60)


@healthy(*CRASH, never=HARDWARE, node=chassis_of_h100)
def job_is_ended_by_its_limit_of_time(node: Story) -> None:
    """Slurm ends a job at its limit of time: Xid 45 of each card; the next one starts at once."""
    node.wait(1200, 60)
    for number, low in enumerate(node.bus_addresses):
        for channel in (8, 9, 10):
            node.xid(low, 45, f"Ch {channel:08x}", pid=str(4711 + number), name="python3")
    aborts(node)
    node.wait(90)
    starts(node, chassis_of_h100, 19_003)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, "gpu_power_limit_low", node=chassis_of_h200)
def limit_of_power_is_lower_by_contract(node: Story) -> None:
    """All cards of a rented node are limited to 550 W, and are at that limit all the time."""
    for low in node.bus_addresses:
        node.gpu(low, power_limit_watts=550.0, power_limit_range_watts={"requested": 550})
        node.gpu(low, power_draw_watts=548.0, power_average_watts=547.0)
        node.gpu(low, throttle_active={"sw_power_cap": 1})
        node.gpu(low, clock_hertz={"graphics": 1.665e9, "sm": 1.665e9})
    node.wait(4 * HOUR, 120)


@healthy("gpu_busy_without_work", *IDLE, node=chassis_of_h100)
def acceptance_test_runs_all_day(node: Story) -> None:
    """Tests of memory, of links and of power follow each other: up to 80 degrees and 700 W."""
    for watts, heat, load in (
        (698.0, 80.0, 100.0),
        (210.0, 49.0, 100.0),
        (455.0, 66.0, 88.0),
        (699.0, 79.0, 100.0),
        (120.0, 38.0, 2.0),
    ):
        for low in node.bus_addresses:
            node.gpu(low, power_draw_watts=watts, power_average_watts=watts)
            node.gpu(low, temperature_celsius=heat, thermal_margin_celsius=87.0 - heat)
            node.gpu(low, memory_temperature_celsius=heat + 6.0, utilization_percent=load)
            node.gpu(low, throttle_active={"sw_power_cap": int(watts > 690.0)})
        node.wait(HOUR, 60)


@healthy(*IDLE, "gpu_persistence_off", node=desk_of_5080)
def desk_renders_and_sleeps(node: Story) -> None:
    """A desk renders a film for two hours, then draws its screen while its fans stand still."""
    node.gpu("09", fan_speed_percent={"0": 58, "1": 58}, temperature_celsius=71.0)
    node.wait(2 * HOUR, 120)
    aborts(node, watts=18.0, heat=39.0)
    node.gpu("09", fan_speed_percent={"0": 0, "1": 0}, pcie_link_generation=1, performance_state=8)
    node.gpu("09", memory_used_bytes=GIB, processes=[{"pid": 1602, "kind": "graphics"}])
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, expect=("gpu_idle_allocated@*",), node=cloud_of_a10)
def notebook_of_a_guest_is_forgotten(node: Story) -> None:
    """A notebook holds 17 GiB of the card of a guest all night and computes nothing."""
    node.wait(600, 60)
    node.gpu("1f", utilization_percent=0.0, memory_controller_utilization_percent=0.0)
    node.gpu("1f", power_draw_watts=58.0, power_average_watts=58.0, temperature_celsius=38.0)
    node.gpu("1f", throttle_active={"gpu_idle": 1})
    node.rate(1.0, "Workloads", "uses", "1f", "idle_allocated_secs")
    node.wait(7 * HOUR, 120)


@healthy("gpu_idle_allocated", node=quad_of_a100)
def old_numbers_of_an_old_card(node: Story) -> None:
    """A card remembers three rows, two thousand corrected errors and many replays; none is new."""
    node.gpu("a3", remapped_rows_total={"corrected": 2, "uncorrected": 1})
    node.gpu("a3", row_remap_banks={"max": 637, "high": 3})
    node.gpu("a3", ecc_errors_total={"corrected": {"aggregate": 2114}})
    node.gpu("a3", ecc_errors_total={"uncorrected": {"aggregate": 2}}, pcie_replays_total=812)
    node.gpu("a3", nvlink_errors_total={"crc_flit": 40_120, "replay": 96, "recovery": 2})
    node.wait(5 * HOUR, 120)


@healthy(node=chassis_of_h200)
def one_bit_is_corrected_at_noon(node: Story) -> None:
    """A card corrects one error in six hours and replays two packets: that is all."""
    node.wait(3 * HOUR, 120)
    node.gpu("93", ecc_errors_total={"corrected": {"volatile": 1, "aggregate": 4}})
    node.gpu("93", pcie_replays_total=6)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, node=h100_slices)
def slices_are_lent_to_a_class(node: Story) -> None:
    """Slices of two boards are used by a class for three hours and by nobody afterwards."""
    for watts in (140.0, 240.0, 215.0, 96.0, 92.0):
        node.gpus(power_draw_watts=watts, power_average_watts=watts)
        node.gpus(temperature_celsius=36.0 + watts / 14)
        node.wait(HOUR, 60)


@healthy(*IDLE, "gpu_memory_pressure", node=chassis_of_b200)
def server_of_a_large_model_fills_its_cards(node: Story) -> None:
    """An engine keeps 174 of 179 GiB of each card for its cache; requests come in waves."""
    node.gpus(memory_used_bytes=174 * GIB, memory_free_bytes=4 * GIB)
    for load, watts in ((93.0, 640.0), (35.0, 330.0), (71.0, 540.0), (12.0, 245.0)):
        node.gpus(utilization_percent=load, power_draw_watts=watts, power_average_watts=watts)
        node.gpus(temperature_celsius=32.0 + watts / 28)
        node.wait(HOUR, 60)


@healthy(node=mi300s)
def instincts_serve_and_their_driver_talks(node: Story) -> None:
    """Eight MI300X serve a model while the driver tells of queues and of its firmware."""
    node.wait(900, 60)
    for number in range(6):
        node.log(
            f"amdgpu: Freeing queue vital buffer 0x7f{number}c40000000, queue evicted",
            "amdgpu 0000:19:00.0: amdgpu: SMU driver if version not matched",
        )
        node.wait(1800, 60)


@healthy(node=grace_hopper)
def superchip_simulates_the_weather(node: Story) -> None:
    """One GH200 computes for six hours, with much of its data in the memory of the processor."""
    node.gpus(utilization_percent=99.0, power_draw_watts=655.0, power_average_watts=651.0)
    node.put("Cpu", usage_percent=46.0, used_cores=33.0)
    node.wait(6 * HOUR, 120)


@healthy(*IDLE, "gpu_busy_without_work", "nccl_rank_missing", node=chassis_of_h100)
def first_rank_writes_a_checkpoint_alone(node: Story) -> None:
    """Rank 0 writes for six minutes while seven wait in a barrier, then all of them go on."""
    world = {
        "id": "5101",
        "workload": JOB,
        "ranks": 8,
        "ranks_here": 8,
        "pids": list(range(4711, 4719)),
    }
    place = ("TracedCalls", "communicators", "world")
    node.put("TracedCalls", libraries=1, communicators={"world": world})
    node.wait(1800, 60)
    waits(node, *others(node, "15"))
    node.put(*place, waiting_ranks=7, waiting_secs=1.0, call="ncclAllReduce", missing="rank 0")
    node.put(*place, missing_ranks=1, missing_pids=[4711], missing_busy=True)
    node.rate(1.0, *place, "waiting_secs")
    node.rate(3e9, "Disks", "disks", "nvme1n1", "written_bytes")
    node.wait(360, 30)
    node.rate(0.0, *place, "waiting_secs")
    node.rate(0.0, "Disks", "disks", "nvme1n1", "written_bytes")
    node.put(*place, waiting_ranks=0, waiting_secs=0.0, call="", missing="", missing_ranks=0)
    node.put(*place, missing_pids=[], missing_busy=None)
    works(node)
    node.wait(2 * HOUR, 60)


@healthy(*IDLE, node=tower_of_a6000)
def tower_paints_with_loud_fans(node: Story) -> None:
    """Two boards of a tower paint for four hours at 84 degrees with their fans at 79 percent."""
    node.gpus(temperature_celsius=84.0, fan_speed_percent={"0": 79}, power_draw_watts=298.0)
    node.gpus(power_average_watts=297.0, throttle_active={"sw_power_cap": 1})
    node.wait(4 * HOUR, 120)


CASES = (
    model_is_trained_and_saved_every_hour,
    cameras_are_transcoded_by_day,
    new_kernel_writes_where_it_may_not,
    exercise_of_a_course_reads_beyond_its_end,
    job_is_ended_by_its_limit_of_time,
    limit_of_power_is_lower_by_contract,
    acceptance_test_runs_all_day,
    desk_renders_and_sleeps,
    notebook_of_a_guest_is_forgotten,
    old_numbers_of_an_old_card,
    one_bit_is_corrected_at_noon,
    slices_are_lent_to_a_class,
    server_of_a_large_model_fills_its_cards,
    instincts_serve_and_their_driver_talks,
    superchip_simulates_the_weather,
    first_rank_writes_a_checkpoint_alone,
    tower_paints_with_loud_fans,
)
