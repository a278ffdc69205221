"""Incidents in which the whole node must be said to be unfit, or must not."""

from tests.corpus.labels import incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import disk, nic
from tests.corpus.story import Story
from tests.corpus.words import (
    FELL,
    GPU_AFTER,
    REBOOT,
    STARVED,
    aer,
    comes_up,
    goes_down,
    write_failed,
)

LOST = "gpu_lost@GPU-3b"
CARD = "0000:3b:00.0"


@incident(f"pcie_aer_uncorrected@{CARD}", LOST, may=GPU_AFTER, unfit=True, lasts=(LOST,))
def card_lost_after_a_nonfatal_error(node: Story) -> None:
    """A non-fatal AER of the card is only a warning; the card it takes along is not."""
    node.wait(60)
    node.log(aer(CARD, "Uncorrectable (Non-Fatal)"))
    node.put("Pcie", "devices", "3b", errors_by_severity={"nonfatal": 1})
    node.wait(10, 5)
    node.xid("3b", 79, FELL)
    node.lose("3b")
    node.wait(2 * 3600, 300)


@incident(
    *("nvme_controller_failed@nvme1n1", "nvme_timeout@nvme1n1", "disk_io_errors@nvme1n1"),
    may=(*STARVED, "filesystem_error"),
    unfit=True,
    lasts=("nvme_controller_failed@nvme1n1",),
    node=processors_only,
)
def disk_dies_after_time_outs(node: Story) -> None:
    """Time-outs first, then a dead controller: the time-out is how its death began."""
    node.wait(60)
    node.log("nvme nvme1: I/O tag 17 (1011) opcode 0x2 (I/O Cmd) QID 4 timeout, aborting")
    node.wait(30)
    node.log("nvme nvme1: I/O tag 17 (1011) opcode 0x2 (I/O Cmd) QID 4 timeout, reset controller")
    node.wait(60)
    node.log("nvme nvme1: Device not ready; aborting reset, CSTS=0x1")
    node.log("nvme nvme1: Disabling device after reset failure: -19")
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.log(write_failed("nvme1n1"), write_failed("nvme1n1", 8))
    node.wait(3 * 3600, 300)


@incident(
    *("disk_io_errors@nvme0n1", "filesystem_readonly@/"),
    may=(*STARVED, "filesystem_error"),
    unfit=True,
    lasts=("filesystem_readonly@/",),
)
def root_filesystem_is_readonly(node: Story) -> None:
    """Two failed writes, an aborted journal, and `/` can no longer be written."""
    node.wait(60)
    node.log(write_failed("nvme0n1"), write_failed("nvme0n1", 16))
    node.log("Aborting journal on device nvme0n1p2-8.")
    node.log("EXT4-fs (nvme0n1p2): Remounting filesystem read-only")
    node.put("Filesystems", "filesystems", "/", readonly=True)
    node.wait(2 * 3600, 300)


@incident(
    *("disk_io_errors@sdb", "md_array_degraded@md0"),
    may=STARVED,
    unfit=True,
    lasts=("md_array_degraded@md0",),
    node=processors_only,
)
def array_degrades_behind_a_failing_disk(node: Story) -> None:
    """A disk of a mirror fails: the array goes on with one disk less."""
    node.put("Disks", "disks", sdb=disk("sdb", transport="sata"))
    md = {"device": "md0", "state": "active", "level": "raid1", "active_disks": 2}
    node.put("MdArrays", "arrays", md0={**md, "failed_disks": 0, "missing_disks": 0})
    node.wait(60)
    node.log(*(write_failed("sdb", n) for n in (8, 16, 24)))
    node.log("md/raid1:md0: Disk failure on sdb1, disabling device.")
    node.put("MdArrays", "arrays", "md0", active_disks=1, failed_disks=1, missing_disks=1)
    node.wait(2 * 3600, 300)


@incident(
    *("nic_driver_fatal@*", "ib_port_down@mlx5_0*"),
    may=("gpu_idle_allocated", "gpu_busy_without_work"),
    unfit=True,
    lasts=("ib_port_down@mlx5_0*",),
)
def infiniband_card_gives_up(node: Story) -> None:
    """The firmware of an InfiniBand card dies, and its port with it."""
    node.wait(60)
    where = "mlx5_core 0000:ca:00.0: "
    node.log(where + "poll_health:1009:(pid 0): device's health compromised - reached miss count")
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="disabled")
    node.wait(2 * 3600, 300)


@incident(
    "ib_port_down@mlx5_1*",
    may=("nic_cable_unplugged", "gpu_idle_allocated"),
    root="ib_port_down@mlx5_1*|nic_cable_unplugged",
    unfit=True,
    lasts=("ib_port_down@mlx5_1*",),
)
def infiniband_cable_is_pulled(node: Story) -> None:
    """Somebody pulls a cable: a warning explains it, and the port is down all the same."""
    node.wait(60)
    node.log("mlx5_core 0000:cb:00.0: Port module event: module 0, Cable unplugged")
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="polling")
    node.wait(3600, 300)


