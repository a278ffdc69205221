"""Quiet starts and ends: boots, upgrades, planned resets, virtual machines, maintenance."""

from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    chassis_of_h200,
    cloud_of_a10,
    cluster_worker,
    desk_of_5080,
    disk_server,
    mirrored_server,
    pair_of_a100,
    quad_of_l4,
    tower_of_a6000,
    volume_server,
)
from tests.corpus.eleventh.nodes import HOUR, aborts, starts
from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import is_reset, releases
from tests.corpus.parts import filesystem
from tests.corpus.seventh.nodes import restarts
from tests.corpus.story import Story

IDLE = ("gpu_idle_allocated", "gpu_allocated_unused", "gpu_persistence_off")
BOOT = (
    "microcode: updated early: 0x2b000571 -> 0x2b000603, date = 2024-08-07",
    "x86/fpu: Supporting XSAVE feature 0x001: 'x87 floating point registers'",
    "BERT: Error records from previous boot: none",
    "HEST: Table parsing has been initialized.",
    "EDAC MC: Ver: 3.0.0",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "mce: Using 32 MCE banks",
    "pcieport 0000:17:01.0: PME: Signaling with IRQ 122",
    "pcieport 0000:17:01.0: AER: enabled with IRQ 122",
    "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
    "ACPI Error: No handler for Region [SYSI] (00000000a1f0) [IPMI] (20210730/evregion-130)",
    "nvme nvme0: Shutdown timeout set to 10 seconds",
    "nvme nvme0: 64/0/0 default/read/poll queues",
)


@healthy(*IDLE, node=chassis_of_h100)
def large_node_is_switched_on(node: Story) -> None:
    """A node of eight cards starts: links are trained, rails come up, and a job begins later."""
    node.put("Host", uptime_secs=52.0)
    aborts(node)
    node.log(
        *BOOT[:-1],
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 237",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.216.01  Tue Sep 17 16:54:04 UTC 2024",
        "nvidia-nvswitch0: using MSI",
        "mlx5_core 0000:16:00.0: firmware version: 28.39.3004",
        "mlx5_core 0000:16:00.0: Port module event: module 0, Cable plugged",
    )
    node.wait(900, 30)
    starts(node, chassis_of_h100, 8812)
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=quad_of_l4)
def driver_of_small_boards_is_renewed(node: Story) -> None:
    """Streams are moved away, the module is taken out, a newer one is loaded, streams return."""
    node.wait(900, 60)
    aborts(node, watts=17.0, heat=33.0)
    node.wait(120)
    unloads(node, 240)
    loads(node, quad_of_l4, "550.163.01")
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=chassis_of_b200)
def mode_of_a_card_is_changed_between_jobs(node: Story) -> None:
    """An operator resets the last card to change a mode, between two jobs, with nothing wrong."""
    node.wait(900, 60)
    aborts(node, watts=141.0)
    node.wait(240, 30)
    is_reset(node, "d4")
    node.wait(300, 60)
    starts(node, chassis_of_b200, 55_200)
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=pair_of_a100)
def students_queue_short_jobs(node: Story) -> None:
    """Thirty jobs of some minutes follow each other on two boards, with short pauses."""
    first = 4711
    for number in range(30):
        node.wait(300, 30)
        aborts(node, watts=46.0, heat=34.0, first=first)
        node.wait(45)
        first = 20_000 + 100 * number
        starts(node, pair_of_a100, first)
    node.wait(600, 60)


