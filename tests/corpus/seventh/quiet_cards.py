"""Cards, jobs and the work of operators that look ill and are well."""

from tests.corpus.fifth.nodes import a100s, b200s, loads, unloads
from tests.corpus.labels import healthy
from tests.corpus.parts import GIB, client, limits, use
from tests.corpus.seventh.nodes import (
    NOBODY,
    a10s,
    arcs,
    grace_hopper,
    hgx,
    mi300s,
    npus,
    pro_6000s,
    radeons,
    restarts,
    rests,
    rtx_3090s,
    rtx_5090s,
)
from tests.corpus.story import Story

BROKEN = ("gpu_lost", "gpu_gsp_failure", "gpu_ecc_uncorrected", "gpu_xid_critical")


@healthy(never=("gpu_fan_stopped",), node=rtx_5090s)
def farm_renders_all_day(node: Story) -> None:
    """Two cards are at their power limit, warm and loud, within all limits; frames come and go."""
    node.gpus(power_draw_watts=574.0, power_average_watts=573.0, temperature_celsius=81.0)
    node.gpus(throttle_active=limits("sw_power_cap"), fan_speed_percent={"0": 92, "1": 92})
    for _ in range(6):
        node.gpus(utilization_percent=100.0, memory_used_bytes=28 * GIB)
        node.wait(540, 60)
        node.gpus(utilization_percent=14.0, memory_used_bytes=6 * GIB)
        node.wait(60, 30)


@healthy("gpu_app_fault", never=(*BROKEN, "gpu_suspect_hardware"), node=rtx_3090s)
def student_debugs_a_kernel(node: Story) -> None:
    """A kernel of a student reads where nothing is, all afternoon, on whichever card is free."""
    node.wait(60)
    for turn in range(9):
        bus = node.bus_addresses[turn % 4]
        pid = str(30_100 + turn)
        node.xid(
            bus,
            13,
            f"Graphics SM Warp Exception on (GPC {turn % 5}, TPC {turn % 3}, SM 0): Out Of Range "
            "Address",
            pid=pid,
            name="a.out",
        )
        node.xid(bus, 43, "Ch 00000008", pid=pid, name="a.out")
        node.wait(1200, 120)


@healthy("gpu_app_fault", never=BROKEN, node=hgx)
def job_is_cancelled_by_its_scheduler(node: Story) -> None:
    """A job of eight ranks is cancelled; forty channels of each are removed; the next one comes."""
    node.wait(120)
    for number in range(40):
        for rank, bus in enumerate(node.bus_addresses):
            node.xid(bus, 45, f"Ch {number:08x}", pid=str(4711 + rank), name="python3")
    rests(node)
    node.wait(240, 30)
    for index, bus in enumerate(node.bus_addresses):
        pid = 70_200 + index
        node.put("Workloads", "clients", **{str(pid): client(pid, bus)})
        node.put("Workloads", "uses", **{bus: use(bus)})
        node.gpu(bus, processes=[{"pid": pid, "kind": "compute"}], memory_used_bytes=60 * GIB)
        node.gpu(bus, utilization_percent=96.0, power_draw_watts=560.0, temperature_celsius=61.0)
        node.gpu(bus, throttle_active=limits(), memory_controller_utilization_percent=45.0)
    node.wait(1800, 60)


@healthy("gpu_app_fault", never=("gpu_pcie_timeout", *BROKEN), node=a10s)
def client_of_a_server_disappears(node: Story) -> None:
    """A video decoder of one tenant gives up on a broken stream: Xid 68 and 43, once."""
    node.wait(60)
    text = "Ch 00000021, engmask 00001000, intr 00000001. NVDEC exception"
    node.xid("43", 68, text, pid="4712", name="ffmpeg")
    node.xid("43", 43, "Ch 00000021", pid="4712", name="ffmpeg")
    node.wait(1800, 60)


@healthy(node=pro_6000s)
def drained_node_gets_a_newer_driver(node: Story) -> None:
    """580.95 becomes 580.105 on a drained node; the unload takes three minutes."""
    node.wait(60)
    rests(node)
    node.wait(120, 30)
    unloads(node, 180)
    loads(node, pro_6000s, "580.105.08")
    node.wait(1800, 60)


@healthy(node=hgx)
def clocks_are_locked_for_equal_ranks(node: Story) -> None:
    """The operator locks all cards to 1.4 GHz: their clocks are low, and for a reason."""
    node.wait(120)
    node.gpus(throttle_active=limits("applications_clocks_setting"))
    node.gpus(clock_hertz={"graphics": 1.4e9, "sm": 1.4e9}, power_draw_watts=430.0)
    node.wait(5400, 120)


