"""Quiet nodes with cards: work, idleness, crashing programs, stress, sharing, limits."""

from tests.corpus.eighth.nodes import cloud_a100s, cloud_t4, rtx_4090s
from tests.corpus.labels import healthy
from tests.corpus.machines import workstation
from tests.corpus.ninth.nodes import delta_a100s, h100_slices, laptop, mi250s, waits, works
from tests.corpus.parts import GIB, JOB
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    HOUR,
    desk,
    inference_l40s,
    job_starts,
    pod_of_a100,
    pod_of_b200,
    pod_of_h100,
    pod_of_h200,
)

IDLE = ("gpu_idle_allocated", "gpu_allocated_unused")
CRASH = ("gpu_app_fault", "process_crashed", "gpu_page_fault", *IDLE)
HARDWARE = ("gpu_suspect_hardware", "gpu_lost", "gpu_ecc_uncorrected", "gpu_reset_required")


@healthy("gpu_busy_without_work", node=pod_of_h100)
def week_of_training_in_short(node: Story) -> None:
    """A job trains for ten hours; once an hour it writes a checkpoint and evaluates."""
    for _ in range(10):
        node.wait(3300, 60)
        waits(node, watts=190.0)
        node.rate(2e9, "Disks", "disks", "nvme1n1", "written_bytes")
        node.wait(120, 30)
        node.rate(0.0, "Disks", "disks", "nvme1n1", "written_bytes")
        works(node)
    node.wait(300, 60)


@healthy(node=inference_l40s)
def requests_come_in_waves(node: Story) -> None:
    """Four boards answer requests: full by day, nearly nothing in between, never broken."""
    for load, watts in ((95.0, 320.0), (40.0, 190.0), (3.0, 85.0), (99.0, 345.0), (60.0, 240.0)):
        for bus in node.bus_addresses:
            node.gpu(bus, utilization_percent=load, power_draw_watts=watts)
            node.gpu(bus, power_average_watts=watts, temperature_celsius=35.0 + watts / 10)
        node.wait(1800, 60)


@healthy("gpu_memory_pressure", node=pod_of_h200)
def server_of_models_reserves_all_memory(node: Story) -> None:
    """An engine takes 138 of 141 GiB of each card for its cache, as it should."""
    node.gpus(memory_used_bytes=138 * GIB, memory_free_bytes=2 * GIB)
    node.wait(3 * HOUR, 120)


@healthy(*CRASH, never=HARDWARE, node=pod_of_a100)
def student_reads_beyond_an_array(node: Story) -> None:
    """A program touches what is not mapped, dies by Xid 31 and 43, is mended and runs."""
    node.wait(600, 60)
    node.xid(
        "3d",
        31,
        "Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_2 faulted @ "
        "0x7fb4_2c000000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_WRITE",
        pid="4712",
        name="a.out",
    )
    node.xid("3d", 43, "Ch 0000000a", pid="4712", name="a.out")
    node.wait(30)
    node.job_ends()
    node.wait(900, 60)
    job_starts(node, pod_of_a100)
    node.wait(HOUR, 60)


@healthy(
    *CRASH,
    expect=("gpu_app_fault@*|process_crashed@*|gpu_page_fault@*",),
    never=HARDWARE,
    node=inference_l40s,
)
def one_user_crashes_the_same_kernel_all_evening(node: Story) -> None:
    """A new kernel of one user faults on each of four boards in turn: nothing is broken."""
    for number, bus in enumerate(("21", "41", "a1", "e1")):
        node.wait(900, 60)
        node.xid(
            bus,
            31,
            f"Ch 00000002, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC{number} GPCCLIENT_T1_3 "
            "faulted @ 0x7f2e_41a00000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
            pid=str(9100 + number),
            name="mykernel",
        )
        node.log(
            f"mykernel[{9100 + number}]: segfault at 0 ip 00007f18a2b01c34 sp 00007ffe1aa0 "
            "error 4 in libmine.so[7f18a2a00000+180000]"
        )
    node.wait(HOUR, 60)


