"""A fourth batch: further words and endings of the same classes."""

from tests.corpus.labels import healthy, incident
from tests.corpus.machines import blackwell, processors_only
from tests.corpus.parts import filesystem, ib_port
from tests.corpus.story import Story
from tests.corpus.words import FELL, GPU_AFTER, GSP, LOADS, STARVED, aer, driver_loads_again

LOST = "gpu_lost@GPU-3b"
HOURS = 2 * 3600


@incident("gpu_gsp_failure@GPU-9b", may=GPU_AFTER, gone=("gpu_gsp_failure",), fit_at_end=True)
def reset_by_hand_leaves_no_line(node: Story) -> None:
    """Xid 120; the card is reset by hand: only its energy counter tells."""
    node.wait(60)
    node.xid("9b", 120, "GSP task panicked", pid="4713", name="trainer")
    node.wait(900, 60)
    node.gpu("9b", energy_joules_total=12.0)
    node.wait(30)


@incident("gpu_channel_timeout@GPU-1b", may=GPU_AFTER, unfit=True, lasts=("gpu_channel_timeout",))
def card_timed_out_for_good(node: Story) -> None:
    """Xid 46, and nobody resets the card."""
    node.wait(60)
    node.xid("1b", 46, "GPU stopped processing")
    node.wait(HOURS, 300)


@incident("gpu_power_missing@GPU-bb", may=(*GPU_AFTER, "gpu_lost", "gpu_init_failed"), unfit=True)
def cable_missing_before_we_began_to_look(node: Story) -> None:
    """NVML says from the first look on that a card lacks its power."""
    node.lose("bb", "insufficient_power")
    node.wait(300, 30)


@incident("gpu_pcie_timeout@GPU-3b", may=("pcie_aer_corrected_rate",), unfit=False)
def bus_traffic_fails_three_times(node: Story) -> None:
    """Xid 32 three times within minutes."""
    node.wait(60)
    for _ in range(3):
        node.xid("3b", 32, "Channel ID 00000008 intr 00020000", pid="4712", name="trainer")
        node.wait(60)


@incident("gpu_row_remap_pending@GPU-1b", may=GPU_AFTER, is_over=True)
def repair_of_a_card_without_the_flag(node: Story) -> None:
    """Xid 63 of a driver that has no flag for it; the driver is loaded."""
    node.gpus(row_remap_pending=None)
    node.wait(60)
    node.xid("1b", 63, "Row Remapper: New row (0x00000001f2ab3c40) marked for remapping")
    node.wait(600, 60)
    driver_loads_again(node)


@incident(
    "pcie_link_down@0000:3a:00.0",
    LOST,
    may=GPU_AFTER,
    gone=(LOST, "pcie_link_down"),
    unfit=True,
    fit_at_end=True,
)
def card_comes_back_with_its_link(node: Story) -> None:
    """The slot's link goes down and comes up; the card is probed anew and answers."""
    node.wait(60)
    node.log("pcieport 0000:3a:00.0: pciehp: Slot(3): Link Down")
    node.xid("3b", 79, FELL)
    node.lose("3b")
    node.wait(600, 60)
    node.log("pcieport 0000:3a:00.0: pciehp: Slot(3): Card present")
    node.log("pcieport 0000:3a:00.0: pciehp: Slot(3): Link Up")
    node.wait(15)
    node.state("3b", up=True, reason=None, stale=False)
    node.wait(30)


@incident("filesystem_readonly@/data", may=("filesystem_error",), unfit=True)
def btrfs_is_forced_readonly(node: Story) -> None:
    """The words of btrfs."""
    node.put("Filesystems", "filesystems", "/data", fstype="btrfs")
    node.wait(60)
    node.log("BTRFS info (device nvme1n1): forced readonly")
    node.put("Filesystems", "filesystems", "/data", readonly=True)
    node.wait(300, 30)


@incident("nfs_server_stalled@192.0.2.10", may=STARVED, lasts=("nfs_server_stalled@192.0.2.10",))
def soft_mount_that_stays_dead(node: Story) -> None:
    """A soft mount gives up again and again and never answers."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, timed out")
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    node.wait(HOURS, 300)


@incident("nvme_media_errors@nvme1n1", node=processors_only)
def disk_counts_media_errors(node: Story) -> None:
    """The health log counts a media error."""
    node.wait(60)
    node.put("NvmeHealths", "controllers", "nvme1", media_errors=3)
    node.wait(300, 30)


@incident("net_tx_timeout@eth0")
def watchdog_of_the_queue(node: Story) -> None:
    """The kernel's own watchdog in the words of today."""
    node.wait(60)
    text = "NETDEV WATCHDOG: CPU: 12: transmit queue 4 timed out 5016 ms"
    node.log(f"mlx5_core 0000:5c:00.0 eth0: {text}")
    node.wait(120)


@incident("memory_corrected_rate@*", unfit=False, node=processors_only)
def module_corrects_hundreds(node: Story) -> None:
    """Hundreds of corrected errors of a module within an hour."""
    node.wait(60)
    place = ("MemoryErrors", "controllers", "mc1", "dimms", "b", "corrected_errors")
    node.rate(0.2, *place)
    node.wait(3600, 120)


