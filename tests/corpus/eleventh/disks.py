"""Incidents of disks, their links and adapters, and arrays."""

from tests.corpus.eighth.nodes import cloud_volumes
from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    cluster_worker,
    disk_server,
    h200_with_scratch,
    mirrored_server,
    quad_of_l4,
    volume_server,
)
from tests.corpus.eleventh.nodes import BROKEN_DISK, HOUR, WAITING, aborts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import waits
from tests.corpus.seventh.nodes import disk_shelf
from tests.corpus.story import Story


@incident(
    "nvme_controller_failed@nvme2*",
    may=(
        *BROKEN_DISK,
        *WAITING,
        *("nvme_timeout", "disk_offline", "source_failed", "pcie_device_inaccessible"),
    ),
    never=("pcie_network_card_missing", "gpu_lost", "filesystem_full"),
    unfit=True,
    fit_at_end=False,
    node=h200_with_scratch,
)
def scratch_disk_does_not_get_ready_again(node: Story) -> None:
    """A disk of scratch answers nothing, its reset fails, and XFS shuts down below a dataset."""
    node.wait(1200, 60)
    for tag in (201, 202, 203):
        node.log(
            f"nvme nvme2: I/O tag {tag} (50{tag:02x}) opcode 0x2 (I/O Cmd) QID 11 timeout, "
            f"aborting req_op:READ(0) size:131072"
        )
    node.put("Disks", "disks", "nvme2n1", io_in_flight=96)
    waits(node)
    node.wait(30)
    node.log("nvme nvme2: I/O tag 201 (50c9) opcode 0x2 (I/O Cmd) QID 11 timeout, reset controller")
    node.put("NvmeControllers", "controllers", "nvme2", state="resetting")
    node.wait(90)
    node.log(
        "nvme nvme2: Device not ready; aborting reset, CSTS=0x1",
        "nvme nvme2: Disabling device after reset failure: -19",
        "I/O error, dev nvme2n1, sector 3381002240 op 0x0:(READ) flags 0x80700 phys_seg 32 "
        "prio class 0",
        "XFS (nvme2n1): log I/O error -5",
        "XFS (nvme2n1): Filesystem has been shut down due to log error (0x2).",
        "XFS (nvme2n1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.put("NvmeControllers", "controllers", "nvme2", state="dead")
    node.put("NvmeHealths", controllers={"nvme2": None})
    node.put("Disks", disks={"nvme2n1": None})
    place = ("Filesystems", "filesystems", "/scratch")
    node.put(*place, unreachable=True, size_bytes=None, free_bytes=None, available_bytes=None)
    node.wait(60)
    aborts(node)
    node.wait(3 * HOUR, 120)


@incident(
    "nvme_timeout@nvme1*",
    may=(*BROKEN_DISK, *WAITING),
    never=("nvme_controller_failed", "pcie_nvme_missing", "filesystem_full"),
    unfit=False,
    node=quad_of_l4,
)
def firmware_of_a_disk_loses_interrupts(node: Story) -> None:
    """Commands of a disk are found complete only after thirty seconds, six times in four hours."""
    node.wait(900, 60)
    for tag in (44, 611, 95, 302, 780, 12):
        node.put("Disks", "disks", "nvme1n1", io_in_flight=4)
        node.wait(30)
        node.log(f"nvme nvme1: I/O {tag} QID 7 timeout, completion polled")
        node.put("Disks", "disks", "nvme1n1", io_in_flight=0)
        node.wait(2400, 60)


@incident(
    "disk_io_errors@sdk",
    may=BROKEN_DISK,
    never=("storage_adapter_failed", "filesystem_full", "disk_offline"),
    node=disk_server,
)
def head_of_a_disk_cannot_read_a_track(node: Story) -> None:
    """One of sixteen disks returns medium errors for a stretch of sectors, twice each hour."""
    node.wait(900, 60)
    for number in range(10):
        sector = 20_113_447_168 + 8 * number
        node.log(
            f"sd 6:0:10:0: [sdk] tag#{311 + number} FAILED Result: hostbyte=DID_OK "
            "driverbyte=DRIVER_OK cmd_age=4s",
            f"sd 6:0:10:0: [sdk] tag#{311 + number} Sense Key : Medium Error [current] "
            "[descriptor] ",
            f"sd 6:0:10:0: [sdk] tag#{311 + number} Add. Sense: Unrecovered read error",
            f"critical medium error, dev sdk, sector {sector} op 0x0:(READ) flags 0x80700 "
            "phys_seg 16 prio class 2",
        )
        node.wait(1800, 60)


@incident(
    "disk_offline@sdf",
    root="disk_offline@sdf|disk_io_errors@sdf",
    may=(*BROKEN_DISK, "storage_adapter_reset", "source_failed"),
    never=("storage_adapter_failed", "nvme_controller_failed", "filesystem_full"),
    unfit=True,
    fit_at_end=False,
    node=disk_server,
)
def disk_does_not_come_back_from_error_handling(node: Story) -> None:
    """Commands of a disk are aborted in vain, the kernel takes it offline, and XFS shuts down."""
    place = "sd 6:0:5:0"
    node.wait(900, 60)
    node.put("Disks", "disks", "sdf", io_in_flight=17)
    node.wait(30)
    node.log(
        f"{place}: attempting task abort!scmd(0x00000000e6e7404d), outstanding for 30424 ms & "
        "timeout 30000 ms",
        f"{place}: [sdf] tag#7153 CDB: Read(16) 88 00 00 00 00 04 46 d1 e9 e8 00 00 00 08 00 00",
        "scsi target6:0:5: handle(0x000f), sas_address(0x5000c500d2a1e7c9), phy(5)",
        f"{place}: task abort: FAILED scmd(0x00000000e6e7404d)",
    )
    node.wait(45)
    node.log(
        f"{place}: Device offlined - not ready after error recovery",
        f"{place}: [sdf] tag#7153 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK "
        "cmd_age=97s",
        "I/O error, dev sdf, sector 18368948712 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
        f"{place}: rejecting I/O to offline device",
        "XFS (sdf): log I/O error -5",
        "XFS (sdf): Log I/O Error (0x2) detected at xlog_ioend_work+0x9d/0xb0 [xfs] "
        "(fs/xfs/xfs_log.c:1376).  Shutting down filesystem.",
        "XFS (sdf): Please unmount the filesystem and rectify the problem(s)",
    )
    node.put("Disks", "disks", "sdf", scsi_state="offline", io_in_flight=0)
    place_of_it = ("Filesystems", "filesystems", "/srv/disk05")
    node.put(*place_of_it, unreachable=True, size_bytes=None, free_bytes=None, available_bytes=None)
    node.wait(4 * HOUR, 120)


@incident(
    "storage_adapter_failed@*|storage_adapter_reset@*",
    may=(*BROKEN_DISK, *WAITING, "storage_adapter_reset", "disk_offline"),
    never=("nvme_controller_failed", "filesystem_full", "md_array_degraded"),
    fit_at_end=True,
    node=volume_server,
)
def firmware_of_a_raid_adapter_starts_anew(node: Story) -> None:
    """The firmware of a MegaRAID is in fault state; a reset within a minute makes it work again."""
    card = "megaraid_sas 0000:18:00.0"
    node.wait(1200, 60)
    for name in ("sda", "sdb"):
        node.put("Disks", "disks", name, io_in_flight=41)
    node.pressure("io", "full", 64.0)
    node.pressure("io", "some", 78.0)
    node.log(
        f"{card}: megasas_disable_intr_fusion is called outbound_intr_mask:0x40000009",
        f"{card}: FW in FAULT state Fault code:0x10000 subcode:0x0 "
        "func:megasas_wait_for_outstanding_fusion",
        f"{card}: resetting fusion adapter scsi0.",
        f"{card}: Outstanding fastpath IOs: 12",
    )
    node.wait(55, 5)
    node.log(
        f"{card}: Waiting for FW to come to ready state",
        f"{card}: FW now in Ready state",
        f"{card}: Adapter is OPERATIONAL for scsi:0",
        f"{card}: Reset successful for scsi0.",
    )
    for name in ("sda", "sdb"):
        node.put("Disks", "disks", name, io_in_flight=1)
    node.pressure("io", "full", 0.5)
    node.pressure("io", "some", 2.0)
    node.wait(4 * HOUR, 120)


@incident(
    "raid_volume_degraded@*",
    may=("disk_slow", "storage_adapter_reset"),
    never=("storage_adapter_failed", "filesystem_readonly", "disk_offline"),
    unfit=True,
    node=volume_server,
)
def disk_of_a_raid_volume_is_pulled_out(node: Story) -> None:
    """A disk behind a MegaRAID fails: its volume is degraded, and nobody exchanges it today."""
    card = "megaraid_sas 0000:18:00.0"
    node.wait(1200, 60)
    node.log(f"{card}: 20714 (785012113s/0x0001/CRIT) - VD 01/1 is now DEGRADED")
    node.wait(5 * HOUR, 120)


@incident(
    "md_array_degraded@md0",
    root="md_array_degraded@md0|disk_io_errors@nvme1n1|nvme_timeout@nvme1*|nvme_controller_failed@*",
    may=(*BROKEN_DISK, "nvme_timeout", "nvme_controller_failed", "disk_offline"),
    never=("filesystem_full", "storage_adapter_failed"),
    unfit=True,
    gone=("md_array_degraded",),
    node=mirrored_server,
)
def half_of_a_mirror_is_exchanged(node: Story) -> None:
    """Writes to a disk of a mirror fail, md goes on without it; a new disk is rebuilt at night."""
    array = ("MdArrays", "arrays", "md0")
    node.wait(1200, 60)
    node.log(
        "blk_update_request: I/O error, dev nvme1n1, sector 2064 op 0x1:(WRITE) flags 0x800 "
        "phys_seg 1 prio class 0",
        "md: super_written gets error=-5",
        "md/raid1:md0: Disk failure on nvme1n1, disabling device.\n"
        "md/raid1:md0: Operation continuing on 1 devices.",
    )
    node.put(*array, active_disks=1, failed_disks=1, missing_disks=1)
    node.wait(3 * HOUR, 120)
    node.put(*array, failed_disks=0)
    node.wait(600, 60)
    node.log("md: recovery of RAID array md0")
    node.put(*array, spare_disks=1, resync_ratio=0.0)
    for part in (0.3, 0.6, 0.9):
        node.wait(1200, 60)
        node.put(*array, resync_ratio=part)
    node.wait(400, 60)
    node.log("md: md0: recovery done.")
    node.put(*array, active_disks=2, spare_disks=0, missing_disks=0, resync_ratio=None)
    node.wait(2 * HOUR, 120)


@incident(
    "disk_link_errors@*",
    may=(*BROKEN_DISK, "disk_offline", "md_array_degraded"),
    never=("storage_adapter_failed", "filesystem_full"),
    unfit=False,
    node=disk_shelf,
)
def backplane_of_a_boot_disk_is_loose(node: Story) -> None:
    """Each quarter of an hour commands of a SATA disk time out and its link is reset."""
    node.wait(900, 60)
    for number in range(10):
        node.log(
            "ata2.00: exception Emask 0x50 SAct 0x3c000 SErr 0x4890800 action 0xe frozen",
            "ata2.00: irq_stat 0x0c400040, interface fatal error, connection status changed",
            "ata2: SError: { HostInt PHYRdyChg 10B8B LinkSeq DevExch }",
            "ata2.00: failed command: READ FPDMA QUEUED",
            f"ata2.00: cmd 60/08:70:{number:02x}:2a:51/00:00:0c:00:00/40 tag 14 ncq dma 4096 in\n"
            f"         res 40/00:70:{number:02x}:2a:51/00:00:0c:00:00/40 Emask 0x50 "
            "(ATA bus error)",
            "ata2.00: status: { DRDY }",
            "ata2: hard resetting link",
        )
        node.wait(10, 5)
        node.log(
            "ata2: SATA link up 3.0 Gbps (SStatus 123 SControl 320)",
            "ata2.00: configured for UDMA/133",
            "ata2: EH complete",
        )
        node.wait(890, 60)


@incident(
    "nvme_warns@nvme1*",
    may=("nvme_wear", "nvme_media_errors", "disk_slow"),
    never=("nvme_controller_failed", "filesystem_readonly"),
    unfit=True,
    lasts=("nvme_warns@nvme1*",),
    node=cluster_worker,
)
def spare_of_an_image_disk_is_used_up(node: Story) -> None:
    """A disk of images falls below its threshold of spare blocks and says so from then on."""
    node.put("NvmeHealths", "controllers", "nvme1", percentage_used_ratio=0.97)
    node.put("NvmeHealths", "controllers", "nvme1", available_spare_ratio=0.11)
    node.wait(HOUR, 60)
    node.put("NvmeHealths", "controllers", "nvme1", available_spare_ratio=0.09)
    node.put("NvmeHealths", "controllers", "nvme1", critical_warning=1)
    node.wait(4 * HOUR, 120)


@incident(
    "disk_stalled@nvme1n1",
    may=(*BROKEN_DISK, *WAITING, "nvme_timeout"),
    never=("nvme_controller_failed", "filesystem_full", "pcie_nvme_missing"),
    unfit=False,
    gone=("disk_stalled",),
    node=cloud_volumes,
)
def volume_of_a_cloud_answers_nothing(node: Story) -> None:
    """A volume of a guest completes nothing for a quarter of an hour; then all goes on."""
    node.put("Disks", "disks", "nvme1n1", model="Amazon Elastic Block Store")
    node.put("Disks", "disks", "nvme0n1", model="Amazon Elastic Block Store")
    node.rate(40.0, "Disks", "disks", "nvme1n1", "writes_completed")
    node.wait(1200, 60)
    node.rate(0.0, "Disks", "disks", "nvme1n1", "writes_completed")
    node.rate(1.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=38)
    node.put("Cpu", processes_blocked=12)
    node.pressure("io", "some", 88.0)
    node.pressure("io", "full", 71.0)
    node.wait(240, 30)
    node.log(
        "INFO: task xfsaild/nvme1n1:1204 blocked for more than 122 seconds.",
        "      Not tainted 6.1.0-28-cloud-amd64 #1 Debian 6.1.119-1",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    )
    node.wait(660, 30)
    node.rate(40.0, "Disks", "disks", "nvme1n1", "writes_completed")
    node.rate(0.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=0)
    node.put("Cpu", processes_blocked=0)
    node.pressure("io", "some", 0.4)
    node.pressure("io", "full", 0.1)
    node.wait(2 * HOUR, 60)


@incident(
    "nvme_media_errors@nvme0*|disk_io_errors@nvme0n1",
    may=(*BROKEN_DISK, "nvme_media_errors", "nvme_warns"),
    never=("nvme_controller_failed", "filesystem_full", "pcie_nvme_missing"),
    node=chassis_of_b200,
)
def blocks_of_the_system_disk_cannot_be_read(node: Story) -> None:
    """Four blocks of a package's files are unreadable; its count of media errors goes up."""
    node.wait(900, 60)
    for number, sector in enumerate((88_214_016, 88_214_024, 88_214_032, 91_003_392), 1):
        node.log(
            f"nvme0n1: I/O Cmd(0x2) @ LBA {sector}, 8 blocks, I/O Error (sct 0x2 / sc 0x81) DNR",
            f"critical medium error, dev nvme0n1, sector {sector} op 0x0:(READ) flags 0x80700 "
            "phys_seg 1 prio class 0",
        )
        node.put("NvmeHealths", "controllers", "nvme0", media_errors=number)
        node.wait(1200, 60)
    node.wait(HOUR, 60)


CASES = (
    scratch_disk_does_not_get_ready_again,
    firmware_of_a_disk_loses_interrupts,
    head_of_a_disk_cannot_read_a_track,
    disk_does_not_come_back_from_error_handling,
    firmware_of_a_raid_adapter_starts_anew,
    disk_of_a_raid_volume_is_pulled_out,
    half_of_a_mirror_is_exchanged,
    backplane_of_a_boot_disk_is_loose,
    spare_of_an_image_disk_is_used_up,
    volume_of_a_cloud_answers_nothing,
    blocks_of_the_system_disk_cannot_be_read,
)
