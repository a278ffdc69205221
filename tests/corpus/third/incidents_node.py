"""The last unseen batch: incidents of the node around the GPUs."""

from tests.corpus.labels import incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import disk, filesystem
from tests.corpus.story import Story
from tests.corpus.words import STARVED, write_failed

DEAD = "nvme_controller_failed@nvme1n1"
IB = "ib_port_down@mlx5_0*"
FATAL = "nic_driver_fatal@*"
SHARE = "nfs_server_stalled@*|network_filesystem_stalled@*"
SERVER = "nfs_server_stalled@192.0.2.10"
ARRAY = "md_array_degraded@md1"


@incident(FATAL, IB, unfit=True, gone=(FATAL, IB), fit_at_end=True, may=("gpu_idle_allocated",))
def infiniband_firmware_recovers(node: Story) -> None:
    """Failing firmware takes a port down; its driver restores it two minutes later."""
    node.wait(60)
    node.log(
        "mlx5_core 0000:ca:00.0: print_health_info:431:(pid 0): Health issue observed, firmware "
        "internal error, severity(3) ERROR:"
    )
    node.put("Infiniband", "ports", "mlx5_0", state="down", phys_state="disabled")
    node.wait(120)
    node.put("Infiniband", "ports", "mlx5_0", state="active", phys_state="linkup")
    node.wait(30)


@incident(
    *(DEAD, "nvme_timeout@nvme1n1"),
    may=("disk_io_errors", "pcie_nvme_missing", *STARVED, "filesystem_error"),
    unfit=True,
    lasts=(DEAD,),
    node=processors_only,
)
def disk_is_removed_by_an_older_kernel(node: Story) -> None:
    """An older kernel's words: two time-outs, a reset that is given up, the disk is removed."""
    node.wait(60)
    node.log("nvme nvme1: I/O 192 QID 1 timeout, aborting")
    node.wait(30)
    node.log("nvme nvme1: I/O 192 QID 1 timeout, reset controller")
    node.wait(60)
    node.log("nvme nvme1: Device not ready; aborting reset")
    node.log("nvme nvme1: Removing after probe failure status: -19")
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.wait(2 * 3600, 300)


@incident(
    "filesystem_readonly@/data",
    may=("filesystem_error", *STARVED),
    root="filesystem_readonly@/data|filesystem_error@/data",
    unfit=True,
    lasts=("filesystem_readonly@/data",),
)
def journal_aborts_for_no_known_reason(node: Story) -> None:
    """ext4 finds its journal aborted and goes read-only; no disk complains."""
    node.put("Filesystems", "filesystems", "/data", fstype="ext4")
    node.wait(60)
    node.log(
        "EXT4-fs error (device nvme1n1): ext4_journal_check_start:84: comm trainer: Detected "
        "aborted journal"
    )
    node.log("EXT4-fs (nvme1n1): Remounting filesystem read-only")
    node.put("Filesystems", "filesystems", "/data", readonly=True)
    node.wait(2 * 3600, 300)


@incident(SHARE, may=STARVED, is_over=True)
def lustre_is_lost_and_restored(node: Story) -> None:
    """The connection to a Lustre target is lost for five minutes."""
    mount = filesystem("192.0.2.20@o2ib:/scratch", "/scratch", "lustre")
    node.put("Filesystems", "filesystems", **{"/scratch": mount})
    node.wait(60)
    target = "scratch-MDT0000-mdc-ffff9d1234567800"
    node.log(
        f"Lustre: {target}: Connection to scratch-MDT0000 (at 192.0.2.20@o2ib) was lost; in "
        "progress operations using this service will wait for recovery to complete"
    )
    node.wait(300, 30)
    node.log(f"Lustre: {target}: Connection restored to 192.0.2.20@o2ib (at 192.0.2.20@o2ib)")
    node.wait(30)


@incident(
    "pcie_link_down@0000:5b:00.0",
    "pcie_network_card_missing@node",
    may=("net_link_down", "nic_driver_fatal"),
    unfit=True,
    lasts=("pcie_network_card_missing@node",),
    node=processors_only,
)
def network_card_falls_out_of_its_slot(node: Story) -> None:
    """The slot's link is down; the card and its interface are gone."""
    node.wait(60)
    node.log("pcieport 0000:5b:00.0: pciehp: Slot(7): Link Down")
    node.put("Pcie", "devices", **{"5c": None})
    node.put("Network", "interfaces", eth0=None)
    node.wait(1800, 60)


@incident(ARRAY, unfit=True, gone=(ARRAY,), fit_at_end=True, node=processors_only)
def array_is_repaired(node: Story) -> None:
    """A mirror lacks a disk for an hour; a new one is added and the rebuild ends."""
    md = {"device": "md1", "state": "active", "level": "raid1", "active_disks": 1}
    node.put("MdArrays", "arrays", md1={**md, "failed_disks": 0, "missing_disks": 1})
    node.wait(3600, 300)
    node.put("MdArrays", "arrays", "md1", active_disks=2, missing_disks=0, resync_ratio=None)
    node.log("md: md1: recovery done.")
    node.wait(30)


