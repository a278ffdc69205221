"""Nodes whose GPUs are well: users' crashing programs, benchmarks, limits set on purpose."""

from tests.corpus.eighth.nodes import b200_box, rank_ends
from tests.corpus.fifth.nodes import a100s, l40s
from tests.corpus.labels import healthy
from tests.corpus.machines import workstation
from tests.corpus.ninth.nodes import (
    HOUR,
    a40s,
    cloud_h100s,
    delta_a100s,
    h100_slices,
    mi250s,
    roce_box,
    waits,
    works,
)
from tests.corpus.parts import GIB, client, limits, use
from tests.corpus.probes.nodes import counted_job, goes_on, waits_for
from tests.corpus.seventh.nodes import SPINS, a10s, hgx, mi300s, rests, rtx_3090s
from tests.corpus.sixth.nodes import h200s
from tests.corpus.story import Story

BROKEN = ("gpu_suspect_hardware", "gpu_lost", "gpu_ecc_uncorrected", "gpu_xid_critical")
USERS = ("gpu_app_fault", "process_crashed", "gpu_allocated_unused", "gpu_idle_allocated")


def _new_process(node: Story, bus: str, old: str, pid: str) -> None:
    """The pod starts its program anew on the same card."""
    node.put("Workloads", "clients", **{old: None})
    node.put("Workloads", "clients", **{pid: client(int(pid), bus, started_boottime=node.at)})
    node.gpu(bus, processes=[{"pid": int(pid), "kind": "compute"}])


@healthy(*USERS, never=BROKEN, node=delta_a100s)
def student_has_a_wild_pointer(node: Story) -> None:
    """One job is started twenty times on one card, and each time it ends with Xid 31."""
    old = "4711"
    for turn in range(20):
        pid = str(20_000 + 7 * turn)
        _new_process(node, "07", old, pid)
        node.wait(240, 60)
        node.xid(
            "07",
            31,
            f"Ch 0000000{turn % 8}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_"
            f"{turn % 6} faulted @ 0x7f{turn:02x}_4c000000. Fault is of type FAULT_PDE "
            "ACCESS_TYPE_VIRT_WRITE",
            pid=pid,
            name="a.out",
        )
        node.put("Workloads", "clients", **{pid: None})
        node.wait(30)
        old = pid


@healthy(*USERS, never=BROKEN, node=roce_box)
def kernel_in_development_traps_on_all_cards(node: Story) -> None:
    """Xid 13 of all eight ranks at once and Xid 43 of one, four times in a morning."""
    for turn in range(4):
        first = 4711 + 1000 * turn
        node.wait(1200, 60)
        for rank, bus in enumerate(node.bus_addresses):
            text = (
                f"Graphics SM Warp Exception on (GPC {(rank + turn) % 7}, TPC "
                f"{(rank * 2 + turn) % 9}, SM 1): Out Of Range Address"
            )
            node.xid(bus, 13, text, pid=str(first + rank), name="python3")
        node.xid("19", 43, "Ch 00000018", pid=str(first), name="python3")
        for rank, bus in enumerate(node.bus_addresses):
            _new_process(node, bus, str(first + rank), str(first + 1000 + rank))
    node.wait(1200, 60)


@healthy(*USERS, never=BROKEN, node=a100s)
def job_is_cancelled_by_its_user(node: Story) -> None:
    """Scancel ends a job of eight ranks: Xid 45 of each card, and then the next job starts."""
    for turn in range(3):
        node.wait(1800, 120)
        for rank, bus in enumerate(node.bus_addresses):
            pid = 4711 + 100 * turn + rank
            node.xid(bus, 45, f"Ch 000000{rank:02x}", pid=str(pid), name="python")
            _new_process(node, bus, str(pid), str(pid + 100))
        node.gpus(utilization_percent=0.0, power_draw_watts=70.0, memory_used_bytes=0)
        node.wait(45)
        node.gpus(utilization_percent=97.0, power_draw_watts=335.0, memory_used_bytes=60 * GIB)


