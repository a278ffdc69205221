"""Incidents of disks, filesystems and the network, up to the GPUs that starve of them."""

from tests.corpus.labels import incident
from tests.corpus.machines import processors_only
from tests.corpus.story import Story

WRITE_FAILED = "I/O error, dev nvme1n1, sector {} op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2"
READ_FAILED = "I/O error, dev nvme1n1, sector {} op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2"
STARVED = (
    *("io_stall", "disk_slow", "disk_stalled", "process_waits_for_storage", "workload_stalled"),
    *("hung_task", "gpu_straggler", "gpu_busy_without_work", "gpu_idle_allocated"),
)
DISK = "disk_io_errors@nvme1n1"


def _sleeps(node: Story, *pids: int) -> None:
    for pid in pids:
        node.process(pid, state="uninterruptible", waits_since_boottime=node.at)


def _stands_still(node: Story, name: str) -> None:
    node.put("Disks", "disks", name, io_in_flight=32)
    node.rate(1.0, "Disks", "disks", name, "io_time_seconds")
    node.rate(32.0, "Disks", "disks", name, "queue_time_seconds")


@incident(
    DISK,
    *("gpu_idle_allocated@GPU-3b", "gpu_idle_allocated@GPU-bb"),
    root=(DISK, "gpu_idle_allocated@GPU-bb"),
    may=STARVED,
    never=("gpu_xid_critical", "gpu_lost"),
)
def disk_errors_starve_one_card(node: Story) -> None:
    """Reads fail, the process sleeps in the kernel, its GPU idles; a neighbour merely idles.

    The process on the neighbour sleeps in the ordinary way: its idleness has no known cause.
    """
    node.wait(60)
    for sector in range(499204104, 499204110):
        node.log(READ_FAILED.format(sector))
        node.wait(5, 5)
    _stands_still(node, "nvme1n1")
    node.pressure("io", "full", 40.0)
    node.put("Cpu", processes_blocked=1)
    _sleeps(node, 4712)
    node.idle_since_now("3b")
    node.idle_since_now("bb")
    node.process(4714, state="sleeping")
    node.wait(720, 30)


@incident(
    "nfs_server_stalled@192.0.2.10",
    *(f"gpu_idle_allocated@GPU-{bus}" for bus in ("1b", "3b", "9b", "bb")),
    may=(*STARVED, "filesystem_stuck"),
)
def file_server_silent_and_all_cards_idle(node: Story) -> None:
    """The NFS server does not respond; all ranks sleep in the kernel and all cards idle."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    _sleeps(node, 4711, 4712, 4713, 4714)
    node.put("Cpu", processes_blocked=4)
    node.idle_since_now()
    node.pressure("io", "full", 80.0)
    node.wait(720, 30)


@incident("nfs_server_stalled@192.0.2.10", may=("filesystem_stuck",), is_over=True)
def file_server_silent_for_a_while(node: Story) -> None:
    """Two minutes of silence, then the server answers, and all is well again."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.wait(120)
    node.log("nfs: server 192.0.2.10 OK")
    node.wait(900, 60)


@incident(
    "nvme_timeout@nvme1n1",
    *("nvme_controller_failed@nvme1n1", DISK, "filesystem_shutdown@/data"),
    root="nvme_timeout@nvme1n1|nvme_controller_failed@nvme1n1",
    may=(*STARVED, "filesystem_readonly", "filesystem_error"),
    node=processors_only,
)
def disk_controller_dies(node: Story) -> None:
    """Time-outs, a reset that fails, I/O errors, and XFS shuts down: one root."""
    node.wait(60)
    cmd = "I/O tag 192 (80c0) opcode 0x1 (I/O Cmd) QID 1 timeout"
    node.log(f"nvme nvme1: {cmd}, aborting req_op:WRITE(1) size:16384")
    node.wait(30)
    node.log(f"nvme nvme1: {cmd}, reset controller")
    node.wait(30)
    node.log("nvme nvme1: Device not ready; aborting reset, CSTS=0x1")
    node.log("nvme nvme1: Disabling device after reset failure: -19")
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.wait(5, 5)
    for sector in range(499204104, 499204107):
        node.log(WRITE_FAILED.format(sector))
    node.log("XFS (nvme1n1): log I/O error -5")
    node.log("XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).")
    node.wait(120)