@healthy(*CRASH, never=HARDWARE, node=rtx_4090s)
def preemption_kills_jobs_with_their_channels(node: Story) -> None:
    """The scheduler kills four jobs: Xid 45 on each card, and the next ones start."""
    node.wait(600, 60)
    for number, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, f"Ch 0000000{number + 8}", pid=str(4711 + number), name="python3")
    node.job_ends()
    node.wait(240, 30)
    job_starts(node, rtx_4090s)
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, "gpu_power_limit_low", node=pod_of_h100)
def cards_are_capped_for_a_hot_week(node: Story) -> None:
    """All cards are limited to 500 W by intent: they are at their cap all the time."""
    for bus in node.bus_addresses:
        node.gpu(bus, power_limit_watts=500.0, power_limit_range_watts={"requested": 500})
        node.gpu(bus, power_draw_watts=498.0, power_average_watts=498.0)
        node.gpu(bus, throttle_active={"sw_power_cap": 1})
        node.gpu(bus, clock_hertz={"graphics": 1.59e9, "sm": 1.59e9})
    node.wait(3 * HOUR, 120)


@healthy(node=pod_of_b200)
def burn_in_of_a_new_node(node: Story) -> None:
    """Dcgmi and gpu-burn load all cards to their power limit for three hours."""
    for bus in node.bus_addresses:
        node.gpu(bus, utilization_percent=100.0, power_draw_watts=998.0, temperature_celsius=76.0)
        node.gpu(bus, power_average_watts=996.0, memory_temperature_celsius=86.0)
        node.gpu(bus, thermal_margin_celsius=11.0, throttle_active={"sw_power_cap": 1})
        node.gpu(bus, clock_hertz={"graphics": 1.5e9, "sm": 1.5e9})
    node.put("Cpu", usage_percent=55.0, used_cores=70.0)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, "gpu_persistence_off", node=desk)
def desk_is_left_alone_overnight(node: Story) -> None:
    """A workstation draws its screen and nothing else; the links of its cards slow down."""
    node.job_ends()
    for bus in node.bus_addresses:
        node.gpu(bus, pcie_link_generation=1, fan_speed_percent={"0": 30}, power_draw_watts=22.0)
        node.gpu(bus, power_average_watts=22.0, temperature_celsius=36.0, performance_state=8)
    node.wait(6 * HOUR, 300)


@healthy(*IDLE, expect=("gpu_idle_allocated@*",), node=cloud_t4)
def notebook_is_open_and_nobody_types(node: Story) -> None:
    """A notebook holds the card of a guest for four hours and computes nothing."""
    node.wait(300, 60)
    node.idle_since_now()
    node.gpus(power_draw_watts=27.0, power_average_watts=27.0, temperature_celsius=41.0)
    node.wait(4 * HOUR, 120)


@healthy("gpu_idle_allocated", node=delta_a100s)
def two_weeks_old_corrected_errors(node: Story) -> None:
    """A card has 911 corrected errors from before and gets one more each hour: harmless."""
    node.gpu("46", ecc_errors_total={"corrected": {"aggregate": 911, "volatile": 17}})
    place = ("Gpus", "states", "46", "gpu", "ecc_errors_total", "corrected")
    for kind in ("volatile", "aggregate"):
        node.rate(1 / 3600, *place, kind)
    node.wait(5 * HOUR, 120)


@healthy(node=pod_of_a100)
def row_was_remapped_last_year(node: Story) -> None:
    """Two rows of a card were remapped long ago and a reset has made that good."""
    node.gpu("9a", remapped_rows_total={"corrected": 1, "uncorrected": 1})
    node.gpu("9a", row_remap_banks={"max": 638, "high": 2})
    node.gpu("9a", ecc_errors_total={"uncorrected": {"aggregate": 1}})
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, node=h100_slices)
def notebooks_on_slices_come_and_go(node: Story) -> None:
    """Slices of two boards are used by turns; the boards themselves say no utilization."""
    for watts in (110.0, 205.0, 150.0, 260.0):
        node.gpus(power_draw_watts=watts, power_average_watts=watts)
        node.gpus(temperature_celsius=38.0 + watts / 15)
        node.wait(2400, 60)


