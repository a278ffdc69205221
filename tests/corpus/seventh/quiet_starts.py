"""Nodes that have just started, were serviced, or say frightening words at their boot."""

from tests.corpus.fifth.nodes import loads, unloads
from tests.corpus.labels import healthy
from tests.corpus.parts import ib_port
from tests.corpus.seventh.nodes import (
    altra,
    disk_shelf,
    epyc,
    guest,
    hgx,
    mi300s,
    npus,
    rests,
    rtx_3090s,
)
from tests.corpus.sixth.nodes import h200s
from tests.corpus.story import Story

HEADS = "[Hardware Error]"


@healthy(node=hgx)
def fabric_is_set_up_after_a_boot(node: Story) -> None:
    """After a boot cards wait for the fabric manager for a minute and a half."""
    node.put("Host", uptime_secs=55.0)
    rests(node, 75.0)
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    node.log(
        "nvidia-nvswitch0: Probing device 0000:07:00.0, Vendor Id = 0x10de, Device Id = 0x22a3, "
        "Class = 0x68000 ",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 236",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue Apr  8 12:41:17 UTC 2025",
    )
    node.wait(90, 15)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(1800, 60)


@healthy(node=epyc)
def amd_board_greets(node: Story) -> None:
    """Frightening words of the boot of an EPYC board."""
    node.put("Host", uptime_secs=7.0)
    node.log(
        "x86/amd: Previous system reset reason [0x00080800]: software wrote 0x6 to reset control "
        "register 0xCF9",
        "AMD-Vi: AMD IOMMUv2 functionality not available on this system - This is not a bug.",
        "MCE: In-kernel MCE decoding enabled.",
        "EDAC MC0: Giving out device to module amd64_edac controller F19h: DEV 0000:00:18.3 "
        "(INTERRUPT)",
        "EDAC amd64: Node 0: DRAM ECC enabled.",
        "pci 0000:60:03.0: PCI bridge to [bus 61]",
        "pcieport 0000:60:03.0: AER: enabled with IRQ 61",
        "ACPI: SPCR: Unexpected SPCR Access Width.  Defaulting to byte size",
        "ccp 0000:02:00.1: SEV: failed to INIT error 0x1, rc -5",
        "nvme nvme0: D3 entry latency set to 10 seconds",
        "i2c_designware AMDI0010:03: controller timed out",
        "kauditd_printk_skb: 22 callbacks suppressed",
    )
    node.wait(1800, 60)


@healthy(node=altra)
def arm_server_greets(node: Story) -> None:
    """Words of the boot of an ARM server, with an error of the boot before this one."""
    node.put("Host", uptime_secs=12.0)
    node.log(
        "GHES: APEI firmware first mode is enabled by APEI bit and WHEA _OSC.",
        "EDAC MC0: Giving out device to module ghes_edac.c controller ghes_edac: DEV ghes "
        "(INTERRUPT)",
        "BERT: Error records from previous boot:",
        f"{HEADS}: event severity: corrected",
        f"{HEADS}:  Error 0, type: corrected",
        "arm-smmu-v3 arm-smmu-v3.3.auto: msi_domain absent - falling back to wired irqs",
        "ARMH0011:00: failed to request DMA",
        "kvm [1]: HYP mode not available",
        "acpi PNP0A08:05: _OSC: platform does not support [SHPCHotplug PME LTR]",
        "sdei: SDEIv1.0 (0x0) detected in firmware.",
    )
    node.wait(1800, 60)


@healthy(node=guest)
def guest_boots_after_a_crash_of_its_host(node: Story) -> None:
    """Journals are replayed, orphans removed; the time is wrong for a minute."""
    node.put("Host", uptime_secs=11.0)
    node.put("Clock", synchronized=False, error_seconds=16.0, offset_seconds=-0.4)
    node.log(
        "EXT4-fs (vda1): orphan cleanup on readonly fs",
        "EXT4-fs (vda1): 4 orphan inodes deleted",
        "EXT4-fs (vda1): recovery complete",
        "XFS (vdb): Starting recovery (logdev: internal)",
        "XFS (vdb): Ending recovery (logdev: internal)",
        "systemd-journald[312]: File /var/log/journal/b2/system.journal corrupted or uncleanly "
        "shut down, renaming and replacing.",
        "virtio_net virtio1 eth0: renamed from ens3",
        "kvm-clock: using sched offset of 88120331 cycles",
        "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x2b3e459bf4c",
    )
    node.wait(60, 15)
    node.put("Clock", synchronized=True, error_seconds=0.02, offset_seconds=1e-4)
    node.wait(1800, 60)


@healthy(never=("gpu_reset_failed", "gpu_ring_timeout", "gpu_lost"), node=mi300s)
def instincts_start(node: Story) -> None:
    """What the driver of AMD prints for each of eight cards when it is loaded."""
    node.put("Host", uptime_secs=70.0)
    for place in node.bus_addresses:
        card = f"amdgpu 0000:{place}:00.0: amdgpu:"
        node.log(
            f"{card} MEM ECC is active.",
            f"{card} SRAM ECC is active.",
            f"{card} RAS: optional ras ta ucode is not available",
            f"{card} ring sdma0.0 uses VM inv eng 0 on hub 8",
            f"{card} SMU is initialized successfully!",
        )
    node.log("[drm] amdgpu kernel modesetting enabled.", "kfd kfd: amdgpu: added device 1002:74a1")
    node.wait(1800, 60)


