"""Incidents of firmware, driver and NVLinks, and the faults of programs that look like them."""

from tests.corpus.eighth.nodes import HOURS, b200_box, cloud_a100s, cloud_t4
from tests.corpus.fifth.nodes import a100s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.parts import client
from tests.corpus.seventh.nodes import EIGHT, LINKS, NOBODY, SPINS, a10s, hgx, mi300s, rests
from tests.corpus.sixth.nodes import l4s
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER, LOADS, NOTHING, REBOOT, RESET

UNREAD = ("nvml_unavailable", "telemetry_stale", "gpu_count_low", "gpu_probe_failed")
RPC = (
    "Timeout after {}s of waiting for RPC response from GPU{} GSP! Expected function 76 "
    "(GSP_RM_CONTROL) sequence {} (0x2080a7d7 0x18)."
)


@incident(
    *("gpu_gsp_failure@GPU-2d", "hung_task@20117"),
    root=("gpu_gsp_failure@GPU-2d",),
    may=(*GPU_AFTER, *SPINS, "gpu_xid_critical", "gpu_hung", "gpu_channel_timeout"),
    unfit=True,
    gone=("gpu_gsp_failure",),
    fit_at_end=True,
    node=hgx,
)
def gsp_of_an_h100_is_silent_until_a_boot(node: Story) -> None:
    """Xid 119 again and again, its lines thinned out, nvidia-smi hangs; the node is booted."""
    node.wait(60)
    for number in range(4):
        node.xid("2d", 119, RPC.format(60, 1, 40_120 + number), pid="20117", name="nvidia-smi")
        node.wait(60, 30)
    node.log(
        "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:2d:00 (printing 1 of every "
        "30).  The GPU likely needs to be reset.",
        "INFO: task nvidia-smi:20117 blocked for more than 122 seconds.",
        "      Tainted: P           OE     5.15.0-1074 #83-Ubuntu",
    )
    node.xid("2d", 154, REBOOT)
    node.gpu("2d", recovery_action="reboot")
    node.wait(2400, 60)
    unloads(node, 300)
    node.put("Host", uptime_secs=60.0)
    loads(node, hgx)
    node.wait(1200, 60)


@incident(
    "gpu_gsp_failure@GPU-66",
    may=(*GPU_AFTER, *SPINS, "gpu_xid_critical"),
    unfit=True,
    lasts=("gpu_gsp_failure@GPU-66",),
    fit_at_end=False,
    node=b200_box,
)
def gsp_of_a_b200_crashes(node: Story) -> None:
    """Xid 120 of one of eight, the driver asks for a reset, the job is killed."""
    node.wait(120)
    text = "GSP task timeout @ pc:0x2f0a6c4, partition:4#0, task:2"
    node.xid("66", 120, text, **NOBODY)
    node.xid("66", 154, RESET)
    node.gpu("66", recovery_action="reset")
    for rank, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 00000005", pid=str(4711 + rank), name="python3")
    node.wait(30, 15)
    rests(node, 140.0)
    node.wait(HOURS, 240)


@incident(
    "gpu_xid_critical@GPU-48",
    may=(*GPU_AFTER, *SPINS),
    unfit=True,
    gone=("gpu_xid_critical",),
    fit_at_end=True,
    node=a100s,
)
def power_controller_of_an_a100_halts(node: Story) -> None:
    """Xid 62, then 45 of its rank; the driver is loaded anew an hour later."""
    node.wait(60)
    node.xid("48", 62, "20c4f2a1 00009d11 00000000 20290fc4 202a31c0 202b2c52 20c4f2b7 00000000")
    node.xid("48", 45, "Ch 0000000a", pid="4713", name="pt_main_thread")
    rests(node)
    node.wait(3600, 120)
    unloads(node, 45)
    loads(node, a100s)
    node.wait(1200, 60)


@incident(
    "gpu_channel_timeout@GPU-b2",
    may=(*GPU_AFTER, "gpu_xid_warning", "gpu_suspect_hardware"),
    never=("gpu_lost",),
    node=l4s,
)
def server_of_speech_times_out_on_one_l4(node: Story) -> None:
    """Xid 109 five times within two hours, always on the same card; its server is restarted."""
    node.wait(60)
    for number in range(5):
        text = f"Ch 0000001{number}, errorString CTX SWITCH TIMEOUT, Info 0x5401c"
        node.xid("b2", 109, text, pid="4713", name="riva_server")
        node.xid("b2", 43, f"Ch 0000001{number}", pid="4713", name="riva_server")
        node.wait(1500, 60)


