"""Nodes that start, are provisioned, or are changed on purpose."""

from tests.corpus.eighth.nodes import b200_box, cloud_volumes, kubelet_node
from tests.corpus.fifth.nodes import a100s, loads, unloads
from tests.corpus.labels import healthy
from tests.corpus.ninth.nodes import (
    HOUR,
    a40s,
    b300s,
    cloud_h100s,
    hpc_worker,
    laptop,
    mi250s,
    object_store,
    releases,
    roce_box,
)
from tests.corpus.seventh.nodes import altra, hgx, rests
from tests.corpus.story import Story

GRAVE = ("gpu_lost", "gpu_count_low", "gpu_probe_failed", "gpu_init_failed", "backend_stuck")


def _starts(node: Story, secs: float) -> None:
    """The node was booted so many seconds ago."""
    node.put("Host", uptime_secs=secs)


@healthy("nvml_unavailable", never=GRAVE, node=roce_box)
def new_node_gets_its_driver(node: Story) -> None:
    """A node without a driver is provisioned: nouveau is unloaded, the driver built and loaded."""
    cards = node.take_away("Gpus", "states")
    _starts(node, 95.0)
    rests_of = dict.fromkeys(map(str, range(4711, 4719)))
    node.put("Workloads", "clients", **rests_of)
    node.put("Workloads", "uses", **dict.fromkeys(cards))
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.put("Gpus", states=dict.fromkeys(cards))
    node.log(
        "nouveau 0000:19:00.0: unknown chipset (180000a1)",
        "nouveau: probe of 0000:19:00.0 failed with error -12",
        'audit: type=1400 audit(1732180001.311:88): apparmor="STATUS" operation="profile_load"',
    )
    node.wait(900, 60)
    node.log(
        "nvidia: loading out-of-tree module taints kernel.",
        "nvidia: module license 'NVIDIA' taints kernel.",
        "Disabling lock debugging due to kernel taint",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 509",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.127.08  Wed Oct  9 01:07:28 UTC 2024",
        "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  550.127.08",
    )
    node.wait(60)
    idle = {"processes": [], "utilization_percent": 0.0, "memory_used_bytes": 0}
    idle |= {"power_draw_watts": 69.0, "temperature_celsius": 29.0}
    for bus, state in cards.items():
        fresh = {**state, "gpu": {**state["gpu"], **idle}}
        fresh["gpu"] |= {"fabric_state": "not_started", "fabric_healthy": None}
        node.put("Gpus", "states", **{bus: fresh})
    node.put("Gpus", backend={"backend": "nvml", "reason": "ok", "nvml_up": True})
    node.gpus(memory_controller_utilization_percent=0.0, throttle_active={"gpu_idle": 1})
    node.wait(120, 30)
    node.gpus(fabric_state="in_progress")
    node.wait(20, 5)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(HOUR, 120)


@healthy(never=GRAVE, node=hgx)
def all_cards_are_reset_between_two_jobs(node: Story) -> None:
    """The prolog of a scheduler resets all idle cards: none can be asked for twenty seconds."""
    rests(node, 72.0)
    node.wait(600, 60)
    releases(node, 20)
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    node.wait(10, 5)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(HOUR, 120)


@healthy("nvml_unavailable", never=(*GRAVE, "driver_version_mismatch"), node=a100s)
def newer_driver_is_loaded_on_a_drained_node(node: Story) -> None:
    """Jobs end, the driver is unloaded, a newer one loaded four minutes later, jobs return."""
    rests(node, 60.0)
    node.wait(300, 60)
    unloads(node, 240)
    loads(
        node,
        a100s,
        "535.230.02",
        "nvidia-nvswitch: Probing device 0000:86:00.0, Vendor Id = 0x10de, Device Id = 0x1af1, "
        "Class = 0x68000",
        "nvidia-uvm: Loaded the UVM driver, major device number 507.",
    )
    node.wait(2 * HOUR, 120)


@healthy(never=("ib_port_down", "network_filesystem_stalled"), node=hpc_worker)
def worker_of_a_cluster_boots(node: Story) -> None:
    """The port waits for the subnet manager, Lustre is mounted, a clock is set, Slurm starts."""
    _starts(node, 31.0)
    node.put("Infiniband", "ports", "mlx5_0", state="init", link_was_up=False, receive_bytes=0)
    node.put("Clock", synchronized=False, error_seconds=16.0, offset_seconds=2e-4)
    node.put("Cpu", usage_percent=4.0, used_cores=5.0, load1=3.0)
    node.log(
        "mlx5_core 0000:ca:00.0: firmware version: 20.38.1002",
        "mlx5_core 0000:ca:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
        "IPv6: ADDRCONF(NETDEV_UP): ib0: link is not ready",
        "Lustre: Lustre: Build Version: 2.15.4",
        "LNet: Using FastReg for registration",
        "LNet: Added LNI 192.0.2.31@o2ib [8/256/0/180]",
    )
    node.wait(30, 5)
    node.put("Infiniband", "ports", "mlx5_0", state="active", link_was_up=True)
    node.log(
        "IPv6: ADDRCONF(NETDEV_CHANGE): ib0: link becomes ready", "Lustre: Mounted scratch-client"
    )
    node.put("Clock", synchronized=True, error_seconds=0.001, offset_seconds=1e-6)
    node.wait(HOUR, 60)