@healthy(*IDLE, "attribution_low", node=tower_of_a6000)
def board_is_lent_to_a_guest(node: Story) -> None:
    """One of two boards is unbound in good order and given to a guest by vfio."""
    node.wait(900, 60)
    node.put("Workloads", "clients", **{"4712": None})
    node.put("Workloads", "uses", af=None)
    node.gpu("af", processes=[], utilization_percent=0.0, power_draw_watts=24.0)
    node.wait(60)
    node.log(
        "vfio-pci 0000:af:00.0: vgaarb: VGA decodes changed: olddecodes=io+mem,"
        "decodes=io+mem:owns=none",
        "vfio-pci 0000:af:00.0: enabling device (0000 -> 0003)",
    )
    node.put("Pcie", "devices", "af", driver="vfio-pci")
    node.put("Gpus", states={"af": None})
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, node=desk_of_5080)
def desk_wakes_up_and_draws_again(node: Story) -> None:
    """A desk sleeps over noon and wakes up; a USB hub and the screen take some tries."""
    node.wait(900, 60)
    aborts(node, watts=17.0, heat=38.0)
    node.log("PM: suspend entry (deep)")
    node.wait(3000, 3000)
    node.log(
        "PM: suspend exit",
        "OOM killer enabled.",
        "Restarting tasks ... done.",
        "usb 3-2: reset full-speed USB device number 4 using xhci_hcd",
        "usb 3-2: device descriptor read/64, error -71",
        "r8169 0000:0a:00.0 enp10s0: Link is Down",
        "r8169 0000:0a:00.0 enp10s0: Link is Up - 2.5Gbps/Full - flow control rx/tx",
    )
    node.wait(2 * HOUR, 120)


@healthy(node=disk_server)
def disk_is_formatted_and_mounted(node: Story) -> None:
    """A new disk takes the place of one that was retired in good order: it is made and mounted."""
    node.wait(900, 60)
    node.log("XFS (sdp): Unmounting Filesystem")
    node.put("Filesystems", filesystems={"/srv/disk15": None})
    node.wait(300, 60)
    gone = node.take_away("Disks", "disks", "sdp")
    node.log(
        "sd 6:0:15:0: [sdp] Synchronizing SCSI cache",
        "mpt3sas_cm0: mpt3sas_transport_port_remove: removed: sas_addr(0x5000c500c4cf55a9)",
        "mpt3sas_cm0: removing handle(0x0019), sas_addr(0x5000c500c4cf55a9)",
    )
    node.wait(900, 60)
    node.log(
        "scsi 6:0:16:0: Direct-Access     SEAGATE  ST18000NM004J    E004 PQ: 0 ANSI: 7",
        "sd 6:0:16:0: [sdq] 35156656128 512-byte logical blocks: (18.0 TB/16.4 TiB)",
        "sd 6:0:16:0: [sdq] Attached SCSI disk",
        "XFS (sdq): Mounting V5 Filesystem",
        "XFS (sdq): Ending clean mount",
    )
    new = {**gone, "device": "sdq", "scsi_address": "6:0:16:0", "scsi_state": "running"}
    node.put("Disks", disks={"sdq": new})
    mounted = filesystem("/dev/sdq", "/srv/disk15", "xfs", size_bytes=18 * 10**12)
    mounted |= {"free_bytes": 17 * 10**12, "available_bytes": 17 * 10**12}
    node.put("Filesystems", "filesystems", **{"/srv/disk15": mounted})
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=cloud_of_a10)
def guest_of_a_cloud_begins_to_serve(node: Story) -> None:
    """A guest is made from an image: it starts, loads its driver and a model, and serves."""
    node.put("Host", uptime_secs=18.0)
    aborts(node, watts=24.0, heat=29.0)
    node.log(
        "ena 0000:00:05.0: LLQ is not supported Fallback to host mode policy.",
        "ena 0000:00:05.0 eth0: Local page cache is disabled for less than 16 channels",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.172.08  Tue Jul  8 18:35:34 UTC 2025",
        "nvidia-uvm: Loaded the UVM driver, major device number 238.",
    )
    node.wait(300, 30)
    starts(node, cloud_of_a10, 1320)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, node=chassis_of_h200)
def exporter_is_upgraded_below_a_job(node: Story) -> None:
    """The exporter is started again while a job trains: it looks away for a minute and a half."""
    node.wait(1800, 60)
    restarts(node, 90)
    node.wait(3 * HOUR, 120)


