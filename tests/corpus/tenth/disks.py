"""Incidents of disks, their links and adapters, and arrays."""

from tests.corpus.labels import incident
from tests.corpus.machines import trainer
from tests.corpus.ninth.nodes import object_store
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    BROKEN_DISK,
    HOUR,
    WAITING,
    database,
    file_server,
    inference_l40s,
    pod_of_h100,
)


def _medium_error(disk: str, host: int, sector: int) -> tuple[str, ...]:
    return (
        f"sd {host}:0:0:0: [{disk}] tag#7 FAILED Result: hostbyte=DID_OK cmd_age=3s",
        f"sd {host}:0:0:0: [{disk}] tag#7 Sense Key : Medium Error [current]",
        f"sd {host}:0:0:0: [{disk}] tag#7 Add. Sense: Unrecovered read error",
        f"critical medium error, dev {disk}, sector {sector} op 0x0:(READ) flags 0x0 phys_seg 4",
    )


@incident(
    "nvme_controller_failed@nvme1*",
    may=(
        *BROKEN_DISK,
        *WAITING,
        "nvme_timeout",
        "pcie_nvme_missing",
        "disk_offline",
        "source_failed",
        "pcie_device_inaccessible",
    ),
    never=("pcie_network_card_missing", "gpu_lost"),
    unfit=True,
    fit_at_end=False,
    node=pod_of_h100,
)
def scratch_disk_dies_under_a_checkpoint(node: Story) -> None:
    """A disk leaves the bus while a checkpoint is written; XFS shuts down, the job fails."""
    node.wait(600, 60)
    node.log(
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "nvme nvme1: Does your device have a faulty power saving mode enabled?",
        'nvme nvme1: Try "nvme_core.default_ps_max_latency_us=0 pcie_aspm=off" and report a bug',
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=64)
    node.wait(60)
    node.log(
        "nvme 0000:5f:00.0: enabling device (0000 -> 0002)",
        "nvme nvme1: Removing after probe failure status: -19",
        "nvme1n1: detected capacity change from 7501476528 to 0",
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
        "XFS (nvme1n1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.put("NvmeHealths", controllers={"nvme1": None})
    node.put("Disks", disks={"nvme1n1": None})
    node.put("Filesystems", "filesystems", "/data", unreachable=True, size_bytes=None)
    node.wait(60)
    node.job_ends()
    node.wait(2 * HOUR, 120)


@incident(
    "nvme_timeout@nvme0*",
    may=(*BROKEN_DISK, *WAITING),
    never=("nvme_controller_failed", "pcie_nvme_missing"),
    unfit=False,
    node=inference_l40s,
)
def root_disk_forgets_commands(node: Story) -> None:
    """Commands time out and are polled or aborted now and then; all goes on after half a minute."""
    node.wait(300, 60)
    for tag in (112, 340, 17, 501):
        node.log(
            f"nvme nvme0: I/O tag {tag} (a0{tag:02x}) opcode 0x1 (I/O Cmd) QID 9 timeout, aborting"
        )
        node.put("Disks", "disks", "nvme0n1", io_in_flight=22)
        node.wait(30)
        node.log("nvme nvme0: Abort status: 0x0")
        node.put("Disks", "disks", "nvme0n1", io_in_flight=0)
        node.wait(1500, 60)


@incident(
    "nvme_media_errors@nvme1*|disk_io_errors@nvme1n1",
    may=(*BROKEN_DISK, "nvme_media_errors"),
    never=("nvme_controller_failed", "filesystem_full"),
    unfit=False,
    node=trainer,
)
def cells_of_the_data_disk_are_unreadable(node: Story) -> None:
    """Some blocks of a dataset cannot be read, the count of media errors goes up each time."""
    node.wait(300, 60)
    for number, sector in enumerate((1_884_112_640, 1_884_112_648, 2_110_500_096), 1):
        node.log(
            f"nvme1n1: Read(0x2) @ LBA {sector}, 256 blocks, Unrecovered Read Error "
            "(sct 0x2 / sc 0x81) DNR",
            "critical medium error, dev nvme1n1, "
            f"sector {sector} op 0x0:(READ) flags 0x80700 phys_seg 32 prio class 2",
        )
        node.put("NvmeHealths", "controllers", "nvme1", media_errors=number)
        node.wait(900, 30)
    node.wait(HOUR, 60)


@incident(
    "nvme_warns@nvme0*",
    may=(*BROKEN_DISK, "nvme_wear", "nvme_media_errors"),
    never=("nvme_controller_failed", "pcie_nvme_missing"),
    unfit=True,
    lasts=("nvme_warns@nvme0*",),
    node=database,
)
def disk_says_it_is_unreliable(node: Story) -> None:
    """The critical warning of one mirror of a database has the bit of reliability set."""
    node.put("NvmeHealths", "controllers", "nvme0", percentage_used_ratio=0.71)
    node.wait(600, 60)
    node.put("NvmeHealths", "controllers", "nvme0", critical_warning=4, media_errors=212)
    node.wait(3 * HOUR, 120)


@incident(
    "nvme_wear@nvme1*",
    may=("nvme_warns",),
    never=("nvme_controller_failed", "disk_io_errors"),
    unfit=False,
    lasts=("nvme_wear@nvme1*",),
    node=object_store,
)
def journal_disk_has_written_enough(node: Story) -> None:
    """The journal disk of a store has used 103 % of its endurance and still works."""
    node.put("NvmeHealths", "controllers", "nvme1", percentage_used_ratio=1.03)
    node.put("NvmeHealths", "controllers", "nvme1", available_spare_ratio=0.86)
    node.wait(3 * HOUR, 120)


@incident(
    "disk_link_errors@*",
    may=(*BROKEN_DISK, "disk_offline", "md_array_degraded"),
    never=("storage_adapter_failed", "filesystem_full"),
    unfit=False,
    node=file_server,
)
def sata_cable_is_loose(node: Story) -> None:
    """Commands of one SATA link fail and it is reset, every ten minutes, slower each time."""
    node.wait(300, 60)
    for number in range(8):
        speed = ("6.0 Gbps (SStatus 133", "3.0 Gbps (SStatus 123")[number > 3]
        node.log(
            "ata8.00: exception Emask 0x10 SAct 0x3c0 SErr 0x4090000 action 0xe frozen",
            "ata8.00: irq_stat 0x00400040, connection status changed",
            "ata8: SError: { PHYRdyChg 10B8B DevExch }",
            "ata8.00: failed command: WRITE FPDMA QUEUED",
            "ata8.00: cmd 61/08:30:80:6a:b3/00:00:1f:00:00/40 tag 6 ncq dma 4096 out\n"
            "         res 40/00:30:80:6a:b3/00:00:1f:00:00/40 Emask 0x10 (ATA bus error)",
            "ata8.00: status: { DRDY }",
            "ata8: hard resetting link",
        )
        node.wait(10, 5)
        node.log(f"ata8: SATA link up {speed} SControl 300)", "ata8.00: configured for UDMA/133")
        node.log("ata8: EH complete")
        node.wait(590, 30)


@incident(
    "md_array_degraded@md127",
    root="disk_offline@sdd|disk_io_errors@sdd|disk_link_errors@*|md_array_degraded@md127",
    may=("disk_io_errors", "disk_link_errors", "disk_offline", "disk_slow", "io_stall"),
    never=("filesystem_readonly", "filesystem_shutdown", "storage_adapter_failed"),
    unfit=True,
    gone=("md_array_degraded",),
    node=file_server,
)
def member_of_a_raid_is_kicked_out(node: Story) -> None:
    """A disk of a RAID 6 cannot be read, md throws it out; a spare is rebuilt for four hours."""
    node.wait(300, 60)
    for sector in (8_812_001_280, 8_812_001_288):
        node.log(*_medium_error("sdd", 3, sector))
        node.wait(20, 10)
    node.log(
        "md/raid:md127: Disk failure on sdd, disabling device.",
        "md/raid:md127: Operation continuing on 5 devices.",
    )
    array = ("MdArrays", "arrays", "md127")
    node.put(*array, active_disks=5, failed_disks=1, missing_disks=1)
    node.wait(HOUR, 60)
    node.log("md: recovery of RAID array md127")
    node.put(*array, failed_disks=0, spare_disks=1, resync_ratio=0.0)
    for part in (0.25, 0.5, 0.75):
        node.wait(HOUR, 120)
        node.put(*array, resync_ratio=part)
    node.wait(HOUR, 120)
    node.log("md: md127: recovery done.")
    node.put(*array, active_disks=6, spare_disks=0, missing_disks=0, resync_ratio=None)
    node.wait(HOUR, 60)


@incident(
    "storage_adapter_failed@*",
    may=(*BROKEN_DISK, *WAITING, "disk_offline", "disk_link_errors"),
    never=("nvme_controller_failed", "filesystem_full"),
    unfit=True,
    node=object_store,
)
def adapter_of_all_disks_is_in_fault_state(node: Story) -> None:
    """The firmware of a SAS adapter faults, all disks stop for a minute, the diag reset works."""
    node.wait(600, 60)
    node.log(
        "mpt3sas_cm0: fault_state(0x2622)!",
        "mpt3sas_cm0: sending diag reset !!",
    )
    for letter in "abcdefghijkl":
        node.put("Disks", "disks", f"sd{letter}", io_in_flight=12)
    node.pressure("io", "full", 70.0)
    node.pressure("io", "some", 85.0)
    node.wait(60)
    node.log(
        "mpt3sas_cm0: diag reset: SUCCESS",
        "mpt3sas_cm0: LSISAS3816: FWVersion(28.00.00.00), ChipRevision(0x00)",
        "mpt3sas_cm0: sending port enable !!",
        "mpt3sas_cm0: port enable: SUCCESS",
    )
    for letter in "abcdefghijkl":
        node.put("Disks", "disks", f"sd{letter}", io_in_flight=1)
    node.pressure("io", "full", 1.0)
    node.pressure("io", "some", 4.0)
    node.wait(3 * HOUR, 120)


CASES = (
    scratch_disk_dies_under_a_checkpoint,
    root_disk_forgets_commands,
    cells_of_the_data_disk_are_unreadable,
    disk_says_it_is_unreliable,
    journal_disk_has_written_enough,
    sata_cable_is_loose,
    member_of_a_raid_is_kicked_out,
    adapter_of_all_disks_is_in_fault_state,
)