@incident(
    "gpu_ecc_uncorrected@GPU-bb",
    LOST,
    root=("gpu_ecc_uncorrected@GPU-bb", LOST),
    may=(*GPU_AFTER, "gpu_row_remap_pending"),
    unfit=True,
)
def loss_and_error_of_two_cards(node: Story) -> None:
    """One card is lost; ten minutes later another one meets a memory error."""
    node.wait(60)
    node.xid("3b", 79, FELL)
    node.lose("3b")
    node.wait(600, 60)
    node.xid("bb", 171, "DRAM uncorrectable error")
    node.gpu("bb", ecc_errors_total={"uncorrected": {"volatile": 1, "aggregate": 1}})
    node.wait(300, 60)


@incident(
    "pcie_aer_uncorrected@0000:5c:00.0", "nic_driver_fatal@eth0", "net_link_down@eth0", unfit=True
)
def bus_error_kills_a_network_card(node: Story) -> None:
    """A fatal bus error of the card, its driver gives up, its link goes."""
    node.wait(60)
    node.log(aer("0000:5c:00.0", "Uncorrectable (Fatal)").replace("nvidia", "mlx5_core"))
    node.wait(5, 5)
    where = "mlx5_core 0000:5c:00.0: "
    node.log(
        where + "print_health_info:431:(pid 0): Health issue observed, ICM fetch PCI data "
        "poisoned error, severity(3) ERROR:"
    )
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.wait(300, 30)


@incident("gpu_hung@GPU-3b", may=(*GPU_AFTER, "gpu_lost"), unfit=True, never=("gpu_lost@GPU-1b",))
def one_card_hangs_in_every_call(node: Story) -> None:
    """Each call about one card runs out of time; the others answer."""
    node.wait(60)
    node.lose("3b", "hung")
    node.wait(300, 30)


@incident("nvml_unavailable@node", may=("gpu_count_low", "gpu_allocated_unused"))
def container_lost_its_access(node: Story) -> None:
    """The container may no longer open the device files."""
    node.wait(60)
    node.put("Gpus", backend={"backend": "none", "reason": "access_lost", "nvml_up": False})
    node.put("Gpus", states={})
    node.wait(300, 30)


@healthy("nvme_timeout")
def disk_is_reset_once(node: Story) -> None:
    """A time-out that an abort cured."""
    node.wait(60)
    node.log(
        "nvme nvme1: I/O 12 (I/O Cmd) QID 2 timeout, aborting", "nvme nvme1: Abort status: 0x0"
    )
    node.wait(900, 60)


@healthy("gpu_app_fault")
def victim_of_a_peer_is_told_alone(node: Story) -> None:
    """Xid 74 with a register that only says that something else went wrong."""
    node.wait(60)
    node.xid("1b", 74, "NVLink: fatal error detected on link 2(0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)")
    node.wait(600, 60)


@healthy()
def driver_is_loaded_at_boot(node: Story) -> None:
    """The words of a driver that starts as it should."""
    node.log(
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 236",
        LOADS,
        "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  570.124.06",
        "[drm] Initialized nvidia-drm 0.0.0 20160202 for 0000:3b:00.0 on minor 1",
        "NVRM: GPU at PCI:0000:3b:00: GPU-0a1b2c3d-1111-2222-3333-444455556666",
    )
    node.wait(900, 60)


@healthy(node=blackwell)
def fabric_is_not_needed(node: Story) -> None:
    """A drained node whose fabric was never started."""
    node.job_ends()
    node.gpus(fabric_state="not_started", fabric_healthy=None)
    node.wait(1800, 60)


@healthy()
def spare_ports_of_a_big_card(node: Story) -> None:
    """Ports of InfiniBand without a cable, initialising for ever without data."""
    idle = {"state": "init", "phys_state": "polling", "receive_bytes": 0, "transmit_bytes": 0}
    node.put("Infiniband", "ports", mlx5_4=ib_port("mlx5_4", "0000:ce:00.0", **idle))
    node.wait(1800, 60)


@healthy(node=processors_only)
def network_mount_answers_slowly_once(node: Story) -> None:
    """A Ceph monitor is exchanged for another one."""
    mount = filesystem("192.0.2.31:6789:/", "/ceph", "ceph")
    node.put("Filesystems", "filesystems", **{"/ceph": mount})
    node.wait(60)
    node.log("libceph: mon0 (1)192.0.2.31:6789 session lost, hunting for new mon")
    node.log("libceph: mon1 (1)192.0.2.32:6789 session established")
    node.wait(900, 60)


@healthy("gpu_recovery_required", never=("gpu_gsp_failure",))
def firmware_talks(node: Story) -> None:
    """The text of a time-out in a process's own name is no time-out of the firmware."""
    node.wait(60)
    node.xid("3b", 43, "Ch 00000010", pid="4712", name=GSP[:15])
    node.wait(600, 60)


CASES = (
    reset_by_hand_leaves_no_line,
    card_timed_out_for_good,
    cable_missing_before_we_began_to_look,
    bus_traffic_fails_three_times,
    repair_of_a_card_without_the_flag,
    card_comes_back_with_its_link,
    btrfs_is_forced_readonly,
    soft_mount_that_stays_dead,
    disk_counts_media_errors,
    watchdog_of_the_queue,
    module_corrects_hundreds,
    loss_and_error_of_two_cards,
    bus_error_kills_a_network_card,
    one_card_hangs_in_every_call,
    container_lost_its_access,
    disk_is_reset_once,
    victim_of_a_peer_is_told_alone,
    driver_is_loaded_at_boot,
    fabric_is_not_needed,
    spare_ports_of_a_big_card,
    network_mount_answers_slowly_once,
    firmware_talks,
)