@healthy(never=("gpu_c2c_failed", "gpu_pcie_link_degraded"), node=grace_hopper)
def superchip_rests_at_night(node: Story) -> None:
    """One card sleeps beside its Grace: a link of the first generation, and a corrected C2C."""
    rests(node, 88.0)
    node.gpu("1", pcie_link_generation=1, performance_state=8)
    node.wait(1800, 60)
    node.log(
        "NVRM: Xid (PCI:0009:01:00): 121, pid='<unknown>', name=<unknown>, C2C Link corrected error"
    )
    node.wait(3600, 120)


@healthy("gpu_idle_allocated", "gpu_memory_pressure", node=a10s)
def servers_of_models_wait_on_a_sunday(node: Story) -> None:
    """Four model servers hold nearly all memory, and hardly anybody asks them anything."""
    node.gpus(memory_used_bytes=22 * GIB, memory_free_bytes=GIB // 2)
    node.gpus(utilization_percent=0.0, memory_controller_utilization_percent=0.0)
    node.gpus(power_draw_watts=24.0, power_average_watts=24.0, temperature_celsius=44.0)
    node.gpus(throttle_active=limits("gpu_idle"), pcie_link_generation=1)
    node.gpus(clock_hertz={"graphics": 2.1e8, "sm": 2.1e8}, performance_state=8)
    for bus in node.bus_addresses:
        node.rate(1.0, "Workloads", "uses", bus, "idle_allocated_secs")
    node.wait(3 * 3600, 300)


@healthy(node=hgx)
def exporter_restarts_beside_a_busy_job(node: Story) -> None:
    """The exporter is rolled out anew twice; the cards and their job do not care."""
    node.gpu("66", remapped_rows_total={"corrected": 1, "uncorrected": 2})
    node.gpu("66", ecc_errors_total={"uncorrected": {"volatile": 0, "aggregate": 2}})
    node.wait(600, 60)
    restarts(node)
    node.wait(1800, 60)
    restarts(node, 140)
    node.wait(1800, 60)


@healthy(node=mi300s)
def instincts_are_warm_within_their_limits(node: Story) -> None:
    """Eight cards at their power limit, at 88 degrees, ten below what they may have."""
    node.gpus(power_draw_watts=748.0, power_average_watts=747.0, temperature_celsius=88.0)
    node.gpus(thermal_margin_celsius=12.0, memory_temperature_celsius=91.0)
    node.gpus(throttle_active={"sw_power_cap": 1}, utilization_percent=100.0)
    node.wait(5400, 120)


@healthy("gpu_page_fault", "gpu_app_fault", never=("gpu_reset_failed", "gpu_lost"), node=mi300s)
def program_of_a_user_faults_on_an_instinct(node: Story) -> None:
    """A program reads memory that is not mapped; it is ended, the card goes on."""
    card = "amdgpu 0000:9b:00.0: amdgpu:"
    node.wait(60)
    node.log(
        f"{card} [gfxhub0] no-retry page fault (src_id:0 ring:40 vmid:8 pasid:32771, for process "
        "python3 pid 4715 thread python3 pid 4715)",
        f"{card}   in page starting at address 0x00007f2a3c200000 from client 0x1b (UTCL2)",
        f"{card} VM_L2_PROTECTION_FAULT_STATUS:0x00801031",
        f"{card}      MORE_FAULTS: 0x1",
    )
    node.wait(1800, 60)


@healthy(never=("gpu_fan_stopped",), node=radeons)
def radeons_sleep_with_their_fans_off(node: Story) -> None:
    """Two cards have nothing to do; their fans stand still at forty degrees."""
    rests(node, 14.0)
    node.gpus(fan_speed_percent={"0": 0.0}, temperature_celsius=40.0)
    node.gpus(clock_hertz={"graphics": 2.5e7, "memory": 9.6e7}, pcie_link_generation=1)
    node.wait(3600, 120)


@healthy(node=arcs)
def arcs_serve_models(node: Story) -> None:
    """Two cards of Intel at work, and what their driver prints at its load."""
    node.put("Host", uptime_secs=45.0)
    for place in ("0a", "8c"):
        node.log(
            f"xe 0000:{place}:00.0: [drm] Found BATTLEMAGE (device ID e211) display version 14.01 "
            "stepping B0",
            f"xe 0000:{place}:00.0: [drm] Using GuC firmware from xe/bmg_guc_70.bin version "
            "70.72.1",
            f"xe 0000:{place}:00.0: [drm] Tile0: GT0: ccs1 fused off",
            f"xe 0000:{place}:00.0: [drm] vcs1 fused off",
        )
    node.wait(3600, 120)


@healthy("gpu_memory_pressure", node=npus)
def chips_of_ascend_train(node: Story) -> None:
    """Eight Ascend chips at work, warm, with nearly all of their memory in use."""
    node.gpus(temperature_celsius=67.0, power_draw_watts=365.0, memory_used_bytes=63 * GIB)
    node.wait(3600, 120)


@healthy(never=("gpu_memory_orphan",), node=a100s)
def host_memory_runs_short_for_the_driver(node: Story) -> None:
    """A program pins more memory than there is: the driver refuses, and says so at length."""
    node.wait(60)
    for _ in range(4):
        node.log(
            "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] "
            "(0x00000051) returned from osCreateMemFromOsDescriptor(pGpu, pDescriptor, ...)"
        )
        node.wait(30, 15)
    node.wait(1800, 60)


@healthy("gpu_idle_allocated", node=b200s)
def checkpoints_are_written_each_half_hour(node: Story) -> None:
    """All cards are idle for two and a half minutes while a checkpoint is written."""
    for _ in range(3):
        node.wait(1500, 60)
        node.idle_since_now()
        node.rate(2500.0, "Disks", "disks", "nvme1n1", "writes_completed")
        node.rate(1.5, "Disks", "disks", "nvme1n1", "write_time_seconds")
        node.rate(0.9, "Disks", "disks", "nvme1n1", "io_time_seconds")
        node.pressure("io", "some", 28.0)
        node.pressure("io", "full", 11.0)
        node.wait(150, 15)
        for name in ("writes_completed", "write_time_seconds", "io_time_seconds"):
            node.rate(0.0, "Disks", "disks", "nvme1n1", name)
        node.pressure("io", "some", 0.0)
        node.pressure("io", "full", 0.0)
        node.busy_again()
    node.wait(600, 60)


@healthy(never=("nvlink_fatal", "gpu_nvlink_fatal", "nvlink_down"), node=b200s)
def link_is_taken_down_by_software_for_a_new_partition(node: Story) -> None:
    """A drained node is partitioned anew: Xid 155 of all links, which come up again."""
    rests(node)
    node.wait(120, 30)
    for bus in node.bus_addresses:
        node.xid(bus, 155, "NVLink: SW defined Xid: link disabled", **NOBODY)
    node.gpus(nvlink_up=dict.fromkeys(map(str, range(18)), 0))
    node.wait(75, 15)
    node.gpus(nvlink_up=dict.fromkeys(map(str, range(18)), 1))
    node.wait(1800, 60)


@healthy(node=pro_6000s)
def card_corrects_three_errors_in_a_day(node: Story) -> None:
    """Three corrected errors within a day, and a few replays of the bus."""
    for count in range(1, 4):
        node.gpu("25", ecc_errors_total={"corrected": {"volatile": count, "aggregate": 3 + count}})
        node.gpu("25", pcie_replays_total=4 + 2 * count)
        node.wait(8 * 3600, 1200)


@healthy("gpu_unlike_siblings", node=rtx_3090s)
def four_jobs_of_four_students(node: Story) -> None:
    """Each card does something else: training, idling in a notebook, a game, nothing at all."""
    node.gpu("43", utilization_percent=8.0, power_draw_watts=112.0)
    node.gpu("a5", utilization_percent=55.0, power_draw_watts=244.0)
    node.gpu("a5", processes=[{"pid": 4713, "kind": "graphics"}])
    node.put("Workloads", "uses", c2=None)
    node.put("Workloads", "clients", **{"4714": None})
    node.gpu("c2", utilization_percent=0.0, power_draw_watts=21.0, processes=[])
    node.gpu("c2", memory_used_bytes=0, fan_speed_percent={"0": 0, "1": 0})
    node.gpu("c2", temperature_celsius=36.0, throttle_active=limits("gpu_idle"))
    node.gpu("c2", clock_hertz={"graphics": 2.1e8, "sm": 2.1e8}, pcie_link_generation=1)
    node.wait(3600, 120)


CASES = (
    farm_renders_all_day,
    student_debugs_a_kernel,
    job_is_cancelled_by_its_scheduler,
    client_of_a_server_disappears,
    drained_node_gets_a_newer_driver,
    clocks_are_locked_for_equal_ranks,
    superchip_rests_at_night,
    servers_of_models_wait_on_a_sunday,
    exporter_restarts_beside_a_busy_job,
    instincts_are_warm_within_their_limits,
    program_of_a_user_faults_on_an_instinct,
    radeons_sleep_with_their_fans_off,
    arcs_serve_models,
    chips_of_ascend_train,
    host_memory_runs_short_for_the_driver,
    checkpoints_are_written_each_half_hour,
    link_is_taken_down_by_software_for_a_new_partition,
    card_corrects_three_errors_in_a_day,
    four_jobs_of_four_students,
)
