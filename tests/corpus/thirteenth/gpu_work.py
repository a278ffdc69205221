"""Incidents of firmware, driver and work: GSP, versions, start of cards, hangs, suspicion."""

from tests.corpus.eleventh.nodes import GONE, HOUR, SPIN, aborts, loses, starts
from tests.corpus.fifth.nodes import unloads
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import is_reset, others, waits
from tests.corpus.seventh.nodes import radeons
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    desk_of_5090,
    eight_a100,
    guest_of_a10,
    new_h100,
    old_h100,
    some_b200,
)
from tests.corpus.words import NOTHING, RESET

UNREADABLE = (
    *("nvml_unavailable", "gpu_count_low", "telemetry_stale", "source_failed", "backend_stuck"),
    *("gpu_init_failed", "attribution_low", "gpu_locked", "gpu_probe_failed", *SPIN),
)
STUCK = (
    *("gpu_hung", "gpu_locked", "hung_task", "process_waits_for_storage", "gpu_suspect_hardware"),
    *("gpu_gsp_failure", "exporter_children_stuck", "source_stuck", "gpu_lost", *GONE),
)


@incident(
    "gpu_gsp_failure@*87*",
    may=STUCK,
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_overheat"),
    unfit=True,
    fit_at_end=False,
    node=old_h100,
)
def firmware_of_a_card_dies_below_a_checkpoint(node: Story) -> None:
    """The firmware of one of eight H100 does not answer; nvidia-smi hangs, nobody reboots today."""
    node.wait(3000, 120)
    loses(node, "87", "timeout")
    waits(node, *others(node, "87"))
    for number in range(8):
        node.xid(
            "87",
            119,
            "Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function "
            f"{(76, 103)[number % 2]} ({('GSP_RM_CONTROL', 'GSP_RM_ALLOC')[number % 2]}) "
            "(0x20802a02 0x18).",
            pid=str(4715 if number < 2 else 77_020 + number),
            name="pt_main_thread" if number < 2 else "nvidia-smi",
        )
        node.wait(45, 15)
    node.log(
        "INFO: task nvidia-smi:77024 blocked for more than 120 seconds.",
        "      Tainted: P           OE     5.15.0-1061-nvidia #62-Ubuntu",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    )
    aborts(node, "87")
    node.wait(4 * HOUR, 240)


@incident(
    "gpu_gsp_failure@*2d*",
    may=STUCK,
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_overheat"),
    unfit=True,
    fit_at_end=True,
    node=some_b200,
)
def firmware_of_a_b200_is_mended_by_a_reset(node: Story) -> None:
    """A call to the firmware of a B200 is not answered; the node is drained, the card reset."""
    node.wait(1500, 120)
    node.xid(
        "2d",
        119,
        "Timeout after 45s of waiting for RPC response from GPU1 GSP! Expected function 76 "
        "(GSP_RM_CONTROL) sequence 48213 (0x2080a083 0x10).",
        pid="4712",
        name="python3",
    )
    node.xid("2d", 154, RESET)
    loses(node, "2d", "timeout")
    waits(node, *others(node, "2d"), watts=205.0)
    node.wait(300, 60)
    aborts(node, "2d", watts=142.0)
    node.wait(2700, 120)
    node.state("2d", up=True, reason=None, stale=False)
    is_reset(node, "2d")
    node.gpu("2d", memory_used_bytes=0, power_draw_watts=142.0, power_average_watts=142.0)
    node.xid("2d", 154, NOTHING)
    node.wait(300, 60)
    starts(node, some_b200, 80_500)
    node.wait(3 * HOUR, 180)


@incident(
    "driver_version_mismatch@*",
    may=UNREADABLE,
    never=("gpu_lost", "gpu_ecc_uncorrected"),
    unfit=True,
    lasts=("driver_version_mismatch@*",),
    fit_at_end=False,
    node=eight_a100,
)
def unattended_upgrade_exchanges_the_library(node: Story) -> None:
    """A package is renewed at six in the morning below an idle node, whose module stays old."""
    node.wait(600, 60)
    aborts(node, watts=63.0, heat=31.0)
    node.wait(1200, 120)
    node.put("Gpus", backend={"backend": "none", "reason": "version_mismatch", "nvml_up": False})
    for low in node.bus_addresses:
        node.state(low, stale=True, up=False, reason="version_mismatch")
    for number in range(16):
        node.log(
            "NVRM: API mismatch: the client has the version 570.133.20, but\n"
            "NVRM: this kernel module has the version 550.163.01.  Please\n"
            "NVRM: make sure that this kernel module and all NVIDIA driver\n"
            "NVRM: components have the same version."
        )
        node.wait(900 + 60 * (number % 2), 180)


@incident(
    "gpu_init_failed@*1e*",
    may=("gpu_lost", *UNREADABLE),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_power_missing"),
    unfit=True,
    fit_at_end=False,
    node=guest_of_a10,
)
def card_of_a_guest_does_not_start_after_an_upgrade(node: Story) -> None:
    """A newer driver is loaded in a guest and cannot initialize its card, however often asked."""
    node.wait(900, 60)
    aborts(node, watts=14.0, heat=28.0)
    node.wait(120, 60)
    unloads(node, 60)
    node.log(
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.133.20  Mon Mar 31 17:12:54 UTC 2025"
    )
    node.put("Gpus", backend={"backend": "none", "reason": "no_devices", "nvml_up": False})
    for _ in range(40):
        node.log(
            "NVRM: GPU 0000:1e:00.0: RmInitAdapter failed! (0x22:0x56:884)",
            "NVRM: GPU 0000:1e:00.0: rm_init_adapter failed, device minor number 0",
        )
        node.wait(300, 150)


