"""Incidents of the driver of NVIDIA: its firmware, calls that hang, versions, leaked memory."""

from tests.corpus.eighth.nodes import b200_box, rank_ends
from tests.corpus.fifth.nodes import a100s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import (
    HOUR,
    TEARDOWN,
    a40s,
    b300s,
    cloud_h100s,
    delta_a100s,
    roce_box,
    waits,
    works,
)
from tests.corpus.parts import GIB, Tree, client, use
from tests.corpus.seventh.nodes import NOBODY, SPINS, hgx, rests
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER

SILENT = (*GPU_AFTER, *SPINS, "gpu_hung", "gpu_lost", "source_stuck", "gpu_xid_critical")


@incident(
    "gpu_gsp_failure@GPU-46",
    may=SILENT,
    unfit=True,
    lasts=("gpu_gsp_failure@GPU-46",),
    fit_at_end=False,
    node=delta_a100s,
)
def firmware_of_an_a100_answers_no_more(node: Story) -> None:
    """Xid 119 again and again while Slurm waits for the job to end; nobody resets the card."""
    node.wait(60)
    text = "Timeout waiting for RPC from GSP1! Expected function 103 (GSP_RM_ALLOC) (0x80 0x38)."
    for _ in range(6):
        node.xid("46", 119, text, pid="4712", name="python3")
        waits(node, watts=88.0)
        node.wait(45, 15)
    node.gpu("46", utilization_percent=0.0)
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_gsp_failure@GPU-2d",
    root=("gpu_gsp_failure@GPU-2d",),
    may=(*SILENT, "gpu_reset_required"),
    unfit=True,
    gone=("gpu_gsp_failure", "gpu_recovery_required", "gpu_hung"),
    fit_at_end=True,
    node=b200_box,
)
def firmware_of_a_b200_crashes_and_the_driver_is_loaded_anew(node: Story) -> None:
    """Xid 120 and 154; the job is killed, the driver is loaded anew after half an hour."""
    node.wait(60)
    node.xid("2d", 120, "GSP task exception: load access fault (cause:0x5) @ pc:0x4f9a", **NOBODY)
    node.xid("2d", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("2d", recovery_action="reset")
    waits(node, watts=210.0)
    node.gpu("2d", utilization_percent=0.0, power_draw_watts=150.0)
    node.wait(600, 60)
    rests(node, 145.0)
    node.wait(1200, 60)
    unloads(node, 60)
    loads(node, b200_box)
    node.wait(HOUR, 120)


@incident(
    "gpu_hung@GPU-bf|backend_stuck@node",
    root=("gpu_hung@GPU-bf|backend_stuck@node|gpu_gsp_failure@GPU-bf",),
    may=(
        *(*SILENT, "backend_stuck", "gpu_gsp_failure", "hung_task", "exporter_children_stuck"),
        "process_waits_for_storage",
    ),
    unfit=True,
    fit_at_end=False,
    node=hgx,
)
def no_call_about_one_card_returns(node: Story) -> None:
    """Each question about one card hangs in the driver; its rank sleeps and cannot be killed."""
    node.wait(60)
    node.state("bf", up=False, reason="hung", stale=True)
    node.process(4717, state="uninterruptible", waits_since_boottime=node.at)
    waits(node, *(bus for bus in node.bus_addresses if bus != "bf"))
    node.wait(135)
    node.log(
        "INFO: task python3:4717 blocked for more than 122 seconds.\n"
        "      Tainted: P           OE     5.15.0-1074-nvidia #75-Ubuntu\n"
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.\n'
        "task:python3         state:D stack:    0 pid: 4717 ppid:  4622 flags:0x00004006"
    )
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_xid_critical@GPU-31",
    may=(*GPU_AFTER, *SPINS),
    unfit=True,
    lasts=("gpu_xid_critical@GPU-31",),
    fit_at_end=False,
    node=a40s,
)
def microcontroller_of_an_a40_halts(node: Story) -> None:
    """Xid 62: the card still answers, but its clocks do not move any more."""
    node.wait(60)
    node.xid("31", 62, "0000(00000000) 00000000 00000000", **NOBODY)
    rank_ends(node, "31", "4711")
    node.wait(2 * HOUR, 240)