@healthy(node=hgx)
def linpack_runs_against_the_power_limit(node: Story) -> None:
    """Eight cards at 699 W: their clocks are held down by the limit, as it should be."""
    node.gpus(throttle_active=limits("sw_power_cap"), power_draw_watts=698.0)
    node.gpus(power_average_watts=699.0, temperature_celsius=71.0, memory_temperature_celsius=83.0)
    node.gpus(clock_hertz={"graphics": 1.41e9, "sm": 1.41e9}, utilization_percent=100.0)
    node.gpus(thermal_margin_celsius=16.0)
    node.wait(2 * HOUR, 120)


@healthy(node=h200s)
def burn_in_of_a_new_node_is_warm(node: Story) -> None:
    """A day of diagnostics: up to 82 degrees, five below any limit, with pauses in between."""
    for _ in range(4):
        node.gpus(temperature_celsius=82.0, memory_temperature_celsius=88.0, power_draw_watts=697.0)
        node.gpus(thermal_margin_celsius=5.0, throttle_active=limits("sw_power_cap"))
        node.gpus(utilization_percent=100.0)
        node.wait(HOUR, 120)
        node.gpus(temperature_celsius=41.0, memory_temperature_celsius=46.0, power_draw_watts=118.0)
        node.gpus(thermal_margin_celsius=46.0, throttle_active=limits("gpu_idle"))
        node.gpus(utilization_percent=0.0)
        node.wait(600, 60)


@healthy(node=a40s)
def idle_cards_save_power_on_their_links(node: Story) -> None:
    """Nobody works: the links fall to 2.5 GT/s and rise again with the next job."""
    rests(node, 31.0)
    node.gpus(pcie_link_generation=1, performance_state=8, clock_hertz={"graphics": 2.1e8})
    node.gpus(clock_hertz={"sm": 2.1e8, "memory": 4.05e8})
    for bus in ("31", "ca"):
        node.put("Pcie", "devices", bus, speed_bytes_per_second=2.5e8)
    node.wait(2 * HOUR, 240)
    node.gpus(pcie_link_generation=4, performance_state=0)
    node.gpus(clock_hertz={"graphics": 1.635e9, "sm": 1.635e9, "memory": 7.251e9})
    for bus in ("31", "ca"):
        node.put("Pcie", "devices", bus, speed_bytes_per_second=3.94e9)
    for number, bus in enumerate(("31", "ca")):
        node.put("Workloads", "uses", **{bus: use(bus)})
        _new_process(node, bus, "4711", str(5100 + number))
    works(node, watts=271.0, heat=68.0)
    node.gpus(throttle_active=limits(), memory_used_bytes=36 * GIB)
    node.wait(HOUR, 120)


@healthy(never=("gpu_lost", "gpu_count_low"), node=h100_slices)
def slices_are_cut_anew(node: Story) -> None:
    """Notebooks end, seven slices of a card become two larger ones, and notebooks start again."""
    node.wait(600, 60)
    node.put("Workloads", "clients", **{"4711": None})
    node.gpu("31", mig_instances=[], processes=[], memory_used_bytes=0, power_draw_watts=76.0)
    node.wait(60)
    large = [
        {
            "gpu_instance": 1 + number,
            "compute_instance": 0,
            "mig_uuid": f"MIG-31-large-{number}",
            "profile": "3g.40gb",
            "memory_total_bytes": 40 * GIB,
            "memory_used_bytes": 22 * GIB,
        }
        for number in range(2)
    ]
    node.gpu("31", mig_instances=large, memory_used_bytes=44 * GIB, power_draw_watts=210.0)
    node.put("Workloads", "clients", **{"4811": client(4811, "31")})
    node.gpu("31", processes=[{"pid": 4811, "kind": "compute"}])
    node.wait(2 * HOUR, 240)


@healthy(never=("gpu_ecc_corrected_rate", *BROKEN), node=a100s)
def cards_correct_an_error_now_and_then(node: Story) -> None:
    """Each hour one of eight cards corrects one error, without a word of the driver."""
    for number, bus in enumerate(node.bus_addresses):
        node.wait(HOUR, 240)
        node.gpu(bus, ecc_errors_total={"corrected": {"volatile": 1, "aggregate": 4 + number}})