@healthy(never=("gpu_reset_failed", "gpu_ring_timeout", "gpu_ecc_uncorrected"), node=mi250s)
def driver_of_instincts_is_loaded(node: Story) -> None:
    """What amdgpu prints when it finds eight cards, with words that sound worse than they are."""
    _starts(node, 44.0)
    node.log("[drm] amdgpu kernel modesetting enabled.", "amdgpu: Ignoring ACPI CRAT on non-APU")
    for bus in node.bus_addresses:
        card = f"amdgpu 0000:{bus}:00.0: amdgpu:"
        node.log(
            f"{card} Fetched VBIOS from ROM BAR",
            f"{card} MEM ECC is active.",
            f"{card} SRAM ECC is active.",
            f"{card} RAS INFO: ras initialized successfully, hardware ability[7ffe] ras_mask[7ffe]",
            f"{card} Trusted Memory Zone (TMZ) feature not supported",
            f"{card} SMU is initialized successfully!",
            f"{card} Using BACO for runtime pm is not supported",
        )
    node.wait(HOUR, 120)


@healthy("gpu_persistence_off", node=laptop)
def laptop_wakes_up_and_complains(node: Story) -> None:
    """A laptop resumes: its firmware has bugs, its wireless resets once, its card sleeps."""
    node.wait(300, 60)
    node.log(
        "PM: suspend exit",
        "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PC00.TXHC.RHUB.SS01], AE_NOT_FOUND",
        "ACPI Error: AE_NOT_FOUND, During name lookup/catalog (20240827/psobject-220)",
        "iwlwifi 0000:00:14.3: WRT: Invalid buffer destination",
        "i915 0000:00:02.0: [drm] *ERROR* CPU pipe A FIFO underrun",
        "usb 3-10: device descriptor read/64, error -71",
        "wlp0s20f3: authenticate with 02:00:5e:10:00:01",
        "wlp0s20f3: associated",
        "thermal thermal_zone3: failed to read out thermal zone (-61)",
    )
    node.put("Network", "interfaces", "wlp0s20f3", carrier_changes=7)
    node.wait(2 * HOUR, 120)


@healthy(never=("pcie_device_link_degraded", "gpu_pcie_link_degraded"), node=a40s)
def adapter_sits_in_a_narrow_slot(node: Story) -> None:
    """A card of sixteen lanes is in a slot of eight, as it was bought; the kernel says so."""
    _starts(node, 18.0)
    narrow = {"width": 8, "width_reachable": 8, "speed_bytes_per_second": 1.97e9}
    node.put("Pcie", "devices", "5c", **narrow, speed_reachable_bytes_per_second=1.97e9)
    speeds = ("speed", "speed_max", "speed_reachable")
    slot = {f"{name}_bytes_per_second": 1.97e9 for name in speeds}
    node.put("Pcie", "devices", "5b", width=8, width_max=8, width_reachable=8, **slot)
    node.log(
        "pci 0000:5c:00.0: 126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 "
        "link at 0000:5b:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)",
        "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged",
        "mlx5_core 0000:5c:00.0 eth0: Link up",
    )
    node.wait(2 * HOUR, 120)


@healthy(never=("fabric_not_ready", "nvlink_down"), node=b300s)
def links_of_a_b300_box_train_after_its_boot(node: Story) -> None:
    """The subnet manager of the links starts: cards are in progress for ninety seconds, idle."""
    _starts(node, 70.0)
    rests(node, 150.0)
    node.gpus(fabric_state="in_progress", fabric_healthy=None)
    node.log(
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.105.08  Release Build",
        "mlx5_core 0000:5c:00.0: mlx5_pcie_event:301:(pid 614): PCIe slot advertised sufficient "
        "power (27W).",
    )
    node.wait(90, 15)
    node.gpus(fabric_state="completed", fabric_healthy=True)
    node.wait(HOUR, 60)


@healthy("net_link_flap", never=("nic_driver_fatal", "net_tx_timeout"), node=kubelet_node)
def firmware_of_a_port_is_updated_live(node: Story) -> None:
    """A drained leg of a bond gets new firmware: it is set down on purpose for a minute."""
    node.wait(600, 60)
    node.put("Network", "interfaces", "ens1f0", admin_up=False, up=False, operstate="down")
    node.put("Network", "interfaces", "ens1f0", carrier_changes=3)
    node.log(
        "ice 0000:5c:00.1: Flashing new NVM image",
        "ice 0000:5c:00.1: PF reset requested by devlink",
    )
    node.wait(75, 15)
    node.log("ice 0000:5c:00.1 ens1f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC")
    node.put("Network", "interfaces", "ens1f0", admin_up=True, up=True, operstate="up")
    node.put("Network", "interfaces", "ens1f0", carrier_changes=4)
    node.wait(2 * HOUR, 120)


