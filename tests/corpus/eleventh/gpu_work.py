"""Incidents of firmware, driver and work: GSP, versions, start of cards, hangs, leftovers."""

from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    desk_of_5080,
    pair_of_a100,
    quad_of_a100,
    quad_of_l4,
    tower_of_a6000,
)
from tests.corpus.eleventh.nodes import GONE, HOUR, SPIN, aborts, loses, starts
from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits
from tests.corpus.parts import GIB, JOB
from tests.corpus.story import Story
from tests.corpus.words import NOTHING, REBOOT, RESET

UNREADABLE = (
    *("nvml_unavailable", "gpu_count_low", "telemetry_stale", "source_failed", "backend_stuck"),
    *("gpu_init_failed", "attribution_low", "gpu_locked", *SPIN),
)


@incident(
    "gpu_gsp_failure@*bc*",
    may=("gpu_hung", "gpu_locked", "hung_task", "process_waits_for_storage", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    fit_at_end=False,
    node=chassis_of_h100,
)
def firmware_stops_to_answer_an_old_driver(node: Story) -> None:
    """Each RPC to the GSP of a card times out after 45 s; its rank cannot be killed all evening."""
    rpc = "Timeout after 45s of waiting for RPC response from GPU6 GSP! Expected function 76"
    node.wait(900, 60)
    node.xid("bc", 119, f"{rpc} (GSP_RM_CONTROL) (0x20801702 0x4).", pid="4717", name="python")
    loses(node, "bc", "timeout")
    node.put("Workloads", "clients", "4717", pid=4717, state="uninterruptible", uses=[])
    waits(node, *others(node, "bc"))
    for call in ("0x20810108 0x3e0", "0x20803039 0x20", "0x2080012c 0x14") * 5:
        node.wait(120, 30)
        node.xid("bc", 119, f"{rpc} (GSP_RM_CONTROL) ({call}).", pid="28232", name="cache_mgr_main")
    node.log(
        "INFO: task python:4717 blocked for more than 120 seconds.",
        "      Tainted: P           OE     5.15.0-122-generic #132-Ubuntu",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    )
    aborts(node, "bc")
    node.put("Workloads", "clients", "4717", pid=4717, state="uninterruptible", uses=[])
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_gsp_failure@*d4*",
    may=("gpu_hung", "gpu_locked", "gpu_suspect_hardware", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    fit_at_end=True,
    node=chassis_of_h200,
)
def firmware_is_silent_and_a_reset_wakes_it(node: Story) -> None:
    """Xid 119 once at the start of a step, 154 asks for a reset, which is done after the drain."""
    node.wait(1800, 60)
    node.xid(
        "d4",
        119,
        "Timeout after 6s of waiting for RPC response from GPU7 GSP! Expected function 103 "
        "(GSP_RM_ALLOC) (0xc56f 0x170).",
        pid="4718",
        name="pt_main_thread",
    )
    node.xid("d4", 154, RESET)
    node.gpu("d4", recovery_action="gpu_reset")
    waits(node, *others(node, "d4"))
    node.wait(300, 30)
    aborts(node)
    node.wait(1200, 60)
    is_reset(node, "d4")
    node.xid("d4", 154, NOTHING)
    node.wait(180)
    starts(node, chassis_of_h200, 62_715)
    node.wait(2 * HOUR, 120)


@incident(
    "driver_version_mismatch@*",
    may=UNREADABLE,
    never=("gpu_lost", "gpu_probe_failed", "gpu_ecc_uncorrected"),
    unfit=True,
    gone=("driver_version_mismatch",),
    fit_at_end=True,
    node=tower_of_a6000,
)
def library_is_newer_than_the_module(node: Story) -> None:
    """Upgrades of the night exchange the library; at ten somebody loads the new module."""
    node.wait(300, 60)
    aborts(node, watts=22.0, heat=36.0)
    node.wait(600, 60)
    node.put("Gpus", backend={"backend": "none", "reason": "version_mismatch", "nvml_up": False})
    for low in node.bus_addresses:
        node.state(low, stale=True, up=False, reason="version_mismatch")
    for _ in range(9):
        node.log(
            "NVRM: API mismatch: the client has the version 535.247.01, but\n"
            "NVRM: this kernel module has the version 535.230.02.  Please\n"
            "NVRM: make sure that this kernel module and all NVIDIA driver\n"
            "NVRM: components have the same version."
        )
        node.wait(600, 60)
    unloads(node, 30)
    loads(node, tower_of_a6000, "535.247.01")
    node.wait(2 * HOUR, 120)


@incident(
    "nccl_hang@*",
    may=SPIN,
    never=("gpu_hung", "gpu_lost", "gpu_gsp_failure", "nvlink_down", "ib_port_down"),
    unfit=False,
    node=chassis_of_b200,
)
def reduction_over_many_nodes_stands_still(node: Story) -> None:
    """All ranks of this node wait in a reduce-scatter for half an hour, until the job is killed."""
    world = {
        "id": "3be0c51477a1d902",
        "workload": JOB,
        "ranks": 512,
        "ranks_here": 8,
        "pids": list(range(4711, 4719)),
    }
    node.put("TracedCalls", libraries=1, communicators={"world": world})
    node.wait(1200, 60)
    waits(node, watts=210.0)
    place = ("TracedCalls", "communicators", "world")
    node.put(*place, waiting_ranks=8, call="ncclReduceScatter", waiting_secs=1.0)
    node.rate(1.0, *place, "waiting_secs")
    node.wait(1800, 30)
    node.rate(0.0, *place, "waiting_secs")
    node.put("TracedCalls", communicators={"world": None})
    aborts(node, watts=141.0)
    node.wait(HOUR, 60)


@incident(
    "gpu_memory_orphan@*44*",
    may=("gpu_memory_pressure", "gpu_idle_allocated", "attribution_low", "gpu_allocated_unused"),
    never=("gpu_lost", "gpu_ecc_uncorrected", "gpu_reset_required"),
    unfit=False,
    gone=("gpu_memory_orphan",),
    fit_at_end=True,
    node=quad_of_l4,
)
def memory_of_a_killed_transcoder_stays(node: Story) -> None:
    """A transcoder is killed and its 13 GiB stay on the card for two hours, held by nobody seen."""
    node.wait(600, 60)
    node.put("Workloads", "clients", **{"4712": None})
    node.put("Workloads", "uses", **{"44": None})
    node.gpu("44", processes=[], utilization_percent=0.0, power_draw_watts=27.0)
    node.gpu("44", power_average_watts=27.0, memory_controller_utilization_percent=0.0)

    def held(gib: int) -> list[dict[str, object]]:
        """How much of each card belongs to nobody."""
        return [
            {"gpu_uuid": f"GPU-{low}", "orphan_memory_bytes": gib * GIB if low == "44" else 0}
            for low in node.bus_addresses
        ]

    node.put("Workloads", totals=held(13))
    node.wait(2 * HOUR, 60)
    node.put("Workloads", totals=held(0))
    node.gpu("44", memory_used_bytes=0, memory_free_bytes=21 * GIB)
    node.wait(HOUR, 60)


@incident(
    "gpu_channel_timeout@*15*",
    may=("gpu_suspect_hardware", "gpu_locked", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "nvlink_fatal"),
    fit_at_end=True,
    node=chassis_of_h200,
)
def channels_of_one_card_are_stuck_three_times(node: Story) -> None:
    """Xid 109 of three jobs in a row on the same card; after the third one it is reset."""
    for job in range(3):
        first = 4711 if not job else 18_000 + 2000 * job
        node.wait(1800, 60)
        node.xid(
            "15",
            109,
            "Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005",
            pid=str(first),
            name="pt_main_thread",
        )
        node.wait(30)
        aborts(node, first=first)
        node.wait(300, 30)
        if job < 2:
            starts(node, chassis_of_h200, 20_000 + 2000 * job)
    is_reset(node, "15")
    node.wait(180)
    starts(node, chassis_of_h200, 31_044)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_suspect_hardware@*2f*",
    may=(*SPIN, "gpu_xid_warning", "gpu_channel_timeout", "gpu_page_fault"),
    never=("gpu_lost", "gpu_ecc_uncorrected", "gpu_overheat"),
    node=pair_of_a100,
)
def same_corner_of_a_chip_faults_in_each_job(node: Story) -> None:
    """Six programs of four users die of illegal instructions in one TPC of a board within a day."""
    programs = ("python3", "namd3", "relion_refine_m", "python3", "gromacs", "julia")
    for number, program in enumerate(programs):
        node.wait(2 * HOUR, 120)
        pid = 4711 if not number else 24_000 + 1313 * number
        node.xid(
            "2f",
            13,
            "Graphics SM Warp Exception on (GPC 4, TPC 2, SM 0): Illegal Instruction Encoding",
            pid=str(pid),
            name=program,
        )
        node.xid(
            "2f",
            13,
            "Graphics Exception: ESR 0x51e730=0xc040009 0x51e734=0x24 0x51e728=0x1f81fb60 "
            "0x51e72c=0x1174",
            pid=str(pid),
            name=program,
        )
        node.xid("2f", 43, "Ch 00000008", pid=str(pid), name=program)
        aborts(node, watts=46.0, heat=33.0, first=pid)
        node.wait(600, 60)
        pid = 24_000 + 1313 * (number + 1)
        starts(node, pair_of_a100, pid)
        who = {"namespace": "", "pod": "", "container": f"user-{1200 + 7 * number}.slice"}
        for each, low in enumerate(node.bus_addresses):
            node.put("Workloads", "clients", str(pid + each), workload=who, pod_uid=None)
            node.put("Workloads", "uses", low, workload=who)
    node.wait(HOUR, 60)


