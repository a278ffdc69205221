"""Cards and jobs that look ill and are well."""

from tests.corpus.eighth.nodes import HOURS, b200_box, cloud_a100s, cloud_t4, rtx_4090s
from tests.corpus.fifth.nodes import a100s, l40s, loads, unloads, v100s
from tests.corpus.labels import healthy
from tests.corpus.parts import GIB, client, limits, use
from tests.corpus.seventh.nodes import NOBODY, a10s, grace_hopper, hgx, mi300s, restarts, rests
from tests.corpus.sixth.nodes import a30s, drains, h200s
from tests.corpus.story import Story

BROKEN = ("gpu_lost", "gpu_gsp_failure", "gpu_ecc_uncorrected", "gpu_xid_critical")


@healthy(never=("gpu_clock_low", "gpu_power_brake"), node=hgx)
def training_runs_at_its_power_limit_for_a_day(node: Story) -> None:
    """Eight cards are held by their limit of 700 W; clocks differ a little from card to card."""
    node.gpus(power_draw_watts=699.0, power_average_watts=698.0, temperature_celsius=69.0)
    node.gpus(throttle_active=limits("sw_power_cap"), thermal_margin_celsius=18.0)
    for turn, bus in enumerate(node.bus_addresses):
        clock = 1.62e9 + 1.5e7 * (turn % 4)
        node.gpu(bus, clock_hertz={"graphics": clock, "sm": clock})
    node.wait(24 * 3600, 1800)


@healthy("gpu_memory_pressure", "gpu_idle_allocated", node=a10s)
def chat_servers_have_a_quiet_and_a_busy_hour(node: Story) -> None:
    """Four servers hold nearly all memory; for twenty minutes nobody asks, then everybody."""
    node.gpus(memory_used_bytes=21 * GIB, memory_free_bytes=GIB)
    for _ in range(3):
        node.gpus(utilization_percent=0.0, memory_controller_utilization_percent=0.0)
        node.gpus(power_draw_watts=57.0, temperature_celsius=49.0)
        for bus in node.bus_addresses:
            node.rate(1.0, "Workloads", "uses", bus, "idle_allocated_secs")
        node.wait(1200, 60)
        for bus in node.bus_addresses:
            node.rate(0.0, "Workloads", "uses", bus, "idle_allocated_secs")
            node.put("Workloads", "uses", bus, idle_allocated_secs=0)
        node.gpus(utilization_percent=100.0, memory_controller_utilization_percent=80.0)
        node.gpus(power_draw_watts=150.0, temperature_celsius=64.0)
        node.gpus(throttle_active={"sw_power_cap": 1})
        node.wait(1200, 60)
        node.gpus(throttle_active={"sw_power_cap": 0})


@healthy("gpu_app_fault", never=(*BROKEN, "gpu_suspect_hardware"), node=b200_box)
def first_try_of_a_new_kernel_is_illegal(node: Story) -> None:
    """One process reads out of its bounds, once: Xid 13 on four places of one card, then 43."""
    node.wait(120)
    for sm in range(4):
        node.xid(
            *("66", 13),
            f"Graphics SM Warp Exception on (GPC {sm}, TPC {sm + 2}, SM 0): Out Of Range Address",
            pid="4714",
            name="python3",
        )
    node.xid("66", 43, "Ch 00000008", pid="4714", name="python3")
    node.wait(1800, 60)


@healthy("gpu_app_fault", "process_crashed", never=(*BROKEN,), node=rtx_4090s)
def tenant_starts_a_broken_program_all_day(node: Story) -> None:
    """One tenant of one card starts the same faulty program fifteen times within five hours."""
    node.wait(60)
    for turn in range(15):
        pid = str(12_000 + 31 * turn)
        node.xid(
            *("25", 31),
            "Ch 00000018, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_8 faulted @ "
            f"0x7fa{turn:x}_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE",
            pid=pid,
            name="train.py",
        )
        node.xid("25", 43, "Ch 00000018", pid=pid, name="train.py")
        node.wait(1200, 120)


@healthy("gpu_app_fault", never=BROKEN, node=a30s)
def slices_are_freed_by_a_scheduler(node: Story) -> None:
    """Jobs in slices of an A30 are ended by their scheduler: dozens of Xid 45 of two instances."""
    node.wait(60)
    for number in range(24):
        for instance in (3, 5):
            node.log(
                f"NVRM: Xid (PCI:0000:41:00 GPU-I:{instance:02d}): 45, pid=77{instance}1, "
                f"name=python, Ch {number:08x}"
            )
    node.wait(1800, 60)


