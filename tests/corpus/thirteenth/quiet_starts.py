"""Quiet starts and ends: boots, upgrades, planned resets, mounts, maintenance."""

from tests.corpus.eleventh.nodes import HOUR, aborts, starts
from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import is_reset, releases
from tests.corpus.parts import disk, filesystem
from tests.corpus.seventh.nodes import restarts
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    batch_worker,
    desk_of_5090,
    eight_a100,
    four_l4,
    four_pro,
    guest_of_a10,
    new_h100,
    old_h100,
    osd_server,
    pod_worker,
    some_b200,
    some_h200,
)

IDLE = ("gpu_idle_allocated", "gpu_allocated_unused", "gpu_persistence_off")
BOOT = (
    "mce: CPU supports 32 MCE banks",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "RAS: Correctable Errors collector initialized.",
    "HEST: Table parsing has been initialized.",
    "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.",
    "ERST: Error Record Serialization Table (ERST) support is initialized.",
    "EDAC MC: Ver: 3.0.0",
    "pcieport 0000:17:01.0: AER: enabled with IRQ 118",
    "pcieport 0000:17:01.0: DPC: enabled with IRQ 118",
    "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
)


@healthy(*IDLE, node=some_b200)
def new_box_starts_for_the_first_time(node: Story) -> None:
    """A new node starts, finds its disks, adapters and cards, and gets its first job."""
    node.put("Host", uptime_secs=58.0)
    aborts(node, watts=142.0)
    node.log(
        *BOOT,
        "nvme nvme0: Shutdown timeout set to 10 seconds",
        "nvme nvme0: 128/0/0 default/read/poll queues",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 236",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.195.03  Release Build",
        "mlx5_core 0000:12:00.0: firmware version: 28.45.1200",
        "mlx5_core 0000:12:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
        "mlx5_core 0000:12:00.0: Port module event: module 0, Cable plugged",
    )
    node.wait(1500, 60)
    starts(node, some_b200, 9044)
    node.wait(3 * HOUR, 150)


@healthy(*IDLE, node=old_h100)
def old_branch_of_a_driver_gets_its_last_mend(node: Story) -> None:
    """A drained node gets a newer driver of the same branch within eight minutes."""
    node.wait(1200, 120)
    aborts(node)
    node.wait(900, 120)
    unloads(node, 480)
    loads(node, old_h100, "535.247.01")
    node.wait(3 * HOUR, 150)


@healthy(*IDLE, node=eight_a100)
def profile_of_a_card_is_changed_by_a_reset(node: Story) -> None:
    """An operator resets one idle card to make a new setting work; nothing was wrong with it."""
    node.wait(1800, 120)
    aborts(node, watts=63.0, heat=31.0)
    node.wait(300, 60)
    is_reset(node, "a8")
    node.gpu("a8", temperature_celsius=31.0)
    node.wait(300, 60)
    starts(node, eight_a100, 26_640)
    node.wait(3 * HOUR, 150)


@healthy(*IDLE, node=four_pro)
def short_jobs_follow_each_other_on_a_board(node: Story) -> None:
    """Fourteen short jobs run one after the other, with a minute between two of them."""
    first = 4711
    for number in range(14):
        node.wait(480, 80)
        aborts(node, watts=78.0, heat=41.0, first=first)
        node.wait(60, 60)
        first = 61_000 + 40 * number
        starts(node, four_pro, first)
    node.wait(600, 120)


@healthy(*IDLE, node=desk_of_5090)
def desk_reads_from_a_stick(node: Story) -> None:
    """A stick is put into a desk, read and taken out in good order while the card rests."""
    node.wait(1200, 120)
    aborts(node, watts=28.0, heat=39.0)
    node.gpu("01", fan_speed_percent={"0": 0, "1": 0})
    node.log(
        "usb 2-3: new SuperSpeed USB device number 4 using xhci_hcd",
        "usb-storage 2-3:1.0: USB Mass Storage device detected",
        "sd 6:0:0:0: [sda] 240254976 512-byte logical blocks: (123 GB/115 GiB)",
        "sd 6:0:0:0: [sda] No Caching mode page found",
        "sd 6:0:0:0: [sda] Assuming drive cache: write through",
        "sd 6:0:0:0: [sda] Attached SCSI removable disk",
        "FAT-fs (sda1): Volume was not properly unmounted. Some data may be corrupt. Please run "
        "fsck.",
    )
    stick = {"transport": "usb", "removable": True, "scsi_address": "6:0:0:0"}
    node.put("Disks", disks={"sda": disk("sda", **stick, size_bytes=123_010_547_712)})
    there = filesystem("/dev/sda1", "/media/stick", "vfat", files=None, files_free=None)
    node.put("Filesystems", filesystems={"/media/stick": there})
    node.wait(2400, 120)
    node.put("Filesystems", filesystems={"/media/stick": None})
    node.wait(20, 10)
    node.log("usb 2-3: USB disconnect, device number 4")
    node.put("Disks", disks={"sda": None})
    node.wait(2 * HOUR, 150)


@healthy(*IDLE, node=guest_of_a10)
def guest_is_started_for_a_course(node: Story) -> None:
    """A guest with a card is started for a course, waits for ten minutes and serves it."""
    node.put("Host", uptime_secs=31.0)
    aborts(node, watts=14.0, heat=27.0)
    node.log(
        "ena 0000:00:05.0: ENA device version: 0.10",
        "ena 0000:00:05.0: Elastic Network Adapter (ENA) found at mem febf4000, mac addr "
        "0a:5c:11:2e:40:91",
        "nvme nvme0: 8/0/0 default/read/poll queues",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.230.02  Fri Jan 10 06:24:07 UTC 2025",
        "nvidia-uvm: Loaded the UVM driver, major device number 241.",
    )
    node.wait(600, 60)
    starts(node, guest_of_a10, 1904)
    node.wait(4 * HOUR, 180)