@healthy(node=npus)
def chips_of_ascend_are_seen_late(node: Story) -> None:
    """Npu-smi answers a minute and a half after the boot; all chips are there and idle."""
    cards = node.take_away("Gpus", "states")
    waits = {"backend": "npu-smi", "reason": "pending"}
    node.put("Gpus", others={"npu-smi": waits}, states=dict.fromkeys(cards))
    node.put("Host", uptime_secs=30.0)
    node.wait(90, 15)
    node.put("Gpus", others={"npu-smi": {**waits, "reason": "ok", "driver_version": "24.1.0"}})
    node.put("Gpus", states=cards)
    node.gpus(utilization_percent=0.0, power_draw_watts=92.0, temperature_celsius=36.0)
    node.wait(1800, 60)


@healthy(node=disk_shelf)
def shelf_of_disks_spins_up(node: Story) -> None:
    """Disks are slow to become ready at a boot, an empty port has no link, arrays are started."""
    node.put("Host", uptime_secs=14.0)
    for target in range(8):
        node.log(
            f"scsi 7:0:{target}:0: Power-on or device reset occurred",
            f"sd 7:0:{target}:0: [sd{'abcdefgh'[target]}] Spinning up disk...",
        )
    node.log(
        "ata3: SATA link down (SStatus 0 SControl 300)",
        "ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        "ata1.00: supports DRM functions and may not be fully accessible",
        "md/raid1:md127: active with 2 out of 2 mirrors",
        "mpt3sas_cm0: port enable: SUCCESS",
        "ZFS: Loaded module v2.1.11-1, ZFS pool version 5000, ZFS filesystem version 5",
    )
    node.wait(1800, 60)


@healthy(never=("ib_port_down",), node=h200s)
def spare_port_of_a_new_adapter_has_no_cable(node: Story) -> None:
    """The second port of a new adapter was never connected; all others are active."""
    spare = ib_port("mlx5_4", "0000:4d:00.1", state="down", phys_state="polling")
    spare |= {"receive_bytes": 0, "transmit_bytes": 0, "link_was_up": False, "peers_up": 4}
    node.put("Host", uptime_secs=400.0)
    node.put("Infiniband", "ports", mlx5_4=spare)
    node.wait(2 * 3600, 120)


@healthy("net_link_down", never=("gpu_lost", "gpu_count_low", "nic_driver_fatal"), node=hgx)
def firmware_of_boards_is_flashed_in_a_window(node: Story) -> None:
    """A drained node: the driver is away for twenty minutes, an adapter is reset by its tool."""
    node.wait(60)
    rests(node, 75.0)
    node.wait(300, 60)
    unloads(node, 600)
    node.log(
        "mlx5_core 0000:5c:00.0: mlx5_sync_reset_request_event:316:(pid 91): PCI Sync FW Update "
        "Reset Ack",
        "mlx5_core 0000:5c:00.0: mlx5_sync_reset_now_event:430:(pid 91): Sync Reset now. Device is "
        "going to reset.",
        "mlx5_core 0000:5c:00.0 eth0: Link down",
    )
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.wait(20, 10)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link up")
    node.put("Network", "interfaces", "eth0", up=True, operstate="up", carrier_changes=4)
    node.wait(600, 60)
    loads(node, hgx)
    node.wait(1800, 60)


@healthy(never=("gpu_probe_failed", "gpu_count_low"), node=rtx_3090s)
def driver_is_built_anew_for_a_new_kernel(node: Story) -> None:
    """After a boot into a new kernel the module is built for two minutes, and then loaded."""
    cards = node.take_away("Gpus", "states")
    workloads = node.take_away("Workloads")
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.put("Gpus", states=dict.fromkeys(cards))
    node.put("Host", uptime_secs=20.0)
    node.log("nvidia: module verification failed: signature and/or required key missing - tainting")
    node.wait(120, 15)
    node.log("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.153.02  Tue May 13 16:34:58 UTC")
    node.wait(15)
    node.put("Gpus", backend={"backend": "nvml", "reason": "ok", "nvml_up": True}, states=cards)
    node.gpus(utilization_percent=0.0, power_draw_watts=21.0, temperature_celsius=35.0)
    node.gpus(processes=[], memory_used_bytes=0, throttle_active={"gpu_idle": 1})
    node.wait(60)
    node.put(Workloads=workloads)
    node.gpus(utilization_percent=92.0, power_draw_watts=320.0, temperature_celsius=71.0)
    node.gpus(throttle_active={"gpu_idle": 0})
    node.wait(1800, 60)


CASES = (
    fabric_is_set_up_after_a_boot,
    amd_board_greets,
    arm_server_greets,
    guest_boots_after_a_crash_of_its_host,
    instincts_start,
    chips_of_ascend_are_seen_late,
    shelf_of_disks_spins_up,
    spare_port_of_a_new_adapter_has_no_cable,
    firmware_of_boards_is_flashed_in_a_window,
    driver_is_built_anew_for_a_new_kernel,
)