@healthy("gpu_app_fault", never=(*BROKEN, "nvlink_fatal"), node=h200s)
def rank_touches_memory_of_a_peer_that_is_gone(node: Story) -> None:
    """A job ends untidily: Xid 137 of two ranks and Xid 45 of all, then the next job starts."""
    node.wait(60)
    for bus, pid in (("23", "4712"), ("63", "4714")):
        node.xid(
            *(bus, 137),
            "NVLink: Remote MMU fault, intr 00000000 faulted @ 0x7e1a_20000000",
            pid=pid,
            name="python3",
        )
    for rank, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 0000000e", pid=str(4711 + rank), name="python3")
    drains(node)
    node.wait(300, 30)
    for index, bus in enumerate(node.bus_addresses):
        rank = 9100 + index
        node.put("Workloads", "clients", **{str(rank): client(rank, bus)})
        node.put("Workloads", "uses", **{bus: use(bus)})
        node.gpu(bus, processes=[{"pid": rank, "kind": "compute"}], memory_used_bytes=60 * GIB)
        node.gpu(bus, utilization_percent=97.0, power_draw_watts=610.0, temperature_celsius=62.0)
        node.gpu(bus, throttle_active=limits(), memory_controller_utilization_percent=45.0)
    node.wait(1800, 60)


@healthy("gpu_idle_allocated", "gpu_busy_without_work", node=cloud_a100s)
def graph_is_compiled_for_ten_minutes(node: Story) -> None:
    """A job compiles its graph on the processors: eight cards hold memory and do nothing."""
    node.wait(60)
    node.idle_since_now()
    node.put("Cpu", usage_percent=88.0, load1=92.0)
    node.wait(600, 30)
    node.busy_again()
    node.gpus(clock_hertz={"graphics": 1.35e9, "sm": 1.35e9}, power_draw_watts=310.0)
    node.put("Cpu", usage_percent=22.0, load1=24.0)
    node.wait(3600, 60)


@healthy(never=("gpu_pcie_link_degraded", "gpu_clock_low"), node=l40s)
def links_slow_down_between_requests(node: Story) -> None:
    """Two cards rest between requests at PCIe generation 1, and are at 4 whenever they work."""
    for _ in range(8):
        node.gpus(utilization_percent=0.0, pcie_link_generation=1, performance_state=8)
        node.gpus(clock_hertz={"graphics": 2.1e8, "sm": 2.1e8}, power_draw_watts=36.0)
        node.gpus(throttle_active={"gpu_idle": 1}, memory_controller_utilization_percent=0.0)
        node.wait(90, 15)
        node.gpus(utilization_percent=93.0, pcie_link_generation=4, performance_state=0)
        node.gpus(clock_hertz={"graphics": 2.31e9, "sm": 2.31e9}, power_draw_watts=290.0)
        node.gpus(throttle_active={"gpu_idle": 0}, memory_controller_utilization_percent=40.0)
        node.wait(240, 30)


@healthy(node=h200s)
def old_repairs_and_errors_of_long_ago(node: Story) -> None:
    """Two rows were remapped months ago, counters of all times are not zero; nothing is new."""
    node.gpu("83", remapped_rows_total={"corrected": 1, "uncorrected": 1})
    node.gpu("83", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 1}})
    node.gpu("c3", ecc_errors_total={"corrected": {"volatile": 0, "aggregate": 412}})
    node.gpu("c3", nvlink_errors_total={"crc_flit": 90_411, "replay": 812, "recovery": 4})
    node.gpu("03", pcie_replays_total=1900)
    node.wait(4 * 3600, 300)


@healthy(node=mi300s)
def instincts_rest_between_two_jobs(node: Story) -> None:
    """Eight cards fall into their deepest sleep for an hour, and wake up for the next job."""
    node.wait(120)
    rests(node, 138.0)
    node.gpus(clock_hertz={"graphics": 1.32e8, "memory": 9e8})
    node.wait(3600, 120)


@healthy("gpu_power_limit_low", "gpu_persistence_off", node=rtx_4090s)
def rented_server_saves_power(node: Story) -> None:
    """The owner of a server keeps its cards at 300 of 450 W, without persistence mode."""
    span = {"min": 150.0, "max": 600.0, "default": 450.0, "requested": 300.0}
    node.gpus(power_limit_watts=300.0, power_limit_range_watts=span, persistence_mode=False)
    node.gpus(
        power_draw_watts=299.0, power_average_watts=299.0, throttle_active={"sw_power_cap": 1}
    )
    node.gpus(clock_hertz={"graphics": 2.1e9, "sm": 2.1e9})
    node.wait(HOURS, 120)


@healthy(node=cloud_t4)
def exporter_is_rolled_out_thrice_in_a_guest(node: Story) -> None:
    """The exporter of a small guest is started again three times within an hour."""
    for away in (20, 60, 150):
        node.wait(900, 60)
        restarts(node, away)
    node.wait(1800, 60)