@incident(
    "driver_version_mismatch@node",
    may=UNREAD,
    unfit=True,
    lasts=("driver_version_mismatch@node",),
    fit_at_end=False,
    node=cloud_t4,
)
def nightly_upgrade_replaces_the_library_of_a_guest(node: Story) -> None:
    """Unattended upgrades bring the library 535.247 to a loaded module of 535.230."""
    node.wait(300, 60)
    for pid in (91_201, 91_355):
        node.log(
            f"NVRM: API mismatch: the client 'nvidia-smi' (pid {pid})\n"
            "NVRM: has the version 535.247.01, but this kernel module has\n"
            "NVRM: the version 535.230.02.  Please make sure that this\n"
            "NVRM: kernel module and all NVIDIA driver components\n"
            "NVRM: have the same version."
        )
        backend = {"backend": "none", "reason": "version_mismatch", "nvml_up": False}
        node.put("Gpus", backend=backend, states=dict.fromkeys(node.bus_addresses))
        node.wait(60, 30)
    node.wait(HOURS, 240)


@incident(
    "gpu_count_low@node|nvml_unavailable@node|gpu_probe_failed@node",
    may=(*UNREAD, "gpu_lost"),
    lasts=("gpu_count_low@node|nvml_unavailable@node|gpu_probe_failed@node",),
    node=a10s,
)
def module_was_not_built_for_the_new_kernel(node: Story) -> None:
    """After a boot into a new kernel there is no driver; four cards on the bus serve nobody."""
    node.put("Host", uptime_secs=25.0, kernel_version="6.8.0-64-generic")
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.put("Gpus", states=dict.fromkeys(node.bus_addresses))
    node.put("Workloads", clients=None, uses=None, totals=[])
    node.log(
        "nouveau 0000:25:00.0: unknown chipset (b72000a1)",
        "systemd-modules-load[611]: Failed to find module 'nvidia'",
    )
    node.wait(HOURS, 120)


@incident(
    "gpu_suspect_hardware@GPU-19",
    may=("gpu_app_fault",),
    unfit=False,
    fit_at_end=True,
    node=hgx,
)
def one_sm_of_an_h100_fails_whoever_uses_it(node: Story) -> None:
    """Xid 13 at one GPC, TPC and SM of one card, under four jobs of four teams within a day."""
    node.wait(60)
    text = "Graphics SM Warp Exception on (GPC 3, TPC 7, SM 1): Illegal Instruction Encoding"
    for number, team in enumerate(("llm", "vision", "bio", "speech")):
        pid = 81_000 + 17 * number
        uid = f"{number}c{number}c{number}c{number}c-aaaa-bbbb-cccc-444455556666"
        job = {"namespace": team, "pod": f"{team}-0", "container": "main"}
        old = str(4711 if not number else 81_000 + 17 * (number - 1))
        node.put("Workloads", "clients", **{old: None})
        node.put("Workloads", "clients", **{str(pid): client(pid, "19", workload=job, pod_uid=uid)})
        node.put("Workloads", "uses", "19", workload=job)
        node.wait(600, 60)
        node.xid("19", 13, text, pid=str(pid), name="python3")
        node.xid("19", 43, "Ch 00000008", pid=str(pid), name="python3")
        node.wait(3 * 3600, 600)