@healthy("tcp_retransmit_burst", node=mirrored_server)
def ports_are_up_after_half_a_minute(node: Story) -> None:
    """After a start two ports of a server get their links one after the other."""
    node.put("Host", uptime_secs=14.0)
    for name in ("eno1", "eno2"):
        node.put("Network", "interfaces", name, up=False, operstate="down", carrier_changes=1)
        node.put("Network", "interfaces", name, receive_packets=0, receive_bytes=0)
        node.put("Network", "interfaces", name, transmit_packets=0, transmit_bytes=0)
        node.put("Network", "interfaces", name, link_was_up=False, peers_up=0)
    node.log(*BOOT)
    node.wait(15, 5)
    for number, name in enumerate(("eno1", "eno2")):
        node.log(
            f"i40e 0000:5c:00.{number} {name}: NIC Link is Up, 10 Gbps Full Duplex, "
            "Flow Control: None"
        )
        node.put("Network", "interfaces", name, up=True, operstate="up", carrier_changes=2)
        node.put("Network", "interfaces", name, link_was_up=True, peers_up=number)
        node.rate(700.0, "Network", "interfaces", name, "receive_packets")
        node.rate(700.0, "Network", "interfaces", name, "transmit_packets")
        node.wait(10, 5)
    node.put("Network", "interfaces", "eno1", peers_up=1)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, node=chassis_of_h100)
def cards_are_let_go_for_a_diagnosis(node: Story) -> None:
    """A script asks for all cards between two jobs, tests them for minutes, gives them back."""
    node.wait(1200, 60)
    aborts(node)
    node.wait(60)
    releases(node, 240)
    node.wait(120)
    starts(node, chassis_of_h100, 44_109)
    node.wait(2 * HOUR, 120)


@healthy(node=volume_server)
def raid_adapter_looks_for_new_disks(node: Story) -> None:
    """A MegaRAID looks for new disks on Saturday, finds none, and tells nothing grave."""
    node.wait(900, 60)
    node.log(
        "megaraid_sas 0000:18:00.0: scanning for scsi0...",
        "megaraid_sas 0000:18:00.0: Jbod map is not supported megasas_setup_jbod_map 5757",
    )
    node.wait(4 * HOUR, 120)


@healthy(node=cluster_worker)
def worker_joins_its_cluster(node: Story) -> None:
    """A worker starts, mounts its disks after an unclean end, and joins its cluster."""
    node.put("Host", uptime_secs=31.0)
    node.log(
        *BOOT[2:5],
        *BOOT[7:],
        "XFS (nvme1n1p1): Mounting V5 Filesystem",
        "XFS (nvme1n1p1): Starting recovery (logdev: internal)",
        "XFS (nvme1n1p1): Ending recovery (logdev: internal)",
        "mlx5_core 0000:5c:00.0 enp92s0f0np0: Link up",
        "mlx5_core 0000:5c:00.1 enp92s0f1np1: Link up",
        "bond0: (slave enp92s0f0np0): Enslaving as a backup interface with an up link",
    )
    node.put("Cpu", usage_percent=74.0, used_cores=94.0, load1=130.0)
    node.wait(180, 15)
    node.put("Cpu", usage_percent=21.0, used_cores=27.0, load1=28.0)
    node.wait(3 * HOUR, 120)


CASES = (
    large_node_is_switched_on,
    driver_of_small_boards_is_renewed,
    mode_of_a_card_is_changed_between_jobs,
    students_queue_short_jobs,
    board_is_lent_to_a_guest,
    desk_wakes_up_and_draws_again,
    disk_is_formatted_and_mounted,
    guest_of_a_cloud_begins_to_serve,
    exporter_is_upgraded_below_a_job,
    ports_are_up_after_half_a_minute,
    cards_are_let_go_for_a_diagnosis,
    raid_adapter_looks_for_new_disks,
    worker_joins_its_cluster,
)