@healthy(node=a100s)
def drained_a100s_go_from_535_to_550(node: Story) -> None:
    """A drained node gets a newer driver; the unload takes two minutes, services follow."""
    node.wait(60)
    rests(node)
    node.wait(180, 30)
    unloads(node, 120)
    loads(node, a100s, "550.163.01")
    node.wait(1800, 60)


@healthy("gpu_unlike_siblings", node=v100s)
def four_v100_do_four_things(node: Story) -> None:
    """One card trains, one serves, one runs a notebook that sleeps, one has nobody."""
    node.gpu("16", utilization_percent=31.0, power_draw_watts=120.0, temperature_celsius=49.0)
    node.gpu("89", utilization_percent=0.0, power_draw_watts=58.0, temperature_celsius=41.0)
    node.gpu("89", memory_used_bytes=3 * GIB, throttle_active=limits("gpu_idle"))
    node.put("Workloads", "uses", **{"8a": None})
    node.put("Workloads", "clients", **{"4714": None})
    node.gpu("8a", utilization_percent=0.0, power_draw_watts=42.0, processes=[])
    node.gpu("8a", memory_used_bytes=0, throttle_active=limits("gpu_idle"))
    node.wait(1800, 60)


@healthy(never=("gpu_lost", "gpu_app_fault", "gpu_memory_orphan"), node=a100s)
def driver_grumbles_when_jobs_end(node: Story) -> None:
    """What drivers print at ends of jobs: invalid contexts of peer memory, failed assertions."""
    node.wait(60)
    for _ in range(6):
        node.log(
            "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping "
            "further processing",
            "NVRM: nvAssertFailedNoLog: Assertion failed: listCount(&pKernelBus->list) == 0 @ "
            "kern_bus.c:1021",
            "NVRM: nvidia_uvm: uvm_release: va_space teardown is deferred",
        )
        node.wait(300, 60)


@healthy(node=hgx)
def burn_in_before_a_node_goes_back(node: Story) -> None:
    """An operator burns a drained node in: full power and 80 degrees, then idle, three times."""
    node.wait(60)
    rests(node)
    for _ in range(3):
        node.gpus(utilization_percent=100.0, power_draw_watts=696.0, temperature_celsius=79.0)
        node.gpus(thermal_margin_celsius=8.0, memory_temperature_celsius=88.0)
        node.gpus(memory_controller_utilization_percent=70.0, power_average_watts=690.0)
        node.gpus(throttle_active=limits("sw_power_cap"))
        node.wait(900, 30)
        rests(node, 72.0)
        node.gpus(thermal_margin_celsius=52.0, memory_temperature_celsius=41.0)
        node.gpus(throttle_active=limits("gpu_idle"))
        node.wait(300, 30)


@healthy(never=("gpu_c2c_failed",), node=grace_hopper)
def superchip_corrects_and_works(node: Story) -> None:
    """A Grace Hopper at work: two corrected errors of its memory within half a day, no more."""
    for count in (1, 2):
        node.gpu("1", ecc_errors_total={"corrected": {"volatile": count, "aggregate": 3 + count}})
        node.wait(6 * 3600, 600)


@healthy("gpu_app_fault", never=(*BROKEN, "gpu_recovery_required"), node=b200_box)
def job_of_eight_is_cancelled_on_a_b200(node: Story) -> None:
    """Sixteen channels of each of eight ranks are removed, and a recovery action stays None."""
    node.wait(60)
    for number in range(16):
        for rank, bus in enumerate(node.bus_addresses):
            node.xid(bus, 45, f"Ch {number:08x}", pid=str(4711 + rank), name="python3")
    node.xid("66", 154, "GPU recovery action changed from 0x0 (None) to 0x0 (None)", **NOBODY)
    rests(node, 142.0)
    node.wait(1800, 60)


CASES = (
    training_runs_at_its_power_limit_for_a_day,
    chat_servers_have_a_quiet_and_a_busy_hour,
    first_try_of_a_new_kernel_is_illegal,
    tenant_starts_a_broken_program_all_day,
    slices_are_freed_by_a_scheduler,
    rank_touches_memory_of_a_peer_that_is_gone,
    graph_is_compiled_for_ten_minutes,
    links_slow_down_between_requests,
    old_repairs_and_errors_of_long_ago,
    instincts_rest_between_two_jobs,
    rented_server_saves_power,
    exporter_is_rolled_out_thrice_in_a_guest,
    drained_a100s_go_from_535_to_550,
    four_v100_do_four_things,
    driver_grumbles_when_jobs_end,
    burn_in_before_a_node_goes_back,
    superchip_corrects_and_works,
    job_of_eight_is_cancelled_on_a_b200,
)