@healthy("nvlink_errors", never=("nvlink_down", "nvlink_fatal", "gpu_nvlink_fatal"), node=hgx)
def links_replay_a_little(node: Story) -> None:
    """A handful of replays each hour on three cards of eight, and a few damaged flits."""
    for bus, replays in (("19", 0.001), ("66", 0.002), ("e4", 0.0005)):
        place = ("Gpus", "states", bus, "gpu", "nvlink_errors_total")
        node.rate(replays, *place, "replay")
        node.rate(10 * replays, *place, "crc_flit")
    node.wait(4 * HOUR, 240)


@healthy(
    *("gpu_app_fault", "nvlink_errors", "gpu_unknown_xid"),
    never=("gpu_nvlink_fatal", "nvlink_fatal", "nvlink_down"),
    node=b200_box,
)
def peer_of_a_killed_rank_reads_over_a_link(node: Story) -> None:
    """A rank is killed while others read its memory: nonfatal Xid 145, and the job starts anew."""
    node.wait(900, 60)
    status = "(0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)"
    for bus, link in (("19", 13), ("2d", 4)):
        node.xid(bus, 145, f"RLW_RXPIPE Nonfatal XC0 i0 Link {link:02d} {status}")
    for rank, bus in enumerate(node.bus_addresses):
        text = "Ch 00000002 caused by previous Xid 145"
        node.xid(bus, 45, text, pid=str(4711 + rank), name="python3")
    node.wait(3 * HOUR, 120)


@healthy("gpu_memory_pressure", node=l40s)
def server_of_models_takes_all_memory(node: Story) -> None:
    """A server of models reserves 97 percent of each card at its start, as it is told to."""
    node.gpus(memory_used_bytes=int(43.6 * GIB), memory_free_bytes=int(0.6 * GIB))
    for load in (12.0, 88.0, 34.0, 97.0, 5.0):
        node.gpus(utilization_percent=load, power_draw_watts=70.0 + 2.3 * load)
        node.gpus(temperature_celsius=40.0 + 0.22 * load)
        node.wait(1200, 60)


@healthy(*SPINS, node=a10s)
def notebooks_sleep_over_lunch(node: Story) -> None:
    """Four notebooks hold their cards and compute nothing for three hours."""
    node.idle_since_now()
    node.gpus(power_draw_watts=23.0, temperature_celsius=36.0)
    node.wait(3 * HOUR, 120)


@healthy("gpu_power_limit_low", "gpu_clock_low", node=rtx_3090s)
def miner_became_a_laboratory_with_quiet_cards(node: Story) -> None:
    """All cards of a tower run at 250 of 350 W, set at each boot, to keep the room cool."""
    node.gpus(power_limit_watts=250.0, power_limit_range_watts={"requested": 250})
    node.gpus(throttle_active=limits("sw_power_cap"), power_draw_watts=249.0)
    node.gpus(clock_hertz={"graphics": 1.485e9, "sm": 1.485e9}, temperature_celsius=61.0)
    node.wait(3 * HOUR, 240)


@healthy(never=("gpu_clock_low", "gpu_thermal_throttle"), node=cloud_h100s)
def clocks_are_locked_for_a_measurement(node: Story) -> None:
    """An experiment locks the clocks of all cards at 1.2 GHz for two hours, then frees them."""
    node.wait(600, 60)
    node.gpus(throttle_active=limits("applications_clocks_setting"), power_draw_watts=380.0)
    node.gpus(clock_hertz={"graphics": 1.2e9, "sm": 1.2e9}, temperature_celsius=52.0)
    node.wait(2 * HOUR, 120)
    node.gpus(throttle_active=limits(), clock_hertz={"graphics": 1.755e9, "sm": 1.755e9})
    works(node)
    node.wait(HOUR, 120)


@healthy("nccl_straggler", "gpu_busy_without_work", never=("nccl_hang",), node=counted_job)
def checkpoints_stop_three_ranks_for_ten_seconds(node: Story) -> None:
    """Each quarter of an hour rank 0 writes for ten seconds, while the others wait for it."""
    for _ in range(8):
        node.wait(870, 30)
        waits_for(node, 0)
        waits(node, *node.bus_addresses[1:])
        node.wait(10, 5)
        goes_on(node)
        works(node)
    node.wait(600, 60)


@healthy(node=roce_box)
def power_of_a_job_swings_with_each_step(node: Story) -> None:
    """Each minute eight cards fall from 690 to 240 W while gradients are exchanged."""
    for number in range(90):
        waits(node, watts=240.0) if number % 2 else works(node, watts=690.0, heat=66.0)
        node.wait(30, 15)


