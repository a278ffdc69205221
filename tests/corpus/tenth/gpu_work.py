"""Incidents of firmware, driver and work: GSP, versions, start of cards, hangs, leftovers."""

from tests.corpus.eighth.nodes import cloud_t4, rtx_4090s
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import waits
from tests.corpus.parts import GIB, JOB
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    GONE,
    HOUR,
    SPIN,
    desk,
    inference_l40s,
    job_starts,
    pod_of_a100,
    pod_of_h100,
    pod_of_h200,
    reboots,
)
from tests.corpus.words import REBOOT

RPC = "Timeout after 45s of waiting for RPC response from GPU5 GSP! Expected function 76"
UNREADABLE = (
    *("nvml_unavailable", "gpu_count_low", "telemetry_stale", "source_failed", "backend_stuck"),
    *("gpu_init_failed", "attribution_low", *SPIN),
)


@incident(
    "gpu_gsp_failure@*b2*",
    may=("gpu_hung", "gpu_locked", "hung_task", "process_waits_for_storage", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    node=pod_of_h100,
)
def firmware_of_the_sixth_card_is_silent(node: Story) -> None:
    """RPCs to the GSP of one card time out every minute, the node is rebooted after an hour."""
    node.wait(300, 60)
    node.xid("b2", 119, f"{RPC} (GSP_RM_CONTROL) (0x20803039 0x4).", pid="4716", name="python3")
    node.xid("b2", 154, REBOOT)
    node.gpu("b2", recovery_action="node_reboot")
    node.lose("b2", "timeout")
    waits(node, *[bus for bus in node.bus_addresses if bus != "b2"])
    for _ in range(20):
        node.xid("b2", 119, f"{RPC} (GSP_RM_CONTROL) (0x2080014b 0x5).", pid="88", name="kworker")
        node.wait(60, 30)
    node.job_ends()
    node.wait(1800, 60)
    reboots(node, pod_of_h100)
    node.wait(HOUR, 60)


@incident(
    "gpu_gsp_failure@*21*",
    may=("gpu_hung", "gpu_locked", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    lasts=("gpu_gsp_failure@*21*",),
    node=inference_l40s,
)
def firmware_of_a_board_traps(node: Story) -> None:
    """The GSP of a board crashes (Xid 120); one server of models is down until tomorrow."""
    node.wait(300, 60)
    node.xid("21", 120, "GSP task exception: load access fault (5) @ pc:0x4b2f8a0, task: 3")
    node.xid("21", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("21", recovery_action="gpu_reset", utilization_percent=0.0, power_draw_watts=88.0)
    node.gpu("21", processes=[])
    node.put("Workloads", "clients", **{"4711": None})
    node.wait(3 * HOUR, 120)


@incident(
    "driver_version_mismatch@*",
    may=UNREADABLE,
    never=("gpu_lost", "gpu_probe_failed", "gpu_ecc_uncorrected"),
    unfit=True,
    gone=("driver_version_mismatch",),
    fit_at_end=True,
    node=desk,
)
def packages_were_upgraded_under_the_module(node: Story) -> None:
    """A nightly upgrade replaced the library, the module is the old one until the reboot."""
    api = (
        "NVRM: API mismatch: the client has the version 560.94.01, but\n"
        "NVRM: this kernel module has the version 560.35.05.  Please\n"
        "NVRM: make sure that this kernel module and all NVIDIA driver\n"
        "NVRM: components have the same version."
    )
    node.wait(300, 60)
    node.job_ends()
    node.put("Gpus", backend={"backend": "none", "reason": "version_mismatch", "nvml_up": False})
    for bus in node.bus_addresses:
        node.state(bus, stale=True, up=False, reason="version_mismatch")
    for _ in range(12):
        node.log(api)
        node.wait(300, 30)
    reboots(node, desk)
    node.wait(HOUR, 60)


@incident(
    "gpu_init_failed@*25*",
    may=("gpu_count_low", "gpu_lost", "gpu_probe_failed", *GONE),
    never=("driver_version_mismatch", "gpu_ecc_uncorrected"),
    unfit=True,
    node=rtx_4090s,
)
def adapter_cannot_be_started_after_a_crash(node: Story) -> None:
    """A rented card is not initialized again after its tenant left; each try fails."""
    node.wait(300, 60)
    node.job_ends()
    node.wait(120)
    node.lose("25", "unknown_error")
    for _ in range(20):
        node.log(
            "NVRM: GPU 0000:25:00.0: RmInitAdapter failed! (0x62:0xffff:2477)",
            "NVRM: GPU 0000:25:00.0: rm_init_adapter failed, device minor number 1",
        )
        node.wait(300, 60)


@incident(
    "gpu_power_missing@*61*",
    may=("gpu_init_failed", "gpu_count_low", "gpu_lost", "gpu_probe_failed", *GONE),
    never=("gpu_overheat", "power_supply_alarm"),
    unfit=True,
    node=rtx_4090s,
)
def plug_of_a_card_was_forgotten(node: Story) -> None:
    """After a service the fourth card has no auxiliary power, the driver refuses it."""
    node.wait(300, 60)
    node.job_ends()
    reboots(
        node,
        rtx_4090s,
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri Aug 16 21:39:15 UTC 2024",
        "NVRM: GPU 0000:61:00.0: GPU does not have the necessary power cables connected.",
        "NVRM: GPU 0000:61:00.0: RmInitAdapter failed! (0x24:0x1c:1435)",
        "NVRM: GPU 0000:61:00.0: rm_init_adapter failed, device minor number 3",
    )
    node.put("Gpus", states={"61": None})
    node.put("Workloads", "clients", **{"4714": None})
    node.put("Workloads", "uses", **{"61": None})
    node.wait(2 * HOUR, 120)


@incident(
    "nccl_hang@*",
    may=SPIN,
    never=("gpu_hung", "gpu_lost", "gpu_gsp_failure", "nvlink_down", "ib_port_down"),
    unfit=False,
    node=pod_of_h200,
)
def rank_of_another_node_never_enters(node: Story) -> None:
    """All eight ranks here wait in a collective for one elsewhere until the job's own timeout."""
    communicator = {
        "id": "9f31c2aa07d4e511",
        "workload": JOB,
        "ranks": 256,
        "ranks_here": 8,
        "pids": list(range(4711, 4719)),
    }
    node.put("TracedCalls", libraries=1, communicators={"world": communicator})
    node.wait(600, 60)
    waits(node)
    node.put("TracedCalls", "communicators", "world", waiting_ranks=8, call="ncclAllReduce")
    node.put("TracedCalls", "communicators", "world", waiting_secs=1.0)
    node.rate(1.0, "TracedCalls", "communicators", "world", "waiting_secs")
    node.wait(1800, 30)
    node.rate(0.0, "TracedCalls", "communicators", "world", "waiting_secs")
    node.put("TracedCalls", communicators={"world": None})
    node.job_ends()
    node.wait(1800, 60)


@incident(
    *("gpu_memory_orphan@*1a*", "gpu_memory_orphan@*3d*"),
    root=("gpu_memory_orphan@*1a*", "gpu_memory_orphan@*3d*"),
    may=("gpu_memory_pressure", "gpu_idle_allocated", "attribution_low", "process_stopped"),
    never=("gpu_lost", "gpu_ecc_uncorrected", "gpu_reset_required"),
    unfit=False,
    gone=("gpu_memory_orphan",),
    fit_at_end=True,
    node=pod_of_a100,
)
def memory_outlives_its_processes(node: Story) -> None:
    """A job was killed and 61 GiB stay on two cards for an hour, until a leftover is killed."""
    node.wait(300, 60)
    node.job_ends()
    held = ("1a", "3d")
    for bus in held:
        node.gpu(bus, memory_used_bytes=61 * GIB, memory_free_bytes=18 * GIB)
    totals = [
        {"gpu_uuid": f"GPU-{bus}", "orphan_memory_bytes": 61 * GIB if bus in held else 0}
        for bus in node.bus_addresses
    ]
    node.put("Workloads", totals=totals)
    node.wait(HOUR, 30)
    node.put("Workloads", totals=[each | {"orphan_memory_bytes": 0} for each in totals])
    node.gpus(memory_used_bytes=0, memory_free_bytes=79 * GIB)
    node.wait(HOUR, 60)


@incident(
    "gpu_channel_timeout@*1e*",
    may=(*GONE, "gpu_suspect_hardware", "gpu_locked"),
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=False,
    node=cloud_t4,
)
def switch_of_contexts_takes_for_ever(node: Story) -> None:
    """Work of a guest's card is torn down by Xid 109; the service starts anew and goes on."""
    node.wait(300, 60)
    node.xid(
        "1e",
        109,
        "Ch 00000018, errorString CTX SWITCH TIMEOUT, Info 0x4c00a",
        pid="4711",
        name="tritonserver",
    )
    node.put("Workloads", "clients", **{"4711": None})
    node.gpu("1e", processes=[], utilization_percent=0.0, power_draw_watts=31.0)
    node.wait(90)
    job_starts(node, cloud_t4)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_inforom_corrupted@*21*|gpu_inforom_problem@*21*",
    may=("gpu_inforom_corrupted", "gpu_inforom_problem"),
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=False,
    node=inference_l40s,
)
def inforom_is_damaged_after_a_power_loss(node: Story) -> None:
    """The InfoROM of one board is not valid after the power was lost; it works all the same."""
    node.wait(300, 60)
    reboots(node, inference_l40s)
    node.gpu("21", inforom_valid=False)
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_suspect_hardware@*4e*",
    may=(*SPIN, "gpu_xid_warning", "gpu_channel_timeout"),
    never=("gpu_lost", "gpu_ecc_uncorrected", "gpu_overheat"),
    node=pod_of_a100,
)
def same_card_faults_in_every_job(node: Story) -> None:
    """Five jobs of five users die of illegal instructions on one card within a day."""
    for job in range(5):
        node.wait(1800, 60)
        pid = str(61_000 + 977 * job)
        program = ("python3", "gmx", "lmp", "train", "namd3")[job]
        place = f"GPC {job % 3}, TPC 4, SM 1"
        node.xid(
            "4e",
            13,
            f"Graphics SM Warp Exception on ({place}): Illegal Instruction Encoding",
            pid=pid,
            name=program,
        )
        node.xid(
            "4e",
            13,
            "Graphics Exception: ESR 0x51e730=0xc020009 0x51e734=0x20 0x51e728=0x4c1eb72",
            pid=pid,
            name=program,
        )
        node.wait(15)
        node.job_ends()
        node.wait(300, 60)
        job_starts(node, pod_of_a100)
        node.put("Workloads", "clients", **{"4713": None, pid: {"pid": int(pid), "uses": []}})
    node.wait(1800, 60)


CASES = (
    firmware_of_the_sixth_card_is_silent,
    firmware_of_a_board_traps,
    packages_were_upgraded_under_the_module,
    adapter_cannot_be_started_after_a_crash,
    plug_of_a_card_was_forgotten,
    rank_of_another_node_never_enters,
    memory_outlives_its_processes,
    switch_of_contexts_takes_for_ever,
    inforom_is_damaged_after_a_power_loss,
    same_card_faults_in_every_job,
)
