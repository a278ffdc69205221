"""Incidents of disks, their links and adapters, and arrays."""

from tests.corpus.eleventh.nodes import BROKEN_DISK, HOUR, WAITING, aborts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import object_store, waits
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    backup_server,
    boot_server,
    box_of_h100,
    box_of_h200,
    database_server,
    four_l40s,
    web_worker,
)

GONE_DISK = {"unreachable": True, "size_bytes": None, "free_bytes": None, "available_bytes": None}


@incident(
    "nvme_controller_failed@nvme1*",
    may=(
        *BROKEN_DISK,
        *WAITING,
        *("nvme_timeout", "disk_offline", "source_failed", "pcie_device_inaccessible"),
    ),
    never=("pcie_network_card_missing", "gpu_lost", "filesystem_full"),
    unfit=True,
    fit_at_end=False,
    node=box_of_h200,
)
def data_disk_of_a_node_reads_as_all_ones(node: Story) -> None:
    """A disk of datasets vanishes below its driver, which gives it up, and XFS shuts down."""
    node.wait(1500, 60)
    node.log(
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "nvme nvme1: Does your device have a faulty power saving mode enabled?",
        'nvme nvme1: Try "nvme_core.default_ps_max_latency_us=0 pcie_aspm=off pcie_port_pm=off" '
        "and report a bug",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=140)
    waits(node, watts=165.0)
    node.wait(30)
    node.log(
        "nvme nvme1: Disabling device after reset failure: -19",
        "I/O error, dev nvme1n1, sector 1841002496 op 0x0:(READ) flags 0x80700 phys_seg 64 "
        "prio class 0",
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
        "XFS (nvme1n1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.put("NvmeHealths", controllers={"nvme1": None})
    node.put("Disks", disks={"nvme1n1": None})
    node.put("Filesystems", "filesystems", "/data", **GONE_DISK)
    node.wait(120, 30)
    aborts(node)
    node.wait(3 * HOUR, 120)


@incident(
    "nvme_timeout@nvme0*",
    may=(*BROKEN_DISK, *WAITING),
    never=("nvme_controller_failed", "pcie_nvme_missing", "filesystem_full"),
    node=four_l40s,
)
def system_disk_stalls_while_it_tidies_up(node: Story) -> None:
    """Commands of the system disk time out and are aborted, five times within an afternoon."""
    node.wait(900, 60)
    for number, tag in enumerate((331, 18, 702, 55, 914)):
        node.put("Disks", "disks", "nvme0n1", io_in_flight=11)
        node.wait(30)
        node.log(
            f"nvme nvme0: I/O tag {tag} ({0x6000 + tag:04x}) opcode 0x1 (I/O Cmd) QID "
            f"{3 + number} timeout, aborting req_op:WRITE(1) size:65536",
            "nvme nvme0: Abort status: 0x0",
        )
        node.wait(15, 5)
        node.put("Disks", "disks", "nvme0n1", io_in_flight=0)
        node.wait(2700, 60)


@incident(
    "md_array_degraded@md5",
    root="md_array_degraded@md5|disk_io_errors@sde",
    may=(*BROKEN_DISK, "disk_offline", "storage_adapter_reset"),
    never=("filesystem_full", "storage_adapter_failed", "nvme_controller_failed"),
    unfit=True,
    fit_at_end=False,
    node=backup_server,
)
def fifth_disk_of_a_raid_six_is_thrown_out(node: Story) -> None:
    """Reads of a disk cannot be corrected from its peers, md goes on with seven of eight disks."""
    node.wait(1200, 60)
    for number in range(4):
        sector = 6_119_204_864 + 1024 * number
        node.log(
            f"sd 0:0:4:0: [sde] tag#{612 + number} FAILED Result: hostbyte=DID_OK "
            "driverbyte=DRIVER_OK cmd_age=6s",
            f"sd 0:0:4:0: [sde] tag#{612 + number} Sense Key : Medium Error [current] ",
            f"sd 0:0:4:0: [sde] tag#{612 + number} Add. Sense: Unrecovered read error",
            f"critical medium error, dev sde, sector {sector} op 0x0:(READ) flags 0x4000 "
            "phys_seg 8 prio class 2",
        )
        node.wait(120, 30)
    node.log(
        "md/raid:md5: read error not correctable (sector 6118942720 on sde).",
        "md/raid:md5: Disk failure on sde, disabling device.",
        "md/raid:md5: Operation continuing on 7 devices.",
    )
    node.put("MdArrays", "arrays", "md5", active_disks=7, failed_disks=1, missing_disks=1)
    node.wait(5 * HOUR, 120)


@incident(
    "disk_io_errors@sdh",
    may=(*BROKEN_DISK, "disk_offline"),
    never=("storage_adapter_failed", "filesystem_full"),
    node=object_store,
)
def store_reads_a_disk_that_is_wearing_out(node: Story) -> None:
    """A scrub of a store meets an unreadable sector of one disk every quarter of an hour."""
    node.wait(900, 60)
    for number in range(12):
        sector = 31_004_118_016 + 4096 * number
        node.log(
            f"sd 12:0:7:0: [sdh] tag#{1204 + number} FAILED Result: hostbyte=DID_OK "
            "driverbyte=DRIVER_OK cmd_age=3s",
            f"sd 12:0:7:0: [sdh] tag#{1204 + number} Sense Key : Medium Error [current] ",
            f"sd 12:0:7:0: [sdh] tag#{1204 + number} Add. Sense: Unrecovered read error",
            f"critical medium error, dev sdh, sector {sector} op 0x0:(READ) flags 0x0 "
            "phys_seg 1 prio class 2",
        )
        node.wait(900, 60)


@incident(
    "storage_adapter_failed@*",
    root="storage_adapter_failed@*",
    may=(
        *BROKEN_DISK,
        *WAITING,
        *("disk_offline", "storage_adapter_reset", "md_array_degraded", "md_array_inactive"),
        *("source_failed", "kernel_oops"),
    ),
    never=("nvme_controller_failed", "filesystem_full", "memory_uncorrected"),
    unfit=True,
    fit_at_end=False,
    node=object_store,
)
def adapter_of_a_store_is_dead(node: Story) -> None:
    """A SAS adapter reads as all ones, its driver gives it up, and all twelve disks are gone."""
    adapter = "mpt3sas_cm0"
    node.wait(1500, 60)
    for letter in "abcdefghijkl":
        node.put("Disks", "disks", f"sd{letter}", io_in_flight=9)
    for _ in range(6):
        node.log(f"{adapter}: SAS host is non-operational !!!!")
        node.wait(1, 1)
    node.log(f"{adapter}: _base_fault_reset_work: Running mpt3sas_dead_ioc thread success !!!!")
    for target, letter in enumerate("abcdefghijkl"):
        where = f"sas_addr(0x5000cca2{0xB1E0F0C1 + 0x1000 * target:08x})"
        node.log(
            f"sd 12:0:{target}:0: [sd{letter}] Synchronizing SCSI cache",
            f"{adapter}: mpt3sas_transport_port_remove: removed: {where}",
            f"{adapter}: removing handle(0x{0xA + target:04x}), {where}",
            f"XFS (sd{letter}): log I/O error -5",
            f"XFS (sd{letter}): Filesystem has been shut down due to log error (0x2).",
        )
        node.put("Disks", disks={f"sd{letter}": None})
        node.put("Filesystems", "filesystems", f"/srv/osd{target}", **GONE_DISK)
    node.wait(3 * HOUR, 120)


@incident(
    "disk_link_errors@*",
    may=(*BROKEN_DISK, "disk_offline"),
    never=("storage_adapter_failed", "filesystem_full", "nvme_controller_failed"),
    unfit=False,
    node=boot_server,
)
def cable_of_a_boot_disk_is_crushed(node: Story) -> None:
    """Writes to a SATA disk fail on its link every ten minutes; each time its link is reset."""
    node.wait(900, 60)
    for number in range(14):
        node.log(
            "ata4.00: exception Emask 0x10 SAct 0x3f0 SErr 0x400000 action 0x6 frozen",
            "ata4.00: irq_stat 0x08000000, interface fatal error",
            "ata4: SError: { Handshk }",
            "ata4.00: failed command: WRITE FPDMA QUEUED",
            f"ata4.00: cmd 61/00:20:{number:02x}:b9:50/0a:00:00:00:00/40 tag 4 ncq dma 1310720 ou\n"
            "         res 40/00:ff:00:00:00/00:00:00:00:00/00 Emask 0x10 (ATA bus error)",
            "ata4.00: status: { DRDY }",
            "ata4: hard resetting link",
        )
        node.wait(5, 5)
        node.log(
            "ata4: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
            "ata4.00: configured for UDMA/133",
            "ata4: EH complete",
        )
        node.wait(595, 60)


@incident(
    "nvme_wear@nvme1*",
    may=("nvme_warns", "disk_slow"),
    never=("nvme_controller_failed", "disk_io_errors"),
    lasts=("nvme_wear@nvme1*",),
    node=database_server,
)
def journal_of_a_database_has_worn_its_disk(node: Story) -> None:
    """A disk has used 104 percent of its promised life and still works, spare blocks at 22."""
    place = ("NvmeHealths", "controllers", "nvme1")
    node.put(*place, percentage_used_ratio=1.04, available_spare_ratio=0.22)
    node.rate(60e6, "Disks", "disks", "nvme1n1", "written_bytes")
    node.rate(900.0, "Disks", "disks", "nvme1n1", "writes_completed")
    node.wait(5 * HOUR, 120)


@incident(
    "nvme_warns@nvme1*",
    may=(*BROKEN_DISK, "nvme_wear", *WAITING),
    never=("nvme_controller_failed", "filesystem_full", "pcie_nvme_missing"),
    unfit=True,
    fit_at_end=False,
    node=web_worker,
)
def disk_of_pods_accepts_no_more_writes(node: Story) -> None:
    """A disk puts its medium to read only and says so; writes of all pods fail from then on."""
    node.wait(1500, 60)
    node.put("NvmeHealths", "controllers", "nvme1", critical_warning=9)
    node.put("NvmeHealths", "controllers", "nvme1", available_spare_ratio=0.0)
    node.log(
        "nvme1n1: I/O Cmd(0x1) @ LBA 220211200, 256 blocks, I/O Error (sct 0x1 / sc 0x82) DNR",
        "I/O error, dev nvme1n1, sector 220211200 op 0x1:(WRITE) flags 0x9800 phys_seg 32 "
        "prio class 2",
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
        "XFS (nvme1n1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.put("Filesystems", "filesystems", "/var/lib/containers", **GONE_DISK)
    node.wait(4 * HOUR, 120)


@incident(
    "nvme_media_errors@nvme1*|disk_io_errors@nvme1n1",
    may=(*BROKEN_DISK, "nvme_media_errors", "nvme_warns"),
    never=("nvme_controller_failed", "filesystem_full", "pcie_nvme_missing"),
    node=box_of_h100,
)
def shard_of_a_dataset_is_unreadable(node: Story) -> None:
    """Readers of one shard meet five blocks that the disk cannot read; its count goes up."""
    node.wait(1200, 60)
    for number in range(1, 6):
        sector = 2_004_118_528 + 8 * number
        node.log(
            f"nvme1n1: I/O Cmd(0x2) @ LBA {sector}, 8 blocks, I/O Error (sct 0x2 / sc 0x81) DNR",
            f"critical medium error, dev nvme1n1, sector {sector} op 0x0:(READ) flags 0x80700 "
            "phys_seg 1 prio class 2",
        )
        node.put("NvmeHealths", "controllers", "nvme1", media_errors=number)
        node.wait(1500, 60)
    node.wait(HOUR, 60)


CASES = (
    data_disk_of_a_node_reads_as_all_ones,
    system_disk_stalls_while_it_tidies_up,
    fifth_disk_of_a_raid_six_is_thrown_out,
    store_reads_a_disk_that_is_wearing_out,
    adapter_of_a_store_is_dead,
    cable_of_a_boot_disk_is_crushed,
    journal_of_a_database_has_worn_its_disk,
    disk_of_pods_accepts_no_more_writes,
    shard_of_a_dataset_is_unreadable,
)