@healthy(node=object_store)
def twelve_disks_are_found_and_mounted(node: Story) -> None:
    """The adapter of an object store greets at a boot, disks spin up, journals are replayed."""
    _starts(node, 57.0)
    node.log(
        "mpt3sas_cm0: LSISAS3808: FWVersion(24.00.00.00), ChipRevision(0x01)",
        "mpt3sas_cm0: sending port enable !!",
        "mpt3sas_cm0: port enable: SUCCESS",
        "scsi 12:0:4:0: Power-on or device reset occurred",
        "sd 12:0:4:0: [sde] Mode Sense: db 00 10 08",
        "sd 12:0:4:0: [sde] Spinning up disk...",
        "GPT:Primary header thinks Alt. header is not at the end of the disk.",
        "XFS (sde): Mounting V5 Filesystem 77a0f1b2",
        "XFS (sde): Starting recovery (logdev: internal)",
        "XFS (sde): Ending recovery (logdev: internal)",
        "bnxt_en 0000:41:00.0: Unable to read VPD",
        "ipmi_si IPI0001:00: The BMC does not support setting the recv irq bit, compensating, but "
        "the BMC needs to be fixed.",
    )
    node.wait(HOUR, 60)


@healthy(node=altra)
def server_of_arm_boots(node: Story) -> None:
    """What an ARM server prints at its start: quirks, tables, devices that are not there."""
    _starts(node, 12.0)
    node.log(
        "CPU features: detected: Hardware dirty bit management",
        "ARM_SMCCC: SOC_ID: ARCH_SOC_ID not implemented, skipping ....",
        "GHES: APEI firmware first mode is enabled by APEI bit.",
        "ERST: Error Record Serialization Table (ERST) support is initialized.",
        "HEST: Table parsing has been initialized.",
        "acpi PNP0A08:00: _OSC: platform does not support [PCIeHotplug LTR]",
        "pcieport 000c:00:01.0: AER: enabled with IRQ 91",
        "EDAC MC: Ver: 3.0.0",
        "arm-smmu-v3 arm-smmu-v3.2.auto: option mask 0x0",
        "nvme nvme0: missing or invalid SUBNQN field.",
    )
    node.wait(HOUR, 60)


@healthy(node=cloud_volumes)
def guest_stands_still_while_it_is_moved(node: Story) -> None:
    """A guest stands still for two seconds while it is moved; its clock is right a minute later."""
    node.wait(900, 60)
    node.log(
        "clocksource: Switched to clocksource kvm-clock",
        "ena 0000:00:05.0 ens5: Device watchdog is Enabled",
        "hv_balloon: Max. dynamic memory size: 65536 MB",
    )
    node.put("Clock", offset_seconds=0.0004, error_seconds=0.03)
    node.wait(60, 15)
    node.put("Clock", offset_seconds=1e-5, error_seconds=0.002)
    node.wait(HOUR, 60)


@healthy(never=GRAVE, node=b200_box)
def exporter_is_upgraded_three_times(node: Story) -> None:
    """The exporter is away for half a minute, three times in a morning; the cards work on."""
    for _ in range(3):
        node.wait(1800, 60)
        node.wait(35, 35)
        cards = node.take_away("Gpus", "states")
        node.put("Gpus", backend={"backend": "none", "reason": "pending", "nvml_up": None})
        node.put("Gpus", states=dict.fromkeys(cards))
        node.wait(5, 5)
        node.put("Gpus", backend={"backend": "nvml", "reason": "ok", "nvml_up": True})
        node.put("Gpus", states=cards)
    node.wait(1800, 60)


@healthy(never=GRAVE, node=cloud_h100s)
def guest_with_eight_cards_is_born(node: Story) -> None:
    """The first five minutes of a guest: its clock, its volumes, the driver's own words."""
    _starts(node, 38.0)
    rests(node, 72.0)
    node.gpus(persistence_mode=True)
    node.put("Clock", synchronized=False, error_seconds=16.0, offset_seconds=0.0003)
    node.log(
        "ena 0000:47:00.0: ENA device version: 0.10",
        "ena 0000:47:00.0 enp71s0: Local page cache is disabled for less than 16 channels",
        "nvidia 0000:19:00.0: enabling device (0000 -> 0002)",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.163.01",
        "cloud-init[2290]: WARNING: Failed to run module scripts-user, retrying",
        "EXT4-fs (nvme1n1p1): mounted filesystem with ordered data mode. Opts: (null)",
    )
    node.wait(45, 15)
    node.put("Clock", synchronized=True, error_seconds=0.0008, offset_seconds=2e-6)
    node.wait(HOUR, 60)


CASES = (
    new_node_gets_its_driver,
    all_cards_are_reset_between_two_jobs,
    newer_driver_is_loaded_on_a_drained_node,
    worker_of_a_cluster_boots,
    driver_of_instincts_is_loaded,
    laptop_wakes_up_and_complains,
    adapter_sits_in_a_narrow_slot,
    links_of_a_b300_box_train_after_its_boot,
    firmware_of_a_port_is_updated_live,
    twelve_disks_are_found_and_mounted,
    server_of_arm_boots,
    guest_stands_still_while_it_is_moved,
    exporter_is_upgraded_three_times,
    guest_with_eight_cards_is_born,
)