@incident("machine_check@*", may=("memory_page_offlined", "machine_check_exceptions"), unfit=True)
def processor_reports_an_uncorrected_error(node: Story) -> None:
    """A machine check exception of one processor."""
    node.wait(60)
    node.log("mce: [Hardware Error]: CPU 18: Machine Check Exception: 5 Bank 7: be00000001010091")
    node.put("CpuHealth", machine_checks=1)
    node.wait(300, 30)


@incident("cpu_lockup@*", may=("rcu_stall",))
def processor_is_stuck_in_the_kernel(node: Story) -> None:
    """A hard lockup of one processor."""
    node.wait(60)
    node.log("watchdog: CPU5: Watchdog detected hard LOCKUP on cpu 5")
    node.wait(300, 30)


@incident("kernel_oops@node", unfit=True, lasts=("kernel_oops@node",))
def kernel_met_a_bug(node: Story) -> None:
    """The kernel dereferences nothing; it goes on, and is not to be trusted until a reboot."""
    node.wait(60)
    node.log("BUG: kernel NULL pointer dereference, address: 0000000000000010")
    node.wait(4 * 3600, 600)


@incident("filesystem_full@/", may=("filesystem_files_low",))
def root_filesystem_fills_up(node: Story) -> None:
    """One percent of `/` is left."""
    node.wait(60)
    node.put("Filesystems", "filesystems", "/", available_bytes=10**10, free_bytes=10**10)
    node.wait(1200, 60)


@incident(
    *("nvme_overheat@nvme1n1", "nvme_timeout@nvme1n1"),
    may=("disk_io_errors", *STARVED, "nvme_warns"),
    root="nvme_overheat@nvme1n1",
)
def hot_disk_times_out(node: Story) -> None:
    """A disk is at its limit for minutes, then its commands time out."""
    node.put(
        "Sensors",
        "sensors",
        nvme1={
            "kind": "temperature",
            "hw_id": "nvme1",
            "hw_name": "nvme",
            "sensor": "Composite",
            "value": 82.0,
            "limits": {"high.degraded": 80.0, "high.critical": 85.0},
        },
    )
    node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=82.0)
    node.wait(600, 30)
    node.log("nvme nvme1: I/O tag 7 (1007) opcode 0x1 (I/O Cmd) QID 2 timeout, aborting")
    node.wait(120)


@incident(
    *("ib_link_errors@mlx5_1*", "ib_port_down@mlx5_1*"),
    root="ib_link_errors@mlx5_1*",
    may=("gpu_idle_allocated",),
    unfit=True,
)
def bad_cable_and_then_no_link(node: Story) -> None:
    """Symbol errors and recoveries rise for minutes, then the port goes down."""
    node.wait(60)
    node.rate(40.0, "Infiniband", "ports", "mlx5_1", "errors", "symbol_error")
    node.rate(0.5, "Infiniband", "ports", "mlx5_1", "errors", "link_error_recovery")
    node.wait(420, 30)
    node.put("Infiniband", "ports", "mlx5_1", state="down", phys_state="polling")
    node.wait(300, 30)


@incident("disk_io_errors@sda|storage_adapter_failed@*", may=(*STARVED, "storage_adapter_failed"))
def adapter_dies_and_its_disk_with_it(node: Story) -> None:
    """mpt3sas gives up on its firmware; the disk behind it returns errors."""
    node.put("Disks", "disks", sda=disk("sda", transport="sas"))
    node.wait(60)
    node.log("mpt3sas_cm0: fault_state(0x2667)!")
    node.log("mpt3sas_cm0: _base_fault_reset_work: Running mpt3sas_dead_ioc thread success !!!!")
    node.wait(15)
    node.log(*(write_failed("sda", 8 * n) for n in range(4)))
    node.wait(300, 30)


@incident(
    "nfs_server_stalled@192.0.2.10", may=(*STARVED,), lasts=("nfs_server_stalled@192.0.2.10",)
)
def file_server_stays_silent(node: Story) -> None:
    """A hard mount is silent for two hours: no OK, and it does not answer."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    node.wait(2 * 3600, 300)


CASES = (
    infiniband_firmware_recovers,
    disk_is_removed_by_an_older_kernel,
    journal_aborts_for_no_known_reason,
    lustre_is_lost_and_restored,
    network_card_falls_out_of_its_slot,
    array_is_repaired,
    processor_reports_an_uncorrected_error,
    processor_is_stuck_in_the_kernel,
    kernel_met_a_bug,
    root_filesystem_fills_up,
    hot_disk_times_out,
    bad_cable_and_then_no_link,
    adapter_dies_and_its_disk_with_it,
    file_server_stays_silent,
)