@incident(
    "gpu_app_fault@*",
    may=("gpu_app_fault", "process_crashed", *SPINS),
    never=("gpu_lost", "gpu_suspect_hardware", "gpu_ecc_uncorrected"),
    unfit=False,
    fit_at_end=True,
    node=cloud_a100s,
)
def new_kernel_of_a_team_faults_on_all_cards(node: Story) -> None:
    """Xid 31 on all eight cards within a second, once for each of three starts of the same job."""
    text = (
        "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_{} faulted @ "
        "0x7f3c_a{}000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    )
    node.wait(120)
    for start in range(3):
        for rank, bus in enumerate(node.bus_addresses):
            pid = str(4711 + rank)
            node.xid(bus, 31, text.format(rank, start), pid=pid, name="pt_main_thread")
            node.xid(bus, 43, "Ch 00000008", pid=pid, name="pt_main_thread")
        node.wait(900, 60)


@incident(
    "gpu_ring_timeout@GPU-9b|gpu_firmware_timeout@GPU-9b|gpu_hung@GPU-9b",
    may=("gpu_reset_failed", "gpu_page_fault", *GPU_AFTER, "gpu_firmware_timeout"),
    fit_at_end=True,
    node=mi300s,
)
def queue_of_an_instinct_cannot_be_preempted(node: Story) -> None:
    """A compute queue hangs; the driver resets the card, and it works again."""
    card = "amdgpu 0000:9b:00.0: amdgpu:"
    node.wait(60)
    node.log(
        f"{card} Queue preemption failed for queue with doorbell_id: 80004008",
        f"{card} Failed to evict process queues",
        f"{card} ring comp_1.1.0 timeout, signaled seq=71220, emitted seq=71222",
        f"{card}  Process python3 pid 4715 thread python3 pid 4715",
        f"{card} GPU reset begin!. Source:  4",
        f"{card} MODE1 reset",
        f"{card} GPU mode1 reset",
        f"{card} GPU reset succeeded, trying to resume",
        f"{card} GPU reset(1) succeeded!",
    )
    node.wait(HOURS, 120)


@incident(
    *("nvswitch_fatal@0000:86:00.0", "nvlink_fatal@*9b:00.0*|gpu_nvlink_fatal@GPU-9b"),
    root=("nvswitch_fatal@0000:86:00.0",),
    may=(*GPU_AFTER, *LINKS, *SPINS),
    unfit=True,
    lasts=("nvswitch_fatal@0000:86:00.0",),
    fit_at_end=False,
    node=hgx,
)
def egress_of_a_switch_has_a_double_bit(node: Story) -> None:
    """A fatal SXid 12022 of one port, and Xid 74 of the card behind it."""
    switch = "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): "
    node.wait(60)
    node.log(
        switch + "12022, Fatal, Link 21 egress input ECC DBE error (First)",
        switch + "12022, Severity 1 Engine instance 21 Sub-engine instance 00",
        switch + "12022, Data {0x00000001, 0x00000001, 0x00000000, 0x00000000, 0x00000000}",
    )
    node.wait(1, 1)
    text = "NVLink: fatal error detected on link 9(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    node.xid("9b", 74, text, **NOBODY)
    for rank, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 0000000c", pid=str(4711 + rank), name="python3")
    rests(node)
    node.wait(HOURS, 240)


@incident(
    "nvlink_fatal@*bf:00.0*|gpu_nvlink_fatal@GPU-bf",
    may=(*GPU_AFTER, *LINKS, *SPINS, "gpu_xid_warning"),
    unfit=True,
    gone=("nvlink_fatal", "gpu_nvlink_fatal"),
    fit_at_end=True,
    node=b200_box,
)
def link_of_a_b200_goes_down_and_its_peers_notice(node: Story) -> None:
    """Xid 149 (fatal) of one link, Xid 145 of three peers; reset while the node is drained."""
    node.wait(60)
    words = "0x00000000 0x00000000 0x00000000 0x00000000"
    text = f"NETIR_LINK_EVT Fatal   XC0 i0 Link 06 (0x025001c6 0x00000000 {words})"
    node.log(f"NVRM: Xid (PCI:0000:bf:00): 149, {text}")
    node.gpu("bf", nvlink_up={"6": 0})
    node.wait(1, 1)
    for place in ("19", "66", "9b"):
        text = f"RLW_SRC_TRACK Nonfatal XC1 i0 Link 06 (0x00000007 0x00000004 {words})"
        node.log(f"NVRM: Xid (PCI:0000:{place}:00): 145, pid=4711, name=python3, {text}")
        node.xid(place, 45, "Ch 00000003 caused by previous Xid 145", pid="4711", name="python3")
    node.xid("bf", 45, "Ch 00000003 caused by previous Xid 149", pid="4717", name="python3")
    node.xid("bf", 154, RESET)
    node.gpu("bf", recovery_action="reset")
    node.wait(60)
    rests(node, 140.0)
    node.wait(1800, 60)
    node.xid("bf", 154, NOTHING)
    unloads(node, 60)
    loads(node, b200_box)
    node.wait(1200, 60)


@incident(
    "nvlink_errors@GPU-3f",
    may=("gpu_unlike_siblings",),
    unfit=False,
    fit_at_end=True,
    node=cloud_a100s,
)
def links_of_a_guest_repeat_packets(node: Story) -> None:
    """A hundred and twenty replays and thirty damaged packets a second of one card, an hour."""
    node.wait(60)
    node.rate(120.0, "Gpus", "states", "3f", "gpu", "nvlink_errors_total", "replay")
    node.rate(30.0, "Gpus", "states", "3f", "gpu", "nvlink_errors_total", "crc_data")
    node.wait(3600, 60)


@incident(
    *(f"fabric_not_ready@GPU-{bus}" for bus in EIGHT),
    root=("fabric_not_ready@*",),
    may=(*SPINS, *LINKS),
    unfit=True,
    gone=("fabric_not_ready",),
    fit_at_end=True,
    node=hgx,
)
def fabric_manager_starts_forty_minutes_late(node: Story) -> None:
    """After a boot the fabric is in progress for forty minutes, until its service is started."""
    node.put("Host", uptime_secs=45.0)
    node.log(LOADS)
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    rests(node)
    node.wait(2400, 30)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(1800, 60)


CASES = (
    gsp_of_an_h100_is_silent_until_a_boot,
    gsp_of_a_b200_crashes,
    power_controller_of_an_a100_halts,
    server_of_speech_times_out_on_one_l4,
    nightly_upgrade_replaces_the_library_of_a_guest,
    module_was_not_built_for_the_new_kernel,
    one_sm_of_an_h100_fails_whoever_uses_it,
    new_kernel_of_a_team_faults_on_all_cards,
    queue_of_an_instinct_cannot_be_preempted,
    egress_of_a_switch_has_a_double_bit,
    link_of_a_b200_goes_down_and_its_peers_notice,
    links_of_a_guest_repeat_packets,
    fabric_manager_starts_forty_minutes_late,
)
