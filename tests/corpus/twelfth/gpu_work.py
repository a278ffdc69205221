"""Incidents of firmware, driver and work: GSP, versions, start of cards, hangs, settings."""

from tests.corpus.eleventh.nodes import GONE, HOUR, SPIN, aborts, loses, starts
from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits
from tests.corpus.parts import GIB, JOB
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    box_of_b200,
    box_of_h200,
    desk_of_4080,
    four_a100,
    four_l40s,
    two_h100,
)
from tests.corpus.words import NOTHING, REBOOT, RESET

UNREADABLE = (
    *("nvml_unavailable", "gpu_count_low", "telemetry_stale", "source_failed", "backend_stuck"),
    *("gpu_init_failed", "attribution_low", "gpu_locked", "gpu_probe_failed", *SPIN),
)
STUCK = (
    *("gpu_hung", "gpu_locked", "hung_task", "process_waits_for_storage", "gpu_suspect_hardware"),
    *("gpu_gsp_failure", "exporter_children_stuck", "source_stuck", "gpu_lost", *GONE),
)


@incident(
    "gpu_gsp_failure@*26*",
    may=STUCK,
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_overheat"),
    unfit=True,
    fit_at_end=False,
    node=four_a100,
)
def firmware_of_an_a100_is_silent_at_dawn(node: Story) -> None:
    """Xid 119 again and again until the driver limits its prints; nobody is there to reset."""
    rpc = "Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76"
    node.wait(1500, 60)
    loses(node, "26", "timeout")
    waits(node, *others(node, "26"), watts=88.0)
    for number in range(6):
        node.xid(
            "26",
            119,
            f"{rpc} (GSP_RM_CONTROL) (0x20801702 0x4).",
            pid=str(190_311 + number),
            name="nvidia-smi",
        )
        node.wait(60, 30)
    node.log(
        "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:26:00 (printing 1 of every "
        "30).  The GPU likely needs to be reset."
    )
    node.wait(300, 30)
    aborts(node, "26", watts=62.0, heat=30.0)
    node.wait(4 * HOUR, 120)


@incident(
    "gpu_gsp_failure@*48*",
    may=STUCK,
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_overheat"),
    unfit=True,
    fit_at_end=True,
    node=four_l40s,
)
def task_of_the_firmware_reads_a_wrong_page(node: Story) -> None:
    """Xid 120 of an L40S, which is reset within the hour and serves its model again."""
    node.wait(1800, 60)
    node.log(
        "NVRM: kgspHealthCheck_TU102: ****************************** GSP-CrashCat Report "
        "*******************************"
    )
    node.xid(
        "48",
        120,
        "GSP task exception: load access page fault (cause:0xd) @ pc:0x1374464, partition:4#0, "
        "task:3",
    )
    node.log("NVRM:     Reported by libos partition:4#0 kernel v3.1 [0] @ ts:1741")
    node.xid("48", 154, RESET)
    loses(node, "48", "timeout")
    node.put("Workloads", "uses", **{"48": None})
    node.wait(2700, 60)
    node.state("48", up=True, reason=None, stale=False)
    is_reset(node, "48")
    node.gpu("48", memory_used_bytes=0, memory_free_bytes=44 * GIB)
    node.gpu("48", power_draw_watts=36.0, power_average_watts=36.0)
    node.xid("48", 154, NOTHING)
    node.wait(120, 30)
    starts(node, four_l40s, 51_400, "26", "8a", "ad")
    node.wait(2 * HOUR, 120)