@healthy(*IDLE, node=some_h200)
def exporter_gets_a_new_version(node: Story) -> None:
    """The exporter is exchanged while an engine answers questions: nobody looks for a minute."""
    node.wait(3000, 120)
    restarts(node, 60)
    node.wait(4 * HOUR, 180)


@healthy("tcp_retransmit_burst", node=pod_worker)
def leg_of_a_bond_is_taken_down_for_a_move(node: Story) -> None:
    """An operator takes one leg of a bond down to move its cable, and up again after an hour."""
    card = "i40e 0000:5c:00.1 eno2"
    place = ("Network", "interfaces", "eno2")
    node.wait(1200, 120)
    node.log("bond0: (slave eno2): link status definitely down, disabling slave")
    node.put(*place, up=False, admin_up=False, operstate="down", carrier_changes=3)
    node.put(*place, speed_bytes_per_second=None)
    node.put("Network", "interfaces", "eno1", peers_up=0)
    node.put("Network", "interfaces", "bond0", speed_bytes_per_second=1.25e9)
    node.wait(HOUR, 120)
    node.log(
        f"{card}: NIC Link is Up, 10 Gbps Full Duplex, Flow Control: None",
        "bond0: (slave eno2): link status definitely up, 10000 Mbps full duplex",
    )
    node.put(*place, up=True, admin_up=True, operstate="up", carrier_changes=4)
    node.put(*place, speed_bytes_per_second=1.25e9)
    node.put("Network", "interfaces", "eno1", peers_up=1)
    node.put("Network", "interfaces", "bond0", speed_bytes_per_second=2.5e9)
    node.wait(3 * HOUR, 180)


@healthy(*IDLE, node=new_h100)
def cards_are_tested_before_a_large_run(node: Story) -> None:
    """A script takes all cards for four minutes of tests before a large run begins."""
    node.wait(1800, 120)
    aborts(node)
    node.wait(300, 60)
    releases(node, 240)
    node.wait(120, 60)
    starts(node, new_h100, 47_910)
    node.wait(3 * HOUR, 180)


@healthy(*IDLE, node=four_l4)
def boards_rest_while_nobody_sends_films(node: Story) -> None:
    """The service of four boards is taken away for a day; they rest and nothing happens."""
    node.wait(1200, 120)
    aborts(node, watts=16.0, heat=36.0)
    node.wait(8 * HOUR, 240)


@healthy(node=batch_worker)
def worker_mounts_lustre_and_takes_jobs(node: Story) -> None:
    """A worker starts, mounts Lustre and gets a job that uses all of its cores."""
    node.put("Host", uptime_secs=74.0)
    node.put("Cpu", usage_percent=2.0, used_cores=2.6, load1=3.0, load5=2.0)
    node.log(
        *BOOT,
        "LNet: HW NUMA nodes: 2, HW CPU cores: 128, npartitions: 8",
        "Lustre: Lustre: Build Version: 2.15.5",
        "LNet: Added LNI 198.51.100.141@o2ib [8/256/0/180]",
        "Lustre: Mounted work-client",
    )
    node.wait(600, 60)
    node.put("Cpu", usage_percent=97.0, used_cores=124.0, load1=127.0, load5=96.0)
    node.wait(4 * HOUR, 180)


@healthy("net_interface_leak", node=pod_worker)
def pods_come_and_go_on_a_worker(node: Story) -> None:
    """Pods of a nightly test come and go: their interfaces appear and vanish by the dozen."""
    for number in range(36):
        name = f"veth{0x4C10A2E0 + 0x1F31 * number:08x}"
        node.log(
            f"cni0: port {4 + number % 20}({name}) entered blocking state",
            f"cni0: port {4 + number % 20}({name}) entered forwarding state",
            f"eth0: renamed from {name}",
            f"cni0: port {3 + number % 20}({name}) entered disabled state",
            f"device {name} left promiscuous mode",
        )
        node.wait(400, 200)


@healthy(node=osd_server)
def kernel_is_patched_while_it_runs(node: Story) -> None:
    """A live patch is put into the kernel of a server of disks, which goes on without a pause."""
    node.wait(3000, 120)
    node.log(
        "livepatch: enabling patch 'kpatch_6_1_0_31_2_1'",
        "livepatch: 'kpatch_6_1_0_31_2_1': starting patching transition",
    )
    node.wait(60, 30)
    node.log("livepatch: 'kpatch_6_1_0_31_2_1': patching complete")
    node.wait(5 * HOUR, 180)


CASES = (
    new_box_starts_for_the_first_time,
    old_branch_of_a_driver_gets_its_last_mend,
    profile_of_a_card_is_changed_by_a_reset,
    short_jobs_follow_each_other_on_a_board,
    desk_reads_from_a_stick,
    guest_is_started_for_a_course,
    exporter_gets_a_new_version,
    leg_of_a_bond_is_taken_down_for_a_move,
    cards_are_tested_before_a_large_run,
    boards_rest_while_nobody_sends_films,
    worker_mounts_lustre_and_takes_jobs,
    pods_come_and_go_on_a_worker,
    kernel_is_patched_while_it_runs,
)