@incident(DISK, "filesystem_readonly@/data", may=("filesystem_error",), node=processors_only)
def filesystem_becomes_readonly(node: Story) -> None:
    """Writes fail, the journal aborts, ext4 goes read-only."""
    node.put("Filesystems", "filesystems", "/data", fstype="ext4")
    node.wait(60)
    node.log(WRITE_FAILED.format(499204104))
    node.log("Buffer I/O error on dev nvme1n1, logical block 1024, lost async page write")
    node.log("Aborting journal on device nvme1n1-8.")
    node.log("EXT4-fs (nvme1n1): Remounting filesystem read-only")
    node.put("Filesystems", "filesystems", "/data", readonly=True)
    node.wait(120)


@incident("filesystem_full@/data", node=processors_only)
def filesystem_runs_full(node: Story) -> None:
    """Less than 2 % of the space is left for a quarter of an hour."""
    node.wait(60)
    node.put("Filesystems", "filesystems", "/data", free_bytes=10**10, available_bytes=10**10)
    node.wait(900, 60)


@incident("filesystem_files_low@/data|filesystem_full@/data", node=processors_only)
def filesystem_without_inodes(node: Story) -> None:
    """There is room, but no file can be made."""
    node.wait(60)
    node.put("Filesystems", "filesystems", "/data", files_free=1000)
    node.wait(900, 60)


@incident("filesystem_error@/data", node=processors_only, may=("filesystem_readonly",))
def filesystem_finds_damage(node: Story) -> None:
    """ext4 reports a damaged directory; the disk says nothing."""
    node.put("Filesystems", "filesystems", "/data", fstype="ext4")
    node.wait(30)
    node.log(
        "EXT4-fs error (device nvme1n1): ext4_find_entry:1663: inode #2: comm app: reading "
        "directory lblock 0"
    )
    node.wait(60)


@incident("md_array_degraded@md0", root="disk_io_errors@sda", node=processors_only)
def mirror_loses_a_disk(node: Story) -> None:
    """A disk returns errors and is thrown out of its mirror."""
    array = {"device": "md0", "state": "active", "level": "raid1", "active_disks": 2}
    counts = {"failed_disks": 0, "spare_disks": 0, "missing_disks": 0}
    node.put("MdArrays", "arrays", "md0", **array, **counts)
    for name in ("sda", "sdb"):
        node.put("Disks", "disks", name, device=name, reads_completed=5, writes_completed=5)
    node.wait(60)
    for sector in (8, 16, 24):
        node.log(f"I/O error, dev sda, sector {sector} op 0x1:(WRITE) flags 0x0 phys_seg 1")
    node.log("md/raid1:md0: Disk failure on sda1, disabling device.")
    node.put("MdArrays", "arrays", "md0", active_disks=1, failed_disks=1, missing_disks=1)
    node.wait(120)


@incident("nvme_warns@nvme1n1|nvme_wear@nvme1n1", node=processors_only)
def disk_is_worn(node: Story) -> None:
    """The disk itself warns: its spare is below the threshold."""
    node.wait(30)
    node.put(
        *("NvmeHealths", "controllers", "nvme1"),
        critical_warning=1,
        available_spare_ratio=0.05,
        percentage_used_ratio=1.04,
    )
    node.wait(120)


@incident(
    "net_link_down@eth0",
    may=("net_link_flap", "tcp_retransmit_burst", "nfs_server_stalled"),
    node=processors_only,
)
def interface_loses_its_link(node: Story) -> None:
    """The link of the network card goes and stays away."""
    node.wait(60)
    node.log("mlx5_core 0000:5c:00.0 eth0: Link down")
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.put("Network", "interfaces", "eth0", speed_bytes_per_second=None)
    node.rate(0, "Network", "interfaces", "eth0", "receive_packets")
    node.wait(180)