@incident(
    "driver_version_mismatch@*",
    may=UNREADABLE,
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=True,
    gone=("driver_version_mismatch",),
    fit_at_end=True,
    node=box_of_b200,
)
def package_of_the_library_came_alone(node: Story) -> None:
    """A rollout renews the library of a node but not the module: no job starts for two hours."""
    node.wait(600, 60)
    aborts(node, watts=144.0)
    node.wait(900, 60)
    node.put("Gpus", backend={"backend": "none", "reason": "version_mismatch", "nvml_up": False})
    for low in node.bus_addresses:
        node.state(low, stale=True, up=False, reason="version_mismatch")
    for number in range(12):
        node.log(
            f"NVRM: API mismatch: the client 'nvidia-smi' (pid {30_412 + 771 * number})\n"
            "NVRM: has the version 580.105.08, but this kernel module has\n"
            "NVRM: the version 580.95.05.  Please make sure that this\n"
            "NVRM: kernel module and all NVIDIA driver components\n"
            "NVRM: have the same version."
        )
        node.wait(600, 60)
    unloads(node, 45)
    loads(node, box_of_b200, "580.105.08")
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_probe_failed@*|gpu_init_failed@*",
    may=UNREADABLE,
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_power_missing"),
    unfit=True,
    fit_at_end=False,
    node=four_a100,
)
def module_of_another_branch_knows_no_card(node: Story) -> None:
    """After an upgrade a module of a legacy branch is loaded by mistake: it takes no card."""
    node.wait(600, 60)
    aborts(node, watts=62.0, heat=30.0)
    node.wait(120)
    unloads(node, 60)
    for low in ("26", "48", "8a", "ad"):
        node.log(
            f"NVRM: The NVIDIA GPU 0000:{low}:00.0 (PCI ID: 10de:20b2)\n"
            "NVRM: installed in this system is not supported by the 390.157\n"
            "NVRM: NVIDIA Linux driver release.  Please see 'Appendix\n"
            "NVRM: A - Supported NVIDIA GPU Products' in this release's\n"
            "NVRM: README, available on the Linux driver download page\n"
            "NVRM: at www.nvidia.com.",
            f"nvidia: probe of 0000:{low}:00.0 failed with error -1",
        )
    node.log(
        "NVRM: The NVIDIA probe routine failed for 4 device(s).",
        "NVRM: None of the NVIDIA devices were initialized.",
        "nvidia-nvlink: Unregistered the Nvlink Core, major device number 235",
    )
    node.wait(3 * HOUR, 120)


@incident(
    "gpu_power_missing@*02*|gpu_init_failed@*02*|gpu_probe_failed@*",
    may=("gpu_power_missing", "gpu_lost", *UNREADABLE),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_overheat"),
    unfit=True,
    fit_at_end=False,
    node=desk_of_4080,
)
def plug_hangs_loose_after_a_cleaning(node: Story) -> None:
    """A desk is switched on after its case was cleaned: the plug of the card hangs loose."""
    node.put("Host", uptime_secs=33.0)
    node.put("Gpus", states={"02": None})
    node.put("Gpus", backend={"backend": "none", "reason": "no_devices", "nvml_up": False})
    node.put("Workloads", clients={"4711": None}, uses={"02": None})
    node.log("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  565.77  Wed Nov 27 23:33:08 UTC 2024")
    for _ in range(30):
        node.log(
            "NVRM: GPU 0000:02:00.0: GPU does not have the necessary power cables connected.",
            "NVRM: GPU 0000:02:00.0: RmInitAdapter failed! (0x24:0x1c:1482)",
            "NVRM: GPU 0000:02:00.0: rm_init_adapter failed, device minor number 0",
        )
        node.wait(300, 60)


@incident(
    "gpu_init_failed@*e2*",
    may=("gpu_count_low", "gpu_lost", "gpu_probe_failed", "gpu_reset_failed", *GONE),
    never=("driver_version_mismatch", "gpu_ecc_uncorrected", "gpu_power_missing"),
    unfit=True,
    fit_at_end=False,
    node=two_h100,
)
def board_does_not_start_after_a_load(node: Story) -> None:
    """The module is loaded anew for a test, and one of two boards cannot be initialized."""
    node.wait(600, 60)
    aborts(node, watts=64.0, heat=35.0)
    node.wait(120)
    unloads(node, 30)
    left = {"gpu": two_h100()["Gpus"]["states"]["41"]["gpu"]}
    left["gpu"] |= {"processes": [], "memory_used_bytes": 0, "utilization_percent": 0.0}
    left["gpu"] |= {"power_draw_watts": 61.0, "power_average_watts": 61.0}
    left["gpu"] |= {"memory_free_bytes": 93 * GIB, "temperature_celsius": 34.0}
    node.log(
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  560.35.03  Fri Aug 16 21:39:15 UTC 2024"
    )
    node.put("Gpus", backend={"backend": "nvml", "reason": "ok", "nvml_up": True})
    node.put("Gpus", states={"41": left})
    for _ in range(36):
        node.log(
            "NVRM: GPU 0000:e2:00.0: RmInitAdapter failed! (0x62:0xffff:2477)",
            "NVRM: GPU 0000:e2:00.0: rm_init_adapter failed, device minor number 1",
        )
        node.wait(300, 60)