@incident(
    "gpu_suspect_hardware@GPU-48",
    may=(*SPINS, "gpu_app_fault", "gpu_allocated_unused"),
    node=a100s,
)
def jobs_of_three_people_fault_on_one_card(node: Story) -> None:
    """Xid 31 of three different jobs on the same card within a day, and none on the others."""
    old = "4713"
    for turn, name in enumerate(("protein-fold", "diffusion-xl", "speech-7b")):
        node.wait(1800, 120)
        pid = str(9100 + turn)
        job = {"namespace": f"team-{turn}", "pod": name, "container": "main"}
        node.put("Workloads", "clients", **{old: None})
        fresh = client(int(pid), "48", workload=job, pod_uid=f"{turn}a1b2c3d-9999", name="python")
        node.put("Workloads", "clients", **{pid: fresh})
        node.put("Workloads", "uses", "48", workload=job)
        node.gpu("48", processes=[{"pid": int(pid), "kind": "compute"}], utilization_percent=97.0)
        node.gpu("48", memory_used_bytes=60 * GIB, power_draw_watts=335.0, temperature_celsius=62.0)
        node.wait(2 * HOUR, 240)
        text = (
            f"Ch 0000000{turn + 2}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 "
            "faulted @ 0x7f1c_a2000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
        )
        node.xid("48", 31, text, pid=pid, name="python")
        rank_ends(node, "48", pid)
        old = pid
    node.wait(1800, 120)


@incident(
    "gpu_channel_timeout@GPU-ae",
    may=(*GPU_AFTER, *SPINS, "gpu_gsp_failure", "gpu_suspect_hardware"),
    never=("gpu_lost",),
    node=roce_box,
)
def channel_of_an_h100_does_not_switch(node: Story) -> None:
    """Xid 109 of one rank; the job is restarted on the same node and works."""
    node.wait(120)
    node.xid("ae", 109, TEARDOWN.format(0x19), pid="4716", name="python3")
    waits(node)
    node.wait(600, 60)
    works(node)
    node.wait(2 * HOUR, 120)


@incident(
    "driver_version_mismatch@node",
    may=("nvml_unavailable", "telemetry_stale", "gpu_count_low", "attribution_low"),
    unfit=True,
    gone=("driver_version_mismatch",),
    fit_at_end=True,
    node=cloud_h100s,
)
def upgrade_at_night_brings_a_newer_library(node: Story) -> None:
    """Unattended upgrades exchange the library below a loaded driver; at nine it is loaded anew."""
    rests(node, 72.0)
    node.wait(120)
    gone = {"backend": "none", "reason": "version_mismatch", "nvml_up": False}
    node.put("Gpus", backend=gone, states=dict.fromkeys(node.bus_addresses))
    for _ in range(5):
        node.log(
            "NVRM: API mismatch: the client has the version 550.163.02, but\n"
            "NVRM: this kernel module has the version 550.163.01.  Please\n"
            "NVRM: make sure that this kernel module and all NVIDIA driver\n"
            "NVRM: components have the same version."
        )
        node.wait(HOUR, 300)
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.log("nvidia-nvlink: Unregistered Nvlink Core, major device number 235")
    node.wait(30)
    loads(node, cloud_h100s, "550.163.02")
    node.wait(HOUR, 120)


@incident(
    "fabric_not_ready@*",
    may=("nvlink_down", "gpu_allocated_unused", "gpu_recovery_required"),
    unfit=True,
    gone=("fabric_not_ready", "nvlink_down"),
    fit_at_end=True,
    node=hgx,
)
def fabric_manager_does_not_start_after_an_upgrade(node: Story) -> None:
    """The driver is newer than the fabric manager: cards wait for it; an hour later it is there."""
    rests(node, 72.0)
    node.wait(60)
    unloads(node, 90)
    loads(node, _fabric_waits, "550.163.04")
    node.wait(HOUR, 60)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(HOUR, 120)


@incident(
    "gpu_init_failed@*",
    root=("gpu_init_failed@*",),
    may=("gpu_count_low", "gpu_probe_failed", "gpu_lost", "nvlink_down", "fabric_not_ready"),
    unfit=True,
    fit_at_end=False,
    node=a100s,
)
def one_of_eight_cards_is_not_initialized(node: Story) -> None:
    """The driver is loaded anew and cannot boot the firmware of one card; seven answer."""
    rests(node, 60.0)
    node.wait(60)
    unloads(node, 45)
    loads(
        node,
        _seven_a100s,
        "",
        "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)",
        "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
        "NVRM: GPU 0000:c8:00.0: RmInitAdapter failed! (0x62:0x65:1860)",
        "NVRM: GPU 0000:c8:00.0: rm_init_adapter failed, device minor number 6",
    )
    node.wait(2 * HOUR, 120)