@incident(
    "gpu_uvm_failed@*",
    root="gpu_uvm_failed@*|gpu_recovery_required@*",
    may=("gpu_recovery_required", "gpu_app_fault", "gpu_page_fault", "gpu_xid_critical", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    fit_at_end=False,
    node=desk_of_5080,
)
def virtual_memory_of_a_desk_is_beyond_repair(node: Story) -> None:
    """After waking up the UVM driver gives up: the desktop goes on, but CUDA does not start."""
    node.wait(600, 60)
    aborts(node, watts=24.0, heat=38.0)
    node.log("PM: suspend entry (deep)")
    node.wait(2400, 2400)
    node.log("PM: suspend exit")
    node.wait(240, 60)
    node.xid(
        "09",
        31,
        "Ch 00000001, intr 00000000. MMU Fault: ENGINE CE2_PBDMA0 HUBCLIENT_HOST faulted @ "
        "0x1_01110000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        pid="9914",
        name="python3",
    )
    node.log(
        "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, "
        "requiring os reboot to recover."
    )
    node.xid("09", 154, REBOOT)
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_xid_critical@*c4*|gpu_reset_required@*c4*|gpu_hung@*c4*",
    may=("gpu_suspect_hardware", "gpu_clock_low", "gpu_hung", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "gpu_gsp_failure"),
    unfit=True,
    node=quad_of_a100,
)
def manager_of_power_of_an_a100_halts(node: Story) -> None:
    """Xid 62 of one card: its clocks stay at the lowest step and its rank hangs until it ends."""
    node.wait(900, 60)
    node.xid("c4", 62, "32260b5e 000154b0 00000000 2026da96 202b5626 202b5832 202b5872 202b58be")
    node.xid("c4", 45, "Ch 00000010", pid="4714", name="gmx_mpi")
    node.gpu("c4", clock_hertz={"graphics": 2.1e8, "sm": 2.1e8}, power_draw_watts=61.0)
    node.gpu("c4", power_average_watts=61.0, utilization_percent=0.0, temperature_celsius=36.0)
    node.wait(60)
    aborts(node, watts=57.0, heat=31.0)
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_init_failed@*09*",
    may=("gpu_count_low", "gpu_lost", "gpu_probe_failed", "nvml_unavailable", *UNREADABLE),
    never=("driver_version_mismatch", "gpu_ecc_uncorrected", "gpu_power_missing"),
    unfit=True,
    fit_at_end=False,
    node=desk_of_5080,
)
def firmware_of_a_desk_cannot_be_booted_twice(node: Story) -> None:
    """After the module was loaded anew the GSP of the only card does not boot any more."""
    node.wait(600, 60)
    aborts(node, watts=19.0, heat=37.0)
    node.wait(120)
    unloads(node, 30)
    node.log(
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 236",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build",
    )
    node.put("Gpus", backend={"backend": "none", "reason": "no_devices", "nvml_up": False})
    for _ in range(40):
        node.log(
            "NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
            "NVRM: _kgspBootGspRm: (the GPU is likely in a bad state and may need to be reset)",
            "NVRM: GPU 0000:09:00.0: RmInitAdapter failed! (0x62:0x40:2028)",
            "NVRM: GPU 0000:09:00.0: rm_init_adapter failed, device minor number 0",
        )
        node.wait(300, 60)


CASES = (
    firmware_stops_to_answer_an_old_driver,
    firmware_is_silent_and_a_reset_wakes_it,
    library_is_newer_than_the_module,
    reduction_over_many_nodes_stands_still,
    memory_of_a_killed_transcoder_stays,
    channels_of_one_card_are_stuck_three_times,
    same_corner_of_a_chip_faults_in_each_job,
    virtual_memory_of_a_desk_is_beyond_repair,
    manager_of_power_of_an_a100_halts,
    firmware_of_a_desk_cannot_be_booted_twice,
)
