"""Incidents of disks, their adapters and arrays."""

from tests.corpus.labels import incident
from tests.corpus.seventh.nodes import disk_shelf, epyc, guest
from tests.corpus.sixth.nodes import rack_server
from tests.corpus.story import Story
from tests.corpus.words import STARVED, write_failed

HOURS = 2 * 3600
FILES = ("filesystem_error", "filesystem_readonly", "filesystem_shutdown", "filesystem_stuck")


@incident(
    *("storage_adapter_failed@node", "filesystem_shutdown@/srv/a"),
    may=(*STARVED, *FILES, "disk_io_errors", "disk_offline"),
    unfit=True,
    lasts=("storage_adapter_failed@node",),
    fit_at_end=False,
    node=disk_shelf,
)
def adapter_of_a_shelf_stops_working(node: Story) -> None:
    """A SAS adapter no longer operates; all of its disks are gone and their filesystems stop."""
    node.wait(120)
    for _ in range(5):
        node.log("mpt3sas_cm0: SAS host is non-operational !!!!")
        node.wait(1, 1)
    node.log("mpt3sas_cm0: _base_fault_reset_work: Running mpt3sas_dead_ioc thread success !!!!")
    for target, letter in enumerate("abcdefgh"):
        node.log(f"sd 7:0:{target}:0: [sd{letter}] Synchronizing SCSI cache")
        node.put("Disks", "disks", **{f"sd{letter}": None})
    node.log(
        "XFS (sda1): log I/O error -5",
        "XFS (sda1): Filesystem has been shut down due to log error (0x2).",
        "XFS (sda1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.wait(HOURS, 120)


@incident(
    *("disk_io_errors@sdy", "md_array_degraded@md127"),
    may=(*STARVED, "disk_link_errors", "disk_offline"),
    unfit=True,
    gone=("md_array_degraded",),
    fit_at_end=True,
    node=disk_shelf,
)
def half_of_the_system_mirror_is_replaced(node: Story) -> None:
    """Sectors of a SATA disk cannot be read or written, the mirror goes on without it."""
    node.wait(60)
    for number in range(3):
        sector = 41_943_040 + 8 * number
        node.log(
            "ata1.00: exception Emask 0x0 SAct 0x1000 SErr 0x0 action 0x0",
            "ata1.00: irq_stat 0x40000008",
            "ata1.00: failed command: READ FPDMA QUEUED",
            "ata1.00: status: { DRDY ERR }",
            "ata1.00: error: { UNC }",
            "sd 0:0:0:0: [sdy] tag#12 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK "
            "cmd_age=4s",
            "sd 0:0:0:0: [sdy] tag#12 Sense Key : Medium Error [current] ",
            "sd 0:0:0:0: [sdy] tag#12 Add. Sense: Unrecovered read error - auto reallocate failed",
            f"I/O error, dev sdy, sector {sector} op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
        )
        node.wait(30, 15)
    node.log(
        "md/raid1:md127: Disk failure on sdy2, disabling device.\n"
        "md/raid1:md127: Operation continuing on 1 devices."
    )
    node.put("MdArrays", "arrays", "md127", active_disks=1, failed_disks=1, missing_disks=1)
    node.wait(5400, 120)
    node.log("md: recovery of RAID array md127")
    node.put("MdArrays", "arrays", "md127", failed_disks=0, spare_disks=1, resync_ratio=0.01)
    node.wait(2700, 120)
    node.log("md: md127: recovery done.")
    whole = {"active_disks": 2, "missing_disks": 0, "spare_disks": 0, "resync_ratio": None}
    node.put("MdArrays", "arrays", "md127", **whole)
    node.wait(300, 30)


@incident(
    *("nvme_controller_failed@nvme1n1", "filesystem_shutdown@/data"),
    may=(*STARVED, "filesystem_error", "disk_io_errors", "nvme_timeout"),
    unfit=True,
    lasts=("nvme_controller_failed@nvme1n1",),
    fit_at_end=False,
    node=epyc,
)
def firmware_of_a_disk_crashes_under_xfs(node: Story) -> None:
    """Commands time out, the controller cannot be reset, and XFS shuts down above it."""
    node.wait(60)
    for tag in (448, 449):
        node.log(
            f"nvme nvme1: I/O tag {tag} (c1c0) opcode 0x1 (I/O Cmd) QID 19 timeout, aborting "
            "req_op:WRITE(1) size:65536"
        )
    node.wait(30, 15)
    node.log("nvme nvme1: I/O tag 448 (c1c0) opcode 0x1 (I/O Cmd) QID 19 timeout, reset controller")
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.wait(120, 15)
    node.log(
        "nvme nvme1: Device not ready; aborting reset, CSTS=0x3",
        "nvme nvme1: Disabling device after reset failure: -19",
        write_failed("nvme1n1", 2_097_664),
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.wait(HOURS, 120)


@incident(
    "nvme_warns@nvme0n1",
    may=("nvme_wear",),
    unfit=True,
    lasts=("nvme_warns@nvme0n1",),
    fit_at_end=False,
    node=rack_server,
)
def spare_blocks_of_a_disk_run_out(node: Story) -> None:
    """The spare of a disk has fallen to four of a hundred, below its threshold of ten."""
    node.wait(300, 60)
    node.put("NvmeHealths", "controllers", "nvme0", available_spare_ratio=0.04, critical_warning=1)
    node.wait(HOURS, 120)


@incident(
    "nvme_media_errors@nvme1n1",
    may=(*STARVED, "disk_io_errors"),
    unfit=False,
    fit_at_end=True,
    node=epyc,
)
def disk_counts_media_errors_in_its_health_log(node: Story) -> None:
    """Two media errors appear in the health log of a disk; nobody has read the blocks yet."""
    node.wait(600, 60)
    node.put("NvmeHealths", "controllers", "nvme1", media_errors=2)
    node.wait(3600, 120)


@incident(
    "disk_slow@sdc",
    may=STARVED,
    root=("disk_slow@sdc",),
    unfit=False,
    fit_at_end=True,
    node=disk_shelf,
)
def one_disk_of_a_shelf_retries_its_reads(node: Story) -> None:
    """One of eight disks needs half a second for each read, for forty minutes."""
    node.wait(60)
    node.put("Disks", "disks", "sdc", io_in_flight=8)
    node.rate(12.0, "Disks", "disks", "sdc", "reads_completed")
    node.rate(6.5, "Disks", "disks", "sdc", "read_time_seconds")
    node.rate(1.0, "Disks", "disks", "sdc", "io_time_seconds")
    node.rate(6.5, "Disks", "disks", "sdc", "queue_time_seconds")
    node.wait(2400, 30)


@incident(
    *("disk_io_errors@vda", "filesystem_readonly@/"),
    may=(*STARVED, "filesystem_error"),
    unfit=True,
    lasts=("filesystem_readonly@/",),
    fit_at_end=False,
    node=guest,
)
def storage_behind_a_guest_fails(node: Story) -> None:
    """Writes of a virtual disk fail; the root filesystem becomes read-only."""
    node.wait(60)
    for number in range(4):
        node.log(
            f"I/O error, dev vda, sector {4_217_392 + 8 * number} op 0x1:(WRITE) flags 0x9800 "
            "phys_seg 7 prio class 2"
        )
    node.log(
        "Buffer I/O error on dev vda1, logical block 527174, lost sync page write",
        "JBD2: I/O error when updating journal superblock for vda1-8.",
        "Aborting journal on device vda1-8.",
        "EXT4-fs error (device vda1): ext4_journal_check_start:84: comm journald: Detected aborted "
        "journal",
        "EXT4-fs (vda1): Remounting filesystem read-only",
    )
    node.put("Filesystems", "filesystems", "/", readonly=True)
    node.wait(HOURS, 120)


@incident(
    *("disk_stalled@vdb", "hung_task@612"),
    may=STARVED,
    unfit=False,
    gone=("disk_stalled",),
    fit_at_end=True,
    node=guest,
)
def storage_behind_a_guest_pauses(node: Story) -> None:
    """A virtual disk answers nothing for eight minutes, then everything at once."""
    node.wait(120)
    node.put("Disks", "disks", "vdb", io_in_flight=64)
    node.rate(1.0, "Disks", "disks", "vdb", "io_time_seconds")
    node.rate(64.0, "Disks", "disks", "vdb", "queue_time_seconds")
    node.pressure("io", "some", 82.0)
    node.pressure("io", "full", 71.0)
    node.put("Cpu", processes_blocked=22)
    node.wait(180, 15)
    node.log(
        "INFO: task xfsaild/vdb:612 blocked for more than 122 seconds.",
        "      Not tainted 6.1.0-28-cloud-amd64 #1 Debian 6.1.119-1",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    )
    node.wait(300, 15)
    node.put("Disks", "disks", "vdb", io_in_flight=0, reads_completed=9000)
    node.rate(0.0, "Disks", "disks", "vdb", "io_time_seconds")
    node.rate(0.0, "Disks", "disks", "vdb", "queue_time_seconds")
    node.pressure("io", "some", 0.0)
    node.pressure("io", "full", 0.0)
    node.put("Cpu", processes_blocked=0)
    node.wait(5400, 60)


@incident(
    "md_array_inactive@md127",
    may=("md_array_degraded",),
    lasts=("md_array_inactive@md127",),
    node=disk_shelf,
)
def array_is_not_assembled_at_boot(node: Story) -> None:
    """After a boot only one of two members was found: the array is there and not started."""
    node.put("Host", uptime_secs=40.0)
    stopped = {"state": "inactive", "active_disks": 0, "missing_disks": None, "level": None}
    node.put("MdArrays", "arrays", "md127", **stopped, spare_disks=1)
    node.wait(HOURS, 120)


@incident(
    "disk_io_errors@sde",
    may=(*STARVED, *FILES, "disk_stalled"),
    unfit=False,
    fit_at_end=True,
    node=disk_shelf,
)
def commands_of_a_sas_disk_are_aborted(node: Story) -> None:
    """Commands of one disk are aborted three times within a quarter of an hour, and fail."""
    disk = "sd 7:0:4:0: [sde]"
    node.wait(60)
    for number in range(3):
        node.log(
            "sd 7:0:4:0: attempting task abort!scmd(0x00000000d1c7a3e0), outstanding for 30472 ms "
            "& timeout 30000 ms",
            f"{disk} tag#{2310 + number} CDB: Write(16) 8a 00 00 00 00 02 10 40 08 00 00 00 02 00",
            "sd 7:0:4:0: task abort: SUCCESS scmd(0x00000000d1c7a3e0)",
            f"{disk} tag#{2310 + number} FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK "
            "cmd_age=61s",
            f"I/O error, dev sde, sector {8_863_616 + 512 * number} op 0x1:(WRITE) flags 0x4000 "
            "phys_seg 64 prio class 2",
            "sd 7:0:4:0: Power-on or device reset occurred",
        )
        node.wait(300, 30)


CASES = (
    adapter_of_a_shelf_stops_working,
    half_of_the_system_mirror_is_replaced,
    firmware_of_a_disk_crashes_under_xfs,
    spare_blocks_of_a_disk_run_out,
    disk_counts_media_errors_in_its_health_log,
    one_disk_of_a_shelf_retries_its_reads,
    storage_behind_a_guest_fails,
    storage_behind_a_guest_pauses,
    array_is_not_assembled_at_boot,
    commands_of_a_sas_disk_are_aborted,
)