@incident(
    "gpu_overheat@GPU-3b",
    may=("gpu_thermal_slowdown", "gpu_thermal_throttle", "gpu_memory_overheat", "gpu_clock_low"),
    unfit=True,
)
def card_at_its_shutdown_limit(node: Story) -> None:
    """A card is one degree from shutting down, for minutes."""
    node.wait(60)
    node.gpu("3b", temperature_celsius=91.0, thermal_margin_celsius=-4.0)
    node.gpu("3b", throttle_active={"hw_thermal_slowdown": 1, "hw_slowdown": 1})
    node.wait(300)


@incident(
    "node_oom_kill@node",
    may=("memory_pressure", "process_oom_kill", "gpu_app_fault", "gpu_idle_allocated"),
    root="node_oom_kill@node|memory_pressure@node",
    fit_at_end=True,
)
def program_uses_all_memory(node: Story) -> None:
    """A user's program takes all memory and is killed; ten minutes later nothing is left of it."""
    node.wait(60)
    node.put("Memory", available_bytes=2**30)
    node.pressure("memory", "full", 25.0)
    node.wait(120)
    node.log(
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        "task_memcg=/system.slice/app.service,task=app,pid=900,uid=1000",
        "Out of memory: Killed process 900 (app) total-vm:99kB, anon-rss:98kB, file-rss:0kB, "
        "shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0",
    )
    node.put("Paging", oom_kills=1)
    node.put("Memory", available_bytes=600 * 2**30)
    node.pressure("memory", "full", 0.0)
    node.wait(900, 60)


@incident("gpu_app_fault@4712", never=("gpu_suspect_hardware",), unfit=False)
def one_buggy_job_faults_again_and_again(node: Story) -> None:
    """Ten memory violations of one process of one job: its bug, not the card's."""
    node.wait(60)
    text = (
        "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f_0000. Fault is of type FAULT_PDE"
    )
    for _ in range(10):
        node.xid("3b", 31, text, pid="4712", name="trainer")
        node.xid("3b", 43, "Ch 00000010", pid="4712", name="trainer")
        node.wait(60)


@incident(LOST, may=GPU_AFTER, unfit=True, fit_at_end=False, lasts=(LOST,))
def lost_card_asks_for_a_reboot(node: Story) -> None:
    """Xid 79 and 154 with a node reboot; the job ends, and the node is still unfit hours later."""
    node.wait(60)
    node.xid("3b", 79, FELL)
    node.xid("3b", 154, REBOOT)
    node.lose("3b")
    node.wait(60)
    node.job_ends()
    node.wait(4 * 3600, 600)


@incident(
    *("pcie_link_down@0000:5b:00.0", "pcie_nvme_missing@node"),
    may=("pcie_network_card_missing", "disk_io_errors", "nvme_controller_failed"),
    unfit=True,
    lasts=("pcie_nvme_missing@node",),
    node=processors_only,
)
def disk_falls_out_of_its_slot(node: Story) -> None:
    """The slot of a disk loses its link; the disk, its controller and its device are gone."""
    node.wait(60)
    node.log("pcieport 0000:5b:00.0: pciehp: Slot(12): Link Down")
    node.put("Pcie", "devices", **{"5f": None})
    node.put("Disks", "disks", nvme1n1=None)
    node.put("NvmeControllers", "controllers", nvme1=None)
    node.put("NvmeHealths", "controllers", nvme1=None)
    node.wait(1800, 60)


@incident("net_link_down@eth0", gone=("net_link_down@eth0",), fit_at_end=True)
def only_cable_is_out_for_ten_minutes(node: Story) -> None:
    """The one cable of the node is out; two looks after it is back nothing is said any more."""
    node.wait(60)
    goes_down(node)
    node.wait(600, 30)
    comes_up(node)
    node.wait(30)


@incident("net_link_down@eth1", lasts=("net_link_down@eth1",))
def second_cable_is_out(node: Story) -> None:
    """A second interface that had carried packets loses its link and stays down."""
    node.put("Network", "interfaces", eth1=nic("eth1", pci_bus_id="0000:5c:00.1"))
    node.wait(60)
    goes_down(node, "eth1")
    node.wait(3 * 3600, 300)


CASES = (
    card_lost_after_a_nonfatal_error,
    disk_dies_after_time_outs,
    root_filesystem_is_readonly,
    array_degrades_behind_a_failing_disk,
    infiniband_card_gives_up,
    infiniband_cable_is_pulled,
    card_at_its_shutdown_limit,
    program_uses_all_memory,
    one_buggy_job_faults_again_and_again,
    lost_card_asks_for_a_reboot,
    disk_falls_out_of_its_slot,
    only_cable_is_out_for_ten_minutes,
    second_cable_is_out,
)