@incident(
    "gpu_channel_timeout@*01*",
    may=("gpu_suspect_hardware", "gpu_locked", "gpu_hung", "gpu_xid_warning", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "gpu_overheat"),
    node=desk_of_5090,
)
def work_on_a_desk_hangs_three_times_a_day(node: Story) -> None:
    """Xid 109 ends three programs of a desk, some hours apart; each time the next one runs."""
    for number, first in enumerate((4711, 18_220, 23_904)):
        node.wait(2 * HOUR, 200)
        node.xid(
            "01",
            109,
            f"Ch 0000001{number}, errorString CTX SWITCH TIMEOUT, Info 0x1c00{number + 4}",
            pid=str(first),
            name="python3",
        )
        aborts(node, watts=31.0, heat=41.0, first=first)
        node.wait(240, 60)
        starts(node, desk_of_5090, (18_220, 23_904, 31_010)[number])
    node.wait(HOUR, 180)


@incident(
    "gpu_suspect_hardware@*44*",
    root="gpu_suspect_hardware@*44*",
    may=("gpu_app_fault", "process_crashed", "gpu_page_fault", *GONE),
    never=("gpu_lost", "gpu_ecc_uncorrected", "driver_version_mismatch"),
    node=new_h100,
)
def jobs_of_three_users_fail_on_the_same_unit(node: Story) -> None:
    """Jobs of different users end on one card at the same SM with an illegal instruction."""
    pids = (4713, 20_102, 45_907, 70_233)
    names = ("pt_main_thread", "gmx_mpi", "python3.11")
    for number, caller in enumerate(names):
        first = 4711 if not number else pids[number] - 2
        node.wait(HOUR, 120)
        node.xid(
            "44",
            13,
            "Graphics SM Warp Exception on (GPC 4, TPC 2, SM 1): Illegal Instruction Encoding",
            pid=str(pids[number]),
            name=caller,
        )
        node.xid(
            "44",
            13,
            "Graphics Exception: ESR 0x525730=0x2 0x525734=0x0 0x525728=0x4c1eb72 0x52572c=0x174",
            pid=str(pids[number]),
            name=caller,
        )
        node.xid("44", 43, "Ch 00000009", pid=str(pids[number]), name=caller)
        aborts(node, first=first)
        node.wait(300, 60)
        again = pids[number + 1] - 2
        starts(node, new_h100, again)
        for rank, low in enumerate(node.bus_addresses):
            there = {"namespace": "lab", "pod": f"run-{number}", "container": "main"}
            uid = f"5e7d0c1{number}-2222-4444-8888-0123456789ab"
            node.process(
                again + rank, workload=there, pod_uid=uid, name=(*names, "python")[number + 1]
            )
            node.put("Workloads", "uses", low, workload=there)
    node.wait(HOUR, 180)


@incident(
    "gpu_xid_critical@*e1*|gpu_reset_required@*e1*",
    may=(*STUCK, "gpu_reset_required", "gpu_xid_critical"),
    never=("gpu_ecc_uncorrected", "driver_version_mismatch", "gpu_overheat"),
    unfit=True,
    node=eight_a100,
)
def controller_of_power_halts_in_an_a100(node: Story) -> None:
    """Xid 62 of one card ends a job; the node is drained and waits for a reboot."""
    node.wait(2400, 120)
    node.xid("e1", 62, "2d48(3f7c) 00000000 00000000", pid="'<unknown>'", name="<unknown>")
    for channel in (8, 9, 10):
        node.xid("e1", 45, f"Ch {channel:08x}", pid="4718", name="python3")
    aborts(node, watts=63.0, heat=31.0)
    node.wait(4 * HOUR, 240)


@incident(
    "gpu_ring_timeout@*",
    may=("gpu_reset_required", "gpu_page_fault", "process_crashed", "gpu_reset_failed", *SPIN),
    never=("gpu_lost", "gpu_overheat", "gpu_ecc_uncorrected"),
    node=radeons,
)
def radeon_at_home_is_reset_by_its_driver(node: Story) -> None:
    """Work on a card of AMD does not end in time, its driver resets it, twice in an evening."""
    card = "amdgpu 0000:8c:00.0: amdgpu:"
    for number, pid in enumerate((4712, 16_301)):
        node.wait(HOUR, 120)
        seq = 182_204 + 70_000 * number
        node.log(
            f"{card} Dumping IP State",
            f"{card} Dumping IP State Completed",
            f"{card} ring comp_1.1.0 timeout, signaled seq={seq}, emitted seq={seq + 2}",
            f"{card}  Process llama-server pid {pid} thread llama-server pid {pid}",
            f"{card} GPU reset begin!",
            f"{card} MODE1 reset",
            f"{card} GPU reset succeeded, trying to resume",
            f"{card} VRAM is lost due to GPU reset!",
            f"{card} GPU reset(1) succeeded!".replace("(1)", f"({number + 1})"),
        )
        node.put("Workloads", "clients", **{str(pid): None})
        node.put("Workloads", "uses", **{"8c": None})
        node.gpu("8c", processes=[], memory_used_bytes=0, utilization_percent=0.0)
        node.gpu("8c", power_draw_watts=28.0, power_average_watts=28.0, temperature_celsius=44.0)
        node.wait(180, 60)
        starts(node, radeons, 16_300 + 9000 * number, "0a")
    node.wait(2 * HOUR, 180)


CASES = (
    firmware_of_a_card_dies_below_a_checkpoint,
    firmware_of_a_b200_is_mended_by_a_reset,
    unattended_upgrade_exchanges_the_library,
    card_of_a_guest_does_not_start_after_an_upgrade,
    work_on_a_desk_hangs_three_times_a_day,
    jobs_of_three_users_fail_on_the_same_unit,
    controller_of_power_halts_in_an_a100,
    radeon_at_home_is_reset_by_its_driver,
)
