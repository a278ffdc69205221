"""Quiet starts and ends: boots, upgrades, planned resets, virtual machines, maintenance."""

from tests.corpus.eighth.nodes import cloud_t4, kubelet_node, rtx_4090s
from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import is_reset, object_store
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    HOUR,
    database,
    desk,
    file_server,
    inference_l40s,
    job_starts,
    pod_of_a100,
    pod_of_b200,
    pod_of_h100,
    pod_of_h200,
    reboots,
)

IDLE = ("gpu_idle_allocated", "gpu_allocated_unused", "gpu_persistence_off")
BOOT = (
    "ACPI: PM: (supports S0 S5)",
    "ERST: Error Record Serialization Table (ERST) support is initialized.",
    "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.",
    "pcieport 0000:17:01.0: AER: enabled with IRQ 34",
    "pcieport 0000:5b:00.0: pciehp: Slot #1 AttnBtn- PwrCtrl+ MRL- AttnInd+ PwrInd+ HotPlug+",
    "nvme nvme0: pci function 0000:5e:00.0",
    "EDAC MC1: Giving out device to module i10nm_edac controller Intel_10nm Socket#0 IMC#1",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
)


@healthy(*IDLE, node=pod_of_h100)
def reboot_for_a_new_kernel(node: Story) -> None:
    """A drained node is rebooted, all cards come up and the fabric is ready after a minute."""
    node.wait(300, 60)
    node.job_ends()
    reboots(
        node,
        pod_of_h100,
        *BOOT,
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.172.08  Tue Jul  8 18:35:34 UTC 2025",
        "nvidia-nvswitch: Probing device 0000:07:00.0, Vendor Id = 0x10de, Device Id = 0x22a3",
    )
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=rtx_4090s)
def driver_is_upgraded_in_a_maintenance(node: Story) -> None:
    """The jobs end, the module is unloaded, a newer one is loaded, jobs start again."""
    node.wait(600, 60)
    unloads(node, 180)
    loads(node, rtx_4090s, "570.153.02")
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=pod_of_h200)
def card_is_reset_between_two_jobs(node: Story) -> None:
    """An operator resets one idle card to change its mode of ECC; nothing was wrong."""
    node.wait(600, 60)
    node.job_ends()
    node.wait(120)
    is_reset(node, "3d")
    node.wait(300, 60)
    job_starts(node, pod_of_h200)
    node.wait(HOUR, 60)


@healthy(*IDLE, node=pod_of_a100)
def scheduler_runs_short_jobs(node: Story) -> None:
    """Forty jobs of a few minutes follow each other with pauses of one minute."""
    for _ in range(20):
        node.wait(240, 30)
        node.job_ends()
        node.wait(60)
        job_starts(node, pod_of_a100)
    node.wait(300, 60)


@healthy(*IDLE, "attribution_low", node=inference_l40s)
def board_is_given_to_a_virtual_machine(node: Story) -> None:
    """One of four boards is bound to vfio-pci for a guest: the driver lets go of it in order."""
    node.wait(600, 60)
    node.put("Workloads", "clients", **{"4714": None})
    node.put("Workloads", "uses", e1=None)
    node.gpu("e1", processes=[], utilization_percent=0.0, power_draw_watts=30.0)
    node.wait(60)
    node.log(
        "vfio-pci 0000:e1:00.0: vgaarb: changed VGA decodes: olddecodes=none,decodes=none:owns=none"
    )
    node.put("Pcie", "devices", "e1", driver="vfio-pci")
    node.put("Gpus", states={"e1": None})
    node.wait(3 * HOUR, 120)


@healthy(node=kubelet_node)
def guest_kernels_and_bridges_start(node: Story) -> None:
    """A host of virtual machines starts ten guests: KVM prints about registers it ignores."""
    for number in range(10):
        node.wait(300, 60)
        node.log(
            f"kvm [{30_000 + number}]: ignored rdmsr: 0x140 data 0x0",
            "kvm: SMP vm created on host with unstable TSC; guest TSC will not be reliable",
            f"br0: port {number + 2}(vnet{number}) entered forwarding state",
        )
    node.wait(HOUR, 60)


@healthy(*IDLE, node=desk)
def desktop_boots_in_the_morning(node: Story) -> None:
    """A workstation is switched on: its cards start with slow links and rest."""
    node.put("Host", uptime_secs=35.0)
    node.log(
        *BOOT,
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  560.35.05  Thu Sep 12 20:02:11 UTC 2024",
        "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  560.35.05",
        "usb 1-4: device descriptor read/64, error -71",
        "usb 1-4: new full-speed USB device number 5 using xhci_hcd",
    )
    node.job_ends()
    node.gpus(pcie_link_generation=1, power_draw_watts=24.0, power_average_watts=24.0)
    node.wait(2 * HOUR, 120)