@incident(
    "gpu_memory_orphan@GPU-07",
    may=(*SPINS, "gpu_memory_pressure"),
    unfit=False,
    gone=("gpu_memory_orphan",),
    fit_at_end=True,
    node=a100s,
)
def memory_of_a_dead_server_stays_taken(node: Story) -> None:
    """A server of models is killed, a child keeps its memory; in the afternoon that ends too."""
    node.wait(300, 60)
    node.put("Workloads", "clients", **{"4711": None})
    node.put("Workloads", "uses", **{"07": None})
    node.gpu("07", processes=[], utilization_percent=0.0, power_draw_watts=62.0)
    node.gpu("07", memory_used_bytes=41 * GIB, memory_free_bytes=38 * GIB)
    node.put("Workloads", totals=_orphans(node, 41 * GIB))
    node.wait(4 * HOUR, 240)
    node.gpu("07", memory_used_bytes=0, memory_free_bytes=79 * GIB)
    node.put("Workloads", totals=_orphans(node, 0))
    node.wait(600, 60)
    node.put("Workloads", "uses", **{"07": use("07")})
    node.put("Workloads", "clients", **{"4811": client(4811, "07")})
    node.gpu("07", memory_used_bytes=60 * GIB, memory_free_bytes=19 * GIB)
    node.gpu("07", processes=[{"pid": 4811, "kind": "compute"}], utilization_percent=97.0)
    node.gpu("07", power_draw_watts=335.0)
    node.wait(1800, 120)


@incident(
    *("gpu_gsp_failure@GPU-19", "gpu_lost@GPU-19"),
    root=("gpu_gsp_failure@GPU-19|gpu_lost@GPU-19",),
    may=(*SILENT, "nvlink_fatal", "gpu_nvlink_fatal", "fabric_not_ready"),
    unfit=True,
    lasts=("gpu_lost@GPU-19",),
    fit_at_end=False,
    node=b300s,
)
def silent_firmware_becomes_a_lost_card(node: Story) -> None:
    """Xid 119 with its history, 154 (reboot), and Xid 79 ten minutes later."""
    node.wait(60)
    text = (
        "Timeout after 10s of waiting for RPC response from GPU0 GSP! Expected function 76 "
        "(GSP_RM_CONTROL) sequence 4412 (0x20801702 0x3c8)."
    )
    node.xid("19", 119, text, pid="2980", name="nvidia-smi")
    node.log(
        "NVRM: GPU0 GSP RPC buffer contains function 76 (GSP_RM_CONTROL) sequence 4412 and data "
        "0x0000000020801702 0x00000000000003c8.",
        "NVRM: GPU0 RPC history (CPU -> GSP):",
    )
    node.xid("19", 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    node.gpu("19", recovery_action="reboot")
    waits(node, *node.bus_addresses[1:], watts=240.0)
    node.wait(600, 60)
    node.xid("19", 79, FELL, **NOBODY)
    node.lose("19")
    node.wait(HOUR, 120)


def _fabric_waits() -> Tree:
    """Eight H100 that nobody uses and whose fabric is not managed."""
    node = hgx()
    idle = {"processes": [], "utilization_percent": 0.0, "memory_used_bytes": 0}
    idle |= {"power_draw_watts": 72.0, "power_average_watts": 72.0, "temperature_celsius": 33.0}
    for state in node["Gpus"]["states"].values():
        state["gpu"] |= {**idle, "fabric_state": "in_progress", "fabric_healthy": None}
        state["gpu"] |= {"memory_controller_utilization_percent": 0.0}
    node["Workloads"] |= {"clients": {}, "uses": {}}
    return node


def _seven_a100s() -> Tree:
    """The eight A100 without the one that is not initialized; the bus still shows it."""
    node = a100s()
    del node["Gpus"]["states"]["c8"]
    del node["Workloads"]["uses"]["c8"], node["Workloads"]["clients"]["4717"]
    return node


def _orphans(node: Story, held: int) -> list[Tree]:
    """What nobody owns of the memory of each card: all of it on the first one."""
    return [
        {"gpu_uuid": f"GPU-{bus}", "orphan_memory_bytes": held if bus == "07" else 0}
        for bus in node.bus_addresses
    ]


CASES = (
    firmware_of_an_a100_answers_no_more,
    firmware_of_a_b200_crashes_and_the_driver_is_loaded_anew,
    no_call_about_one_card_returns,
    microcontroller_of_an_a40_halts,
    jobs_of_three_people_fault_on_one_card,
    channel_of_an_h100_does_not_switch,
    upgrade_at_night_brings_a_newer_library,
    fabric_manager_does_not_start_after_an_upgrade,
    one_of_eight_cards_is_not_initialized,
    memory_of_a_dead_server_stays_taken,
    silent_firmware_becomes_a_lost_card,
)
