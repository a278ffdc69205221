"""Incidents of firmware, driver and engines of NVIDIA cards, and of their NVLinks."""

from tests.corpus.fifth.nodes import a100s, b200s, loads, unloads
from tests.corpus.labels import incident
from tests.corpus.parts import GIB, client
from tests.corpus.seventh.nodes import (
    LINKS,
    NOBODY,
    SPINS,
    a10s,
    hgx,
    pro_6000s,
    rtx_3090s,
    rtx_5090s,
)
from tests.corpus.story import Story
from tests.corpus.words import GPU_AFTER

HOURS = 2 * 3600
UNREAD = ("nvml_unavailable", "telemetry_stale", "gpu_count_low")
SWITCH = "nvidia-nvswitch2: SXid (PCI:0000:89:00.0): "
RPC = (
    "Timeout after {}s of waiting for RPC response from GPU{} GSP! Expected function 76 "
    "(GSP_RM_CONTROL) sequence {} (0x20800a2e 0x1c)."
)


@incident(
    *("gpu_gsp_failure@GPU-43", "hung_task@9120"),
    may=GPU_AFTER,
    unfit=True,
    gone=("gpu_gsp_failure",),
    fit_at_end=True,
    node=pro_6000s,
)
def firmware_of_a_server_card_falls_silent(node: Story) -> None:
    """Xid 119 every minute, a tool that hangs, then a load of the driver."""
    node.wait(60)
    for number in range(5):
        node.xid("43", 119, RPC.format(45, 1, 7001 + number), pid="9120", name="dcgm-exporter")
        node.wait(60, 30)
    node.log(
        "INFO: task dcgm-exporter:9120 blocked for more than 122 seconds.",
        "      Tainted: G           OE      6.8.0-60-generic #63-Ubuntu",
    )
    node.xid("43", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    node.gpu("43", recovery_action="reset")
    node.wait(1800, 60)
    unloads(node, 90)
    loads(node, pro_6000s)
    node.wait(900, 60)


@incident(
    "gpu_gsp_failure@GPU-0a",
    may=(*GPU_AFTER, "gpu_xid_critical", "gpu_channel_timeout"),
    unfit=True,
    lasts=("gpu_gsp_failure@GPU-0a",),
    fit_at_end=False,
    node=rtx_5090s,
)
def firmware_of_a_desk_card_crashes(node: Story) -> None:
    """Xid 120 of a GeForce with the open driver: its firmware took an exception."""
    node.wait(60)
    text = "GSP task exception: page fault (cause:0xf) @ pc:0x1e7c9a0, partition:4#0, task:3"
    node.xid("0a", 120, text, **NOBODY)
    node.xid("0a", 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    node.wait(HOURS, 240)


@incident(
    "gpu_xid_critical@GPU-a5",
    may=GPU_AFTER,
    unfit=True,
    lasts=("gpu_xid_critical@GPU-a5",),
    fit_at_end=False,
    node=rtx_3090s,
)
def power_controller_of_a_tower_card_halts(node: Story) -> None:
    """Xid 62 and 45 of one of four cards; nobody boots the machine."""
    node.wait(60)
    node.xid("a5", 62, "2027c1d4 0000a1b8 00000000 202bfa60 202a9a54 202b0f66 2027d1ca 00000000")
    node.xid("a5", 45, "Ch 00000018", pid="4713", name="python")
    node.put("Workloads", "clients", **{"4713": None})
    node.gpu("a5", processes=[], utilization_percent=0.0, power_draw_watts=31.0)
    node.wait(HOURS, 240)


@incident(
    "gpu_suspect_hardware@GPU-25",
    may=("gpu_app_fault",),
    unfit=False,
    fit_at_end=True,
    node=a10s,
)
def one_card_faults_under_three_teams(node: Story) -> None:
    """Xid 31 on one card under three jobs within ten hours, never on the other cards."""
    text = (
        "Ch 0000000{}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_0 faulted @ "
        "0x7e0{}_5c000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    )
    node.wait(60)
    node.xid("25", 31, text.format(8, 1), pid="4711", name="tritonserver")
    node.put("Workloads", "clients", **{"4711": None})
    for number, team in enumerate(("vision", "speech")):
        node.wait(5 * 3600, 600)
        job = {"namespace": team, "pod": f"serve-{number}", "container": "main"}
        uid = f"{number}a{number}a{number}a{number}a-1111-2222-3333-444455556666"
        pid = 52_000 + number
        node.put("Workloads", "clients", **{str(pid): client(pid, "25", workload=job, pod_uid=uid)})
        node.wait(120, 30)
        node.xid("25", 31, text.format(9, 2 + number), pid=str(pid), name="python3")
        node.wait(30)
        node.put("Workloads", "clients", **{str(pid): None})
    node.wait(600, 60)


@incident(
    "driver_version_mismatch@node",
    may=UNREAD,
    unfit=True,
    gone=("driver_version_mismatch", "nvml_unavailable"),
    fit_at_end=True,
    node=a10s,
)
def packages_are_upgraded_at_night(node: Story) -> None:
    """The library goes to 535.261 under a loaded module of 535.247 until the module follows."""
    node.wait(300, 60)
    node.log(
        "NVRM: API mismatch: the client 'nvidia-smi' (pid 30122)\n"
        "NVRM: has the version 535.261.03, but this kernel module has\n"
        "NVRM: the version 535.247.01.  Please make sure that this\n"
        "NVRM: kernel module and all NVIDIA driver components\n"
        "NVRM: have the same version."
    )
    backend = {"backend": "none", "reason": "version_mismatch", "nvml_up": False}
    node.put("Gpus", backend=backend, states=dict.fromkeys(node.bus_addresses))
    node.put("Workloads", clients=None, uses=None)
    node.wait(3 * 3600, 300)
    node.log("nvidia-modeset: Unloading")
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.wait(45, 15)
    loads(node, a10s, "535.261.03")
    node.wait(900, 60)


@incident(
    "gpu_init_failed@GPU-25|gpu_init_failed@*25:00*",
    may=(*GPU_AFTER, "gpu_probe_failed", "gpu_lost"),
    root=("gpu_init_failed@*|gpu_count_low@node",),
    unfit=True,
    fit_at_end=False,
    node=rtx_3090s,
)
def tower_boots_with_three_of_four_cards(node: Story) -> None:
    """After a boot the driver cannot start one of four cards."""
    node.put("Host", uptime_secs=35.0)
    node.put("Gpus", "states", **{"25": None})
    node.put("Workloads", "uses", **{"25": None})
    node.put("Workloads", "clients", **{"4711": None})
    for _ in range(3):
        node.log(
            "NVRM: GPU 0000:25:00.0: RmInitAdapter failed! (0x23:0x65:1438)",
            "NVRM: GPU 0000:25:00.0: rm_init_adapter failed, device minor number 0",
        )
        node.wait(600, 60)


@incident(
    "backend_stuck@node",
    may=(*UNREAD, *GPU_AFTER, "source_stuck", "source_failed", "exporter_children_stuck"),
    never=("gpu_lost",),
    unfit=True,
    gone=("backend_stuck",),
    fit_at_end=True,
    node=rtx_5090s,
)
def library_stands_still_for_twenty_minutes(node: Story) -> None:
    """No call of NVML returns for twenty minutes, without any line; then all is as before."""
    node.wait(120)
    node.put("Gpus", backend={"backend": "cache", "reason": "stuck", "nvml_up": False})
    for bus in node.bus_addresses:
        node.state(bus, stale=True)
    node.report("gpu", outcome="stuck", reason="no answer in 5 s")
    node.wait(1200, 30)
    node.put("Gpus", backend={"backend": "nvml", "reason": "ok", "nvml_up": True})
    for bus in node.bus_addresses:
        node.state(bus, stale=False)
    node.report("gpu", outcome="ok", reason="")
    node.wait(1800, 60)


@incident(
    "gpu_memory_orphan@GPU-c2",
    may=(*SPINS, "gpu_memory_pressure"),
    unfit=False,
    fit_at_end=True,
    node=a10s,
)
def dead_server_still_holds_memory(node: Story) -> None:
    """A model server died without its card being freed: sixteen gibibytes have no owner."""
    node.wait(60)
    node.put("Workloads", "clients", **{"4714": None})
    totals = [{"gpu_uuid": f"GPU-{bus}", "orphan_memory_bytes": 0} for bus in node.bus_addresses]
    totals[3]["orphan_memory_bytes"] = 16 * GIB
    node.put("Workloads", totals=totals)
    node.gpu("c2", processes=[], utilization_percent=0.0, power_draw_watts=22.0)
    node.wait(2400, 60)


@incident(
    *("nvswitch_fatal@0000:89:00.0", "nvlink_fatal@*3f:00.0*|gpu_nvlink_fatal@GPU-3f"),
    may=(*GPU_AFTER, *LINKS, *SPINS),
    unfit=True,
    lasts=("nvswitch_fatal@0000:89:00.0",),
    fit_at_end=False,
    node=hgx,
)
def port_of_a_switch_goes_down_under_load(node: Story) -> None:
    """A fatal SXid of one port, Xid 74 of the card at its other end, and a job that ends."""
    node.wait(60)
    node.log(
        SWITCH + "20034, Fatal, Link 30 LTSSM Fault Up",
        SWITCH + "20034, Severity 1 Engine instance 30 Sub-engine instance 00",
        SWITCH + "20034, Data {0x50610002, 0x10100030, 0x00000000, 0x10100030, 0x00000000}",
    )
    node.wait(2, 2)
    text = "NVLink: fatal error detected on link 12(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    node.xid("3f", 74, text, **NOBODY)
    node.gpu("3f", nvlink_up={"12": 0})
    for rank, bus in enumerate(node.bus_addresses):
        node.xid(bus, 45, "Ch 0000000e", pid=str(4711 + rank), name="python3")
    node.wait(HOURS, 240)


@incident(
    "nvlink_errors@GPU-88",
    unfit=False,
    may=("nvlink_errors",),
    fit_at_end=True,
    node=a100s,
)
def one_link_damages_thousands_of_flits(node: Story) -> None:
    """Four hundred damaged flits a second on one card for twenty minutes."""
    node.wait(60)
    node.rate(400.0, "Gpus", "states", "88", "gpu", "nvlink_errors_total", "crc_flit")
    node.rate(35.0, "Gpus", "states", "88", "gpu", "nvlink_errors_total", "replay")
    node.wait(1200, 30)


@incident(
    "gpu_channel_timeout@GPU-16",
    may=(*GPU_AFTER, "gpu_xid_warning"),
    never=("gpu_lost",),
    node=b200s,
)
def context_switches_of_one_card_time_out(node: Story) -> None:
    """Xid 109 three times within an hour on one of four cards, each time under the same job."""
    node.wait(60)
    for number in range(3):
        text = f"Ch 0000000{number + 4}, errorString CTX SWITCH TIMEOUT, Info 0x4c01a"
        node.xid("16", 109, text, pid="4712", name="pt_main_thread")
        node.wait(1200, 60)


CASES = (
    firmware_of_a_server_card_falls_silent,
    firmware_of_a_desk_card_crashes,
    power_controller_of_a_tower_card_halts,
    one_card_faults_under_three_teams,
    packages_are_upgraded_at_night,
    tower_boots_with_three_of_four_cards,
    library_stands_still_for_twenty_minutes,
    dead_server_still_holds_memory,
    port_of_a_switch_goes_down_under_load,
    one_link_damages_thousands_of_flits,
    context_switches_of_one_card_time_out,
)