@incident(
    "net_link_flap@eth0",
    may=("net_link_down", *STARVED, "tcp_retransmit_burst"),
)
def interface_flaps_and_the_job_stalls(node: Story) -> None:
    """The link goes and comes six times in ten minutes; the ranks wait for each other."""
    node.wait(60)
    changes = 2
    for _ in range(6):
        for word, is_up in (("down", False), ("up", True)):
            changes += 1
            node.log(f"mlx5_core 0000:5c:00.0 eth0: Link {word}")
            node.put("Network", "interfaces", "eth0", up=is_up, carrier_changes=changes)
            node.wait(20, 10)
        node.wait(60)


@incident(
    "ib_port_down@mlx5_0/1",
    may=(*STARVED, "ib_link_errors", "net_link_down", "nvlink_down"),
)
def fabric_port_down_and_cards_spin(node: Story) -> None:
    """An InfiniBand port loses its link; the cards are busy with waiting."""
    node.wait(60)
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="polling")
    node.put("Infiniband", "ports", "mlx5_0", rate_bytes_per_second=None)
    node.gpus(utilization_percent=100.0, power_draw_watts=130.0)
    node.gpus(memory_controller_utilization_percent=0.0)
    node.wait(180)


@incident("ib_link_errors@mlx5_0/1", may=("ib_port_errors",))
def cable_of_a_fabric_port_is_bad(node: Story) -> None:
    """A hundred symbol errors per second, and the link recovers ten times a minute."""
    node.wait(60)
    node.rate(100.0, "Infiniband", "ports", "mlx5_0", "errors", "symbol_error")
    node.rate(0.17, "Infiniband", "ports", "mlx5_0", "errors", "link_error_recovery")
    node.wait(600, 30)


@incident(
    "nic_driver_fatal@eth0|nic_driver_fatal@0000:5c:00.0",
    "net_link_down@eth0",
    may=("net_link_flap",),
    node=processors_only,
)
def firmware_of_a_network_card_fails(node: Story) -> None:
    """The driver declares the card's health compromised; the link goes down."""
    node.wait(60)
    text = "poll_health:1009:(pid 0): device's health compromised - reached miss count"
    node.log(f"mlx5_core 0000:5c:00.0: {text}")
    node.log(
        "mlx5_core 0000:5c:00.0: print_health_info:500:(pid 0): synd 0x8: unrecoverable "
        "hardware error"
    )
    node.wait(5, 5)
    node.put("Network", "interfaces", "eth0", up=False, operstate="down", carrier_changes=3)
    node.wait(120)


@incident("net_errors@eth0", node=processors_only)
def damaged_packets_arrive(node: Story) -> None:
    """A hundred damaged packets per second."""
    node.wait(60)
    node.rate(100.0, "Network", "interfaces", "eth0", "receive_errors")
    node.wait(300)


@incident("net_drop@eth0", may=("cpu_saturated",), node=processors_only)
def packets_are_dropped(node: Story) -> None:
    """A tenth of twenty thousand packets per second is dropped."""
    node.rate(20_000.0, "Network", "interfaces", "eth0", "receive_packets")
    node.wait(60)
    node.rate(2_000.0, "Network", "interfaces", "eth0", "receive_drops")
    node.wait(300)


@incident("net_tx_timeout@eth0", node=processors_only)
def transmit_queue_stuck(node: Story) -> None:
    """The transmit watchdog of the kernel fires."""
    node.wait(30)
    node.log("NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 4 timed out")
    node.wait(60)


CASES = (
    disk_errors_starve_one_card,
    file_server_silent_and_all_cards_idle,
    file_server_silent_for_a_while,
    disk_controller_dies,
    filesystem_becomes_readonly,
    filesystem_runs_full,
    filesystem_without_inodes,
    filesystem_finds_damage,
    mirror_loses_a_disk,
    disk_is_worn,
    interface_loses_its_link,
    interface_flaps_and_the_job_stalls,
    fabric_port_down_and_cards_spin,
    cable_of_a_fabric_port_is_bad,
    firmware_of_a_network_card_fails,
    damaged_packets_arrive,
    packets_are_dropped,
    transmit_queue_stuck,
)
