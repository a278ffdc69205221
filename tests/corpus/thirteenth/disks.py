"""Incidents of disks, their links and adapters, and arrays."""

from tests.corpus.eleventh.nodes import BROKEN_DISK, HOUR, WAITING, aborts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import waits
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import (
    mirror_server,
    new_h100,
    osd_server,
    raid_server,
    some_b200,
)

GONE_DISK = {"unreachable": True, "size_bytes": None, "free_bytes": None, "available_bytes": None}


@incident(
    "nvme_controller_failed@nvme1*",
    root="nvme_controller_failed@nvme1*|nvme_timeout@nvme1*",
    may=(*BROKEN_DISK, *WAITING, "nvme_timeout", "disk_offline", "source_failed"),
    never=("pcie_network_card_missing", "gpu_lost", "filesystem_full"),
    unfit=True,
    fit_at_end=False,
    node=new_h100,
)
def data_disk_of_a_trainer_does_not_get_ready_again(node: Story) -> None:
    """A disk does not answer, its reset fails, and the filesystem of datasets is shut down."""
    node.wait(2400, 120)
    node.put("Disks", "disks", "nvme1n1", io_in_flight=96)
    waits(node)
    node.wait(30, 15)
    for tag, queue in ((14, 3), (188, 41), (402, 17)):
        node.log(f"nvme nvme1: I/O {tag} (I/O Cmd) QID {queue} timeout, aborting")
    node.wait(30, 15)
    node.log("nvme nvme1: I/O 14 QID 3 timeout, reset controller")
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.wait(60, 15)
    node.log(
        *["nvme nvme1: Abort status: 0x371"] * 3,
        "nvme nvme1: Device not ready; aborting reset, CSTS=0x1",
        "nvme nvme1: Disabling device after reset failure: -19",
        "I/O error, dev nvme1n1, sector 3301448704 op 0x0:(READ) flags 0x80700 phys_seg 32 "
        "prio class 2",
        'XFS (nvme1n1): metadata I/O error in "xfs_imap_to_bp+0x50/0x70 [xfs]" at daddr '
        "0x2541080 len 32 error 5",
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
        "XFS (nvme1n1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.put("NvmeHealths", controllers={"nvme1": None})
    node.put("Disks", disks={"nvme1n1": None})
    node.put("Filesystems", "filesystems", "/data", **GONE_DISK)
    node.wait(60, 30)
    aborts(node)
    node.wait(4 * HOUR, 240)


@incident(
    "raid_volume_degraded@*",
    may=("disk_slow", "disk_io_errors"),
    never=("filesystem_full", "storage_adapter_failed", "filesystem_readonly"),
    unfit=True,
    node=raid_server,
)
def disk_of_a_group_volume_is_dropped_by_its_adapter(node: Story) -> None:
    """An adapter drops a disk of a volume of RAID 5; nobody has a spare for it today."""
    adapter = "megaraid_sas 0000:18:00.0"
    node.wait(2400, 120)
    node.log(f"{adapter}: 8851 (795820131s/0x0001/CRIT) - VD 01/1 is now DEGRADED")
    node.wait(5 * HOUR, 180)


@incident(
    "disk_offline@sdf",
    root="disk_io_errors@sdf|disk_offline@sdf",
    may=(*BROKEN_DISK, "storage_adapter_reset"),
    never=("storage_adapter_failed", "filesystem_full", "nvme_controller_failed"),
    unfit=True,
    fit_at_end=False,
    node=osd_server,
)
def sixth_disk_of_a_store_gives_up(node: Story) -> None:
    """A disk fails commands for ten minutes, does not come back after resets, and is offline."""
    node.wait(2400, 120)
    disk = "sd 1:0:5:0: [sdf]"
    for number in range(10):
        node.log(
            f"{disk} tag#{88 + number} FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK "
            "cmd_age=8s",
            f"{disk} tag#{88 + number} Sense Key : Hardware Error [current] ",
            f"{disk} tag#{88 + number} Add. Sense: Internal target failure",
            f"critical target error, dev sdf, sector {20_118_446_080 + 2048 * number} op "
            "0x1:(WRITE) flags 0x0 phys_seg 4 prio class 2",
        )
        node.wait(60, 30)
    node.log(
        f"{disk} tag#402 attempting task abort!scmd(0x000000001c2f9a71), outstanding for 30512 ms "
        "& timeout 30000 ms",
        "scsi target1:0:5: handle(0x000f), sas_address(0x5000c500d4e1f2a1), phy(5)",
        "sd 1:0:5:0: device_block, handle(0x000f)",
        "sd 1:0:5:0: Device offlined - not ready after error recovery",
        "I/O error, dev sdf, sector 20118466560 op 0x1:(WRITE) flags 0x0 phys_seg 4 prio class 2",
    )
    node.put("Disks", "disks", "sdf", scsi_state="offline")
    node.wait(4 * HOUR, 240)


@incident(
    "md_array_degraded@*",
    root="md_array_degraded@*|disk_io_errors@nvme1*|nvme_media_errors@nvme1*",
    may=(*BROKEN_DISK, "nvme_media_errors"),
    never=("filesystem_full", "nvme_controller_failed"),
    unfit=True,
    fit_at_end=False,
    node=mirror_server,
)
def half_of_a_mirror_refuses_a_write(node: Story) -> None:
    """One disk of a mirror refuses a write; the array goes on with the other disk alone."""
    node.wait(2400, 120)
    node.log(
        "nvme1n1: I/O Cmd(0x1) @ LBA 1211480064, 256 blocks, I/O Error (sct 0x2 / sc 0x80) DNR ",
        "critical medium error, dev nvme1n1, sector 1211480064 op 0x1:(WRITE) flags 0x0 "
        "phys_seg 32 prio class 2",
        "md/raid1:md0: Disk failure on nvme1n1p2, disabling device.",
        "md/raid1:md0: Operation continuing on 1 devices.",
    )
    node.put("NvmeHealths", "controllers", "nvme1", media_errors=1)
    node.put("MdArrays", "arrays", "md0", active_disks=1, failed_disks=1, missing_disks=1)
    node.wait(5 * HOUR, 180)


@incident(
    "nvme_warns@nvme1*",
    root="nvme_warns@nvme1*|nvme_wear@nvme1*",
    may=("nvme_wear", "disk_slow"),
    never=("nvme_controller_failed", "disk_io_errors", "filesystem_full"),
    unfit=True,
    lasts=("nvme_warns@nvme1*",),
    fit_at_end=False,
    node=some_b200,
)
def disk_of_caches_has_hardly_any_spare_blocks(node: Story) -> None:
    """The spare blocks of a disk for caches fall below its threshold, and it says so."""
    node.put("NvmeHealths", "controllers", "nvme1", percentage_used_ratio=0.91)
    node.put("NvmeHealths", "controllers", "nvme1", available_spare_ratio=0.11)
    node.wait(2400, 120)
    node.put("NvmeHealths", "controllers", "nvme1", available_spare_ratio=0.08, critical_warning=1)
    node.wait(5 * HOUR, 180)


CASES = (
    data_disk_of_a_trainer_does_not_get_ready_again,
    disk_of_a_group_volume_is_dropped_by_its_adapter,
    sixth_disk_of_a_store_gives_up,
    half_of_a_mirror_refuses_a_write,
    disk_of_caches_has_hardly_any_spare_blocks,
)