@healthy("gpu_page_fault", "gpu_app_fault", "process_crashed", node=mi250s)
def program_on_an_instinct_reads_beyond_its_memory(node: Story) -> None:
    """The driver prints the page faults of a user's program, which ends; no ring times out."""
    card = "amdgpu 0000:2d:00.0: amdgpu:"
    for turn in range(3):
        node.wait(1200, 60)
        node.log(
            f"{card} [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:3277{turn})",
            f"{card}  for process python3 pid {51_000 + turn} thread python3 pid {51_000 + turn}",
            f"{card}   in page starting at address 0x00007f3c20000000 from IH client 0x1b (UTCL2)",
            f"{card} VM_L2_PROTECTION_FAULT_STATUS:0x00841051",
            f"{card} \t Faulty UTCL2 client ID: TCP (0x8)",
            f"{card} \t PERMISSION_FAULTS: 0x5",
        )
    node.wait(HOUR, 120)


@healthy(node=mi300s)
def eight_instincts_have_nothing_to_do(node: Story) -> None:
    """Eight MI300X idle through a night at 130 W each, with a corrected error on one of them."""
    node.put("Workloads", "clients", **dict.fromkeys(map(str, range(4711, 4719))))
    node.put("Workloads", "uses", **dict.fromkeys(node.bus_addresses))
    node.gpus(processes=[], utilization_percent=0.0, power_draw_watts=131.0, memory_used_bytes=0)
    node.gpus(temperature_celsius=38.0, memory_temperature_celsius=33.0)
    node.wait(3 * HOUR, 240)
    node.gpu("66", ecc_errors_total={"corrected": {"volatile": 1}})
    node.wait(3 * HOUR, 240)


@healthy("gpu_persistence_off", "process_crashed", "gpu_app_fault", node=workstation)
def game_crashes_on_a_desktop(node: Story) -> None:
    """A game ends with Xid 13 and a segmentation fault, and its user starts it again."""
    node.wait(900, 60)
    node.xid("3b", 13, "Graphics Exception: ESR 0x505648=0x3000f 0x505650=0x24", pid="9021")
    node.log(
        "vkd3d_queue[9044]: segfault at 18 ip 00007f1e5a12c3d4 sp 00007f1dc9ffe1a0 error 4 in "
        "libnvidia-glcore.so.570.124.06[7f1e5a000000+1f2a000]"
    )
    node.wait(2 * HOUR, 120)


@healthy("gpu_allocated_unused", "gpu_app_fault", "process_crashed", never=BROKEN, node=delta_a100s)
def program_fails_an_assertion_on_its_card(node: Story) -> None:
    """Xid 43 of a program whose assertion fails on the card, once a day; the card goes on."""
    for turn in range(3):
        node.wait(HOUR, 120)
        pid = "4713" if turn == 0 else str(30_000 + turn)
        node.xid("85", 43, "Ch 00000010", pid=pid, name="python")
        rank_ends(node, "85", pid)
        node.wait(60)
        _new_process(node, "85", pid, str(30_001 + turn))
        node.gpu("85", utilization_percent=97.0, power_draw_watts=318.0, memory_used_bytes=31 * GIB)
        node.gpu("85", power_average_watts=318.0, temperature_celsius=54.0)


CASES = (
    student_has_a_wild_pointer,
    kernel_in_development_traps_on_all_cards,
    job_is_cancelled_by_its_user,
    linpack_runs_against_the_power_limit,
    burn_in_of_a_new_node_is_warm,
    idle_cards_save_power_on_their_links,
    slices_are_cut_anew,
    cards_correct_an_error_now_and_then,
    links_replay_a_little,
    peer_of_a_killed_rank_reads_over_a_link,
    server_of_models_takes_all_memory,
    notebooks_sleep_over_lunch,
    miner_became_a_laboratory_with_quiet_cards,
    clocks_are_locked_for_a_measurement,
    checkpoints_stop_three_ranks_for_ten_seconds,
    power_of_a_job_swings_with_each_step,
    program_on_an_instinct_reads_beyond_its_memory,
    eight_instincts_have_nothing_to_do,
    game_crashes_on_a_desktop,
    program_fails_an_assertion_on_its_card,
)