@healthy(*IDLE, "gpu_persistence_off", node=laptop)
def laptop_sleeps_with_its_lid_closed(node: Story) -> None:
    """A laptop works, sleeps for half an hour and wakes up; its card is suspended now and then."""
    node.wait(600, 60)
    node.log("PM: suspend entry (s2idle)")
    node.wait(1800, 1800)
    node.log(
        "PM: suspend exit",
        "iwlwifi 0000:00:14.3: WRT: Invalid buffer destination",
        "ACPI: EC: interrupt unblocked",
    )
    node.state("01", suspended=True, stale=True)
    node.wait(900, 60)
    node.state("01", suspended=False, stale=False)
    node.wait(HOUR, 60)


@healthy(node=mi250s)
def instincts_train_without_trouble(node: Story) -> None:
    """Eight halves of MI250X train, and their driver talks while processes come and go."""
    node.wait(600, 60)
    node.log(
        "amdgpu: Freeing queue vital buffer 0x7f1c40000000, queue evicted",
        "amdgpu 0000:c1:00.0: amdgpu: PCIe atomic ops is supported",
    )
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, "gpu_busy_without_work", "nccl_rank_missing", node=pod_of_h200)
def ranks_wait_for_a_slow_evaluation(node: Story) -> None:
    """For eight minutes seven ranks wait while the first one evaluates, then all go on."""
    communicator = {
        "id": "77",
        "workload": JOB,
        "ranks": 8,
        "ranks_here": 8,
        "pids": list(range(4711, 4719)),
    }
    node.put("TracedCalls", libraries=1, communicators={"c": communicator})
    node.wait(600, 60)
    waits(node, *node.bus_addresses[1:])
    place = ("TracedCalls", "communicators", "c")
    node.put(*place, waiting_ranks=7, waiting_secs=1.0, call="ncclAllReduce", missing="rank 0")
    node.put(*place, missing_ranks=1, missing_pids=[4711], missing_busy=True)
    node.rate(1.0, *place, "waiting_secs")
    node.wait(480, 30)
    node.rate(0.0, *place, "waiting_secs")
    node.put(*place, waiting_ranks=0, waiting_secs=0.0, call="", missing="", missing_ranks=0)
    node.put(*place, missing_pids=[], missing_busy=None)
    works(node, watts=605.0)
    node.wait(HOUR, 60)


@healthy("gpu_persistence_off", node=workstation)
def game_is_played_in_the_evening(node: Story) -> None:
    """A GeForce draws frames at 430 W with its fans at 80 %, and rests again."""
    node.wait(300, 60)
    node.gpu("3b", utilization_percent=99.0, power_draw_watts=430.0, power_average_watts=430.0)
    node.gpu("3b", temperature_celsius=79.0, fan_speed_percent={"0": 80, "1": 80})
    node.wait(2 * HOUR, 120)
    node.gpu("3b", utilization_percent=2.0, power_draw_watts=28.0, power_average_watts=28.0)
    node.gpu("3b", temperature_celsius=41.0, fan_speed_percent={"0": 0, "1": 0})
    node.gpu("3b", throttle_active={"gpu_idle": 1}, clock_hertz={"graphics": 2.1e8, "sm": 2.1e8})
    node.wait(HOUR, 60)


@healthy(node=cloud_a100s)
def guest_trains_in_a_cloud(node: Story) -> None:
    """A guest without sensors and memory controllers trains all night."""
    node.rate(180_000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.rate(3.0, "NetworkStack", "tcp_retransmitted_segments")
    node.wait(5 * HOUR, 120)


CASES = (
    week_of_training_in_short,
    requests_come_in_waves,
    server_of_models_reserves_all_memory,
    student_reads_beyond_an_array,
    one_user_crashes_the_same_kernel_all_evening,
    preemption_kills_jobs_with_their_channels,
    cards_are_capped_for_a_hot_week,
    burn_in_of_a_new_node,
    desk_is_left_alone_overnight,
    notebook_is_open_and_nobody_types,
    two_weeks_old_corrected_errors,
    row_was_remapped_last_year,
    notebooks_on_slices_come_and_go,
    laptop_sleeps_with_its_lid_closed,
    instincts_train_without_trouble,
    ranks_wait_for_a_slow_evaluation,
    game_is_played_in_the_evening,
    guest_trains_in_a_cloud,
)