@incident(
    "gpu_channel_timeout@*ad*",
    may=("gpu_suspect_hardware", "gpu_locked", "gpu_hung", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "gpu_overheat"),
    node=four_l40s,
)
def server_of_a_model_is_stuck_in_a_switch(node: Story) -> None:
    """Xid 109 ends a server of a model twice in an afternoon, each time on the same board."""
    for number in range(2):
        pid = 4714 if not number else 60_933
        node.wait(HOUR, 60)
        node.xid(
            "ad",
            109,
            "Ch 00000018, errorString CTX SWITCH TIMEOUT, Info 0x2c004",
            pid=str(pid),
            name="tritonserver",
        )
        node.put("Workloads", "clients", **{str(pid): None})
        node.put("Workloads", "uses", ad=None)
        node.gpu("ad", processes=[], memory_used_bytes=0, utilization_percent=0.0)
        node.gpu("ad", power_draw_watts=36.0, power_average_watts=36.0, temperature_celsius=39.0)
        node.gpu("ad", memory_controller_utilization_percent=0.0)
        node.wait(90, 30)
        starts(node, four_l40s, 60_930 + 2000 * number, "26", "48", "8a")
    node.wait(2 * HOUR, 120)


@incident(
    "nccl_hang@*",
    may=(*SPIN, "gpu_channel_timeout"),
    never=("gpu_hung", "gpu_lost", "gpu_gsp_failure", "nvlink_down", "ib_port_down"),
    unfit=False,
    node=box_of_h200,
)
def rank_of_another_node_never_comes(node: Story) -> None:
    """All ranks of this node wait in an all-gather until the watchdog of the job ends it."""
    world = {
        "id": "c01d77a90b21f4e8",
        "workload": JOB,
        "ranks": 256,
        "ranks_here": 8,
        "pids": list(range(4711, 4719)),
    }
    node.put("TracedCalls", libraries=1, communicators={"world": world})
    node.wait(2400, 60)
    waits(node, watts=165.0)
    place = ("TracedCalls", "communicators", "world")
    node.put(*place, waiting_ranks=8, call="ncclAllGather", waiting_secs=1.0)
    node.rate(1.0, *place, "waiting_secs")
    node.wait(1800, 30)
    node.rate(0.0, *place, "waiting_secs")
    node.put("TracedCalls", communicators={"world": None})
    aborts(node)
    node.wait(HOUR, 60)


@incident(
    "gpu_recovery_required@*61*|gpu_reset_required@*61*",
    may=("gpu_reset_required", "gpu_recovery_required", "gpu_hung", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    unfit=True,
    node=box_of_h200,
)
def driver_wants_the_node_to_be_rebooted(node: Story) -> None:
    """The driver asks for a reboot because of one card; the node is drained and waits for it."""
    node.wait(1500, 60)
    node.xid("61", 154, REBOOT)
    node.gpu("61", recovery_action="reboot")
    node.wait(600, 60)
    aborts(node)
    node.wait(5 * HOUR, 120)


CASES = (
    firmware_of_an_a100_is_silent_at_dawn,
    task_of_the_firmware_reads_a_wrong_page,
    package_of_the_library_came_alone,
    module_of_another_branch_knows_no_card,
    plug_hangs_loose_after_a_cleaning,
    board_does_not_start_after_a_load,
    server_of_a_model_is_stuck_in_a_switch,
    rank_of_another_node_never_comes,
    driver_wants_the_node_to_be_rebooted,
)