@healthy(node=file_server)
def disk_is_taken_out_by_intent(node: Story) -> None:
    """A spare disk, in no array and not mounted, is spun down and pulled for a copy elsewhere."""
    node.wait(600, 60)
    node.log(
        "sd 7:0:0:0: [sdh] Synchronizing SCSI cache",
        "sd 7:0:0:0: [sdh] Stopping disk",
        "ata8.00: disable device",
    )
    node.put("Disks", disks={"sdh": None})
    node.wait(2 * HOUR, 120)


@healthy("disk_slow", node=object_store)
def store_is_mounted_disk_by_disk(node: Story) -> None:
    """After a boot twelve filesystems are mounted, three of them after a clean recovery of logs."""
    node.put("Host", uptime_secs=80.0)
    for letter in "abcdefghijkl":
        node.log(
            f"XFS (sd{letter}): Mounting V5 Filesystem", f"XFS (sd{letter}): Ending clean mount"
        )
        node.wait(10, 5)
    for letter in "cfk":
        node.log(f"XFS (sd{letter}): Starting recovery (logdev: internal)")
        node.wait(10, 5)
        node.log(f"XFS (sd{letter}): Ending recovery (logdev: internal)")
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=cloud_t4)
def guest_is_moved_while_it_runs(node: Story) -> None:
    """A guest stands still for four seconds of maintenance; its clock jumps and is set again."""
    node.wait(900, 60)
    node.put("Clock", offset_seconds=0.04, error_seconds=0.3)
    node.log(
        "clocksource: timekeeping watchdog on CPU3: hpet wd-wd read-back delay of 116190ns",
        "ena 0000:00:05.0 eth0: Keep alive watchdog is enabled",
    )
    node.wait(120)
    node.put("Clock", offset_seconds=1e-5, error_seconds=0.003)
    node.wait(2 * HOUR, 120)


@healthy("tcp_retransmit_burst", node=database)
def ports_negotiate_at_the_start(node: Story) -> None:
    """Two ports come up one after the other within twenty seconds after a boot."""
    node.put("Host", uptime_secs=20.0)
    for name in ("ens3f0np0", "ens3f1np1"):
        node.put("Network", "interfaces", name, up=False, operstate="down", carrier_changes=1)
        node.put("Network", "interfaces", name, receive_packets=0, receive_bytes=0)
    node.wait(10, 5)
    for number, name in enumerate(("ens3f0np0", "ens3f1np1")):
        node.log(f"bnxt_en 0000:5c:00.{number} {name}: NIC Link is Up, 25000 Mbps full duplex")
        node.put("Network", "interfaces", name, up=True, operstate="up", carrier_changes=2)
        node.wait(10, 5)
    node.wait(2 * HOUR, 120)


@healthy(*IDLE, node=pod_of_b200)
def exporter_starts_after_the_job(node: Story) -> None:
    """The exporter starts on a node that is up for a month; a row was remapped long ago."""
    node.gpu("9a", remapped_rows_total={"corrected": 1})
    node.gpu("9a", row_remap_banks={"max": 639, "high": 1})
    node.put("Host", uptime_secs=2_500_000.0)
    node.wait(3 * HOUR, 120)


@healthy(*IDLE, node=inference_l40s)
def boards_are_replaced_by_a_planned_halt(node: Story) -> None:
    """The node is shut down in order for a day, and comes back with its four boards."""
    node.wait(600, 60)
    node.job_ends()
    node.wait(120)
    reboots(node, inference_l40s, *BOOT, secs=7200)
    node.wait(2 * HOUR, 120)


CASES = (
    reboot_for_a_new_kernel,
    driver_is_upgraded_in_a_maintenance,
    card_is_reset_between_two_jobs,
    scheduler_runs_short_jobs,
    board_is_given_to_a_virtual_machine,
    guest_kernels_and_bridges_start,
    desktop_boots_in_the_morning,
    disk_is_taken_out_by_intent,
    store_is_mounted_disk_by_disk,
    guest_is_moved_while_it_runs,
    ports_negotiate_at_the_start,
    exporter_starts_after_the_job,
    boards_are_replaced_by_a_planned_halt,
)
