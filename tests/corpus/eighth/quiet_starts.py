"""Nodes that have just started, and the hard words of their boots."""

from tests.corpus.eighth.nodes import b200_box, cloud_volumes, kubelet_node
from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import healthy
from tests.corpus.seventh.nodes import epyc, hgx, rests
from tests.corpus.sixth.nodes import h200s, rack_server, raid_server
from tests.corpus.story import Story


@healthy(never=("gpu_lost", "gpu_probe_failed", "gpu_count_low"), node=b200_box)
def open_driver_of_a_b200_box_loads(node: Story) -> None:
    """What the open driver prints at the boot of a node of eight B200."""
    node.put("Host", uptime_secs=60.0)
    node.log(
        "nvidia: loading out-of-tree module taints kernel.",
        "nvidia: module verification failed: signature and/or required key missing - tainting "
        "kernel",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.195.03  Release Build",
        "nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver for x86_64  "
        "570.195.03  Release Build",
        "nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from proprietary module "
        "nvidia, inheriting taint.",
        "nvidia-uvm: Loaded the UVM driver, major device number 510.",
        "[drm] [nvidia-drm] [GPU ID 0x00001900] Loading driver",
    )
    rests(node, 140.0)
    node.wait(1800, 60)


@healthy(never=("nvlink_down", "fabric_not_ready"), node=h200s)
def fabric_of_an_h200_node_is_ready_after_two_minutes(node: Story) -> None:
    """Links and fabric come up while the fabric manager starts: two minutes after the boot."""
    node.put("Host", uptime_secs=50.0)
    rests(node, 76.0)
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    node.wait(120, 15)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(1800, 60)


@healthy(node=hgx)
def adapters_of_a_trainer_are_found(node: Story) -> None:
    """What network adapters print at a boot: slot power, cables, links that come up slowly."""
    node.put("Host", uptime_secs=22.0)
    for place in ("5c", "ca", "cb"):
        card = f"mlx5_core 0000:{place}:00.0"
        node.log(
            f"{card}: firmware version: 28.39.1002",
            f"{card}: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
            f"{card}: mlx5_pcie_event:297:(pid 11): PCIe slot power capability was not advertised.",
            f"{card}: Port module event: module 0, Cable plugged",
            f"{card}: E-Switch: Total vports 2, per vport: max uc(128) max mc(2048)",
        )
    node.log(
        "mlx5_core 0000:5c:00.0 eth0: Link up", "bonding: bond0: link status up again after 0 ms"
    )
    node.wait(1800, 60)


@healthy(node=rack_server)
def board_of_two_xeons_greets(node: Story) -> None:
    """Bugs of the firmware, of tables and of taste, as each boot of a server prints them."""
    node.put("Host", uptime_secs=9.0)
    node.log(
        "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PMI0._GHL.VPMB], AE_NOT_FOUND "
        "(20220331/psargs-330)",
        "ACPI Error: Aborting method \\_SB.PMI0._GHL due to previous error (AE_NOT_FOUND)",
        "DMAR: [Firmware Bug]: No firmware reserved region can cover this RMRR "
        "[0x000000006bd94000-0x000000006bd96fff]",
        "x86/split lock detection: #AC: crashing the kernel on kernel split_locks and warning on "
        "user-space split_locks",
        "mce: CPU0: Thermal monitoring enabled (TM1)",
        "EDAC i10nm: No hbm memory",
        "ERST: Error Record Serialization Table (ERST) support is initialized.",
        "pci 0000:00:14.0: [Firmware Bug]: reg 0x10: invalid BAR (can't size)",
        "mei_me 0000:00:16.0: initialization failed.",
        "tpm tpm0: A TPM error (256) occurred attempting the self test",
        "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "cma: cma_alloc: reserved: alloc failed, req-size: 128 pages, ret: -12",
    )
    node.wait(1800, 60)


@healthy(node=cloud_volumes)
def guest_of_a_cloud_is_born(node: Story) -> None:
    """A new guest: its disk is grown, its time is set within half a minute, volumes appear."""
    node.put("Host", uptime_secs=6.0)
    node.put("Clock", synchronized=False, error_seconds=16.0, offset_seconds=0.02)
    node.log(
        "ena 0000:00:05.0: ENA device version: 0.10",
        "ena 0000:00:05.0: LLQ is not supported Fallback to host mode policy.",
        "nvme nvme0: 2/0/0 default/read/poll queues",
        "nvme nvme1: pci function 0000:00:1f.0",
        "EXT4-fs (nvme0n1p1): resizing filesystem from 784896 to 2096891 blocks",
        "EXT4-fs (nvme0n1p1): resized filesystem to 2096891",
        "i8042: PNP: No PS/2 controller found.",
        "cloud-init[611]: Cloud-init v. 24.1 running 'init'",
    )
    node.wait(30, 10)
    node.put("Clock", synchronized=True, error_seconds=0.001, offset_seconds=1e-6)
    node.wait(1800, 60)


@healthy(node=epyc)
def server_is_back_after_a_power_cut(node: Story) -> None:
    """Journals are replayed, a directory is cleaned, unsafe shutdowns of disks are counted."""
    node.put("Host", uptime_secs=13.0)
    node.put("NvmeHealths", "controllers", "nvme0", unsafe_shutdowns=8)
    node.put("NvmeHealths", "controllers", "nvme1", unsafe_shutdowns=8)
    node.log(
        "EXT4-fs (nvme0n1p2): recovery complete",
        "EXT4-fs (nvme0n1p2): mounted filesystem 4a1e with ordered data mode. Quota mode: none.",
        "XFS (nvme1n1): Mounting V5 Filesystem 3b7d",
        "XFS (nvme1n1): Starting recovery (logdev: internal)",
        "XFS (nvme1n1): Ending recovery (logdev: internal)",
        "systemd-journald[702]: File /var/log/journal/77/system.journal corrupted or uncleanly "
        "shut down, renaming and replacing.",
        "systemd-fsck[688]: /dev/nvme0n1p1: Dirty bit is set. Fs was not properly unmounted",
        "FAT-fs (nvme0n1p1): Volume was not properly unmounted. Some data may be corrupt. Please "
        "run fsck.",
    )
    node.wait(1800, 60)


@healthy(node=raid_server)
def adapter_and_array_start(node: Story) -> None:
    """What a SAS adapter, its disks and an array print at a boot."""
    node.put("Host", uptime_secs=18.0)
    node.log(
        "mpt3sas_cm0: 63 BIT PCI BUS DMA ADDRESSING SUPPORTED, total mem (1056488196 kB)",
        "mpt3sas_cm0: LSISAS3008: FWVersion(16.00.12.00), ChipRevision(0x02), BiosVersion(00.00)",
        "mpt3sas_cm0: sending port enable !!",
        "mpt3sas_cm0: port enable: SUCCESS",
    )
    for target, letter in enumerate("abcdef"):
        node.log(
            f"sd 0:0:{target}:0: Power-on or device reset occurred",
            f"sd 0:0:{target}:0: [sd{letter}] Write Protect is off",
            f"sd 0:0:{target}:0: [sd{letter}] Attached SCSI disk",
        )
    node.log(
        "md/raid:md5: device sda operational as raid disk 0",
        "md/raid:md5: raid level 6 active with 5 out of 5 devices, algorithm 2",
        "md5: detected capacity change from 0 to 46883175424",
    )
    node.wait(1800, 60)


@healthy("net_link_down", node=kubelet_node)
def legs_of_a_bond_come_up_one_by_one(node: Story) -> None:
    """At a boot one leg has its link at once, the other one after forty seconds of training."""
    node.put("Host", uptime_secs=15.0)
    node.put("Network", "interfaces", "ens2f0", up=False, operstate="down", carrier_changes=0)
    node.log(
        "ice 0000:5c:00.1 ens1f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC",
        "bond0: (slave ens1f0): link status definitely up, 100000 Mbps full duplex",
        "bond0: Warning: No 802.3ad response from the link partner for any adapters in the bond",
    )
    node.wait(40, 10)
    node.log("ice 0000:5c:00.2 ens2f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC")
    node.put("Network", "interfaces", "ens2f0", up=True, operstate="up", carrier_changes=1)
    node.wait(1800, 60)


@healthy(never=("gpu_lost", "gpu_count_low", "gpu_probe_failed"), node=hgx)
def drained_node_is_booted_for_a_kernel(node: Story) -> None:
    """Jobs are drained, the node boots for six minutes, the driver is there a minute later."""
    node.wait(120, 30)
    rests(node)
    node.wait(300, 60)
    node.wait(360, 360)
    node.put("Host", uptime_secs=40.0, kernel_version="5.15.0-1079")
    unloads(node, 45)
    loads(node, hgx)
    node.wait(1800, 60)


CASES = (
    open_driver_of_a_b200_box_loads,
    fabric_of_an_h200_node_is_ready_after_two_minutes,
    adapters_of_a_trainer_are_found,
    board_of_two_xeons_greets,
    guest_of_a_cloud_is_born,
    server_is_back_after_a_power_cut,
    adapter_and_array_start,
    legs_of_a_bond_come_up_one_by_one,
    drained_node_is_booted_for_a_kernel,
)
