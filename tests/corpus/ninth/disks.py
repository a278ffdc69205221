"""Incidents of disks, of arrays, and of filesystems that lie on them."""

from tests.corpus.eighth.nodes import REBUILDS, cloud_volumes
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import HOUR, object_store, waits
from tests.corpus.parts import GIB
from tests.corpus.seventh.nodes import disk_shelf, epyc, hgx
from tests.corpus.sixth.nodes import rack_server, raid_server
from tests.corpus.story import Story
from tests.corpus.words import STARVED, write_failed

SICK = (*STARVED, *REBUILDS, "disk_io_errors", "nvme_timeout", "filesystem_error")


@incident(
    *("nvme_controller_failed@nvme1n1", "filesystem_shutdown@/data"),
    root=("nvme_controller_failed@nvme1n1",),
    may=(*SICK, "pcie_nvme_missing", "pcie_device_inaccessible", "filesystem_readonly"),
    unfit=True,
    lasts=("nvme_controller_failed@nvme1n1",),
    fit_at_end=False,
    node=hgx,
)
def scratch_disk_of_a_trainer_dies(node: Story) -> None:
    """A disk answers nothing, its controller is given up, and XFS shuts down above it."""
    node.wait(120)
    node.log(
        "nvme nvme1: I/O tag 412 (119c) opcode 0x1 (I/O Cmd) QID 22 timeout, aborting req_op:"
        "WRITE(1) size:131072",
        "nvme nvme1: I/O tag 412 (119c) opcode 0x1 (I/O Cmd) QID 22 timeout, reset controller",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.put("Disks", "disks", "nvme1n1", io_in_flight=63)
    node.rate(1.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.wait(60)
    node.log(
        "nvme nvme1: Device not ready; aborting reset, CSTS=0x1",
        "nvme nvme1: Disabling device after reset failure: -19",
        write_failed("nvme1n1", 1_874_200_112),
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
        "XFS (nvme1n1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.rate(0.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.put("Disks", "disks", nvme1n1=None)
    node.put("NvmeHealths", "controllers", nvme1=None)
    waits(node)
    node.wait(2 * HOUR, 240)


@incident(
    "nvme_timeout@nvme2n1",
    may=("disk_slow", "disk_stalled", "io_stall", "disk_io_errors"),
    never=("nvme_controller_failed",),
    unfit=False,
    node=rack_server,
)
def firmware_of_a_disk_pauses_for_half_a_minute(node: Story) -> None:
    """Commands time out, are aborted and succeed later, four times within an hour."""
    node.wait(120)
    for number in range(4):
        node.log(
            f"nvme nvme2: I/O tag {100 + number} (30{number}4) opcode 0x2 (I/O Cmd) QID 9 timeout, "
            "aborting req_op:READ(0) size:32768",
            "nvme nvme2: Abort status: 0x0",
        )
        node.put("Disks", "disks", "nvme2n1", io_in_flight=31)
        node.wait(30)
        node.put("Disks", "disks", "nvme2n1", io_in_flight=0)
        node.wait(840, 60)


@incident(
    "disk_io_errors@sdc",
    root=("disk_io_errors@sdc|disk_link_errors@*",),
    may=(*SICK, "filesystem_shutdown"),
    node=object_store,
)
def platter_of_an_object_disk_has_bad_sectors(node: Story) -> None:
    """Reads of one of twelve disks fail with medium errors, a few each hour."""
    node.wait(300, 60)
    for number in range(4):
        sector = 20_391_884_120 + 8 * number
        node.log(
            "sd 12:0:2:0: [sdc] tag#2417 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK "
            "cmd_age=4s",
            "sd 12:0:2:0: [sdc] tag#2417 Sense Key : Medium Error [current] [descriptor] ",
            "sd 12:0:2:0: [sdc] tag#2417 Add. Sense: Unrecovered read error",
            f"critical medium error, dev sdc, sector {sector} op 0x0:(READ) flags 0x80700 "
            "phys_seg 4 prio class 2",
        )
        node.wait(1500, 60)


@incident(
    *("disk_link_errors@*",),
    root=("disk_link_errors@*",),
    may=(*SICK, "filesystem_readonly"),
    unfit=False,
    node=disk_shelf,
)
def link_of_a_sata_disk_gets_slower(node: Story) -> None:
    """The link of a disk is reset every few minutes, at last at 1.5 Gbps; no data is lost."""
    node.wait(120)
    for speed in ("6.0", "3.0", "3.0", "1.5", "1.5"):
        node.log(
            "ata2.00: exception Emask 0x10 SAct 0x7fc00 SErr 0x4890000 action 0xe frozen",
            "ata2.00: irq_stat 0x0c400040, interface fatal error, connection status changed",
            "ata2: SError: { PHYRdyChg 10B8B LinkSeq DevExch }",
            "ata2.00: failed command: WRITE FPDMA QUEUED",
            "ata2: hard resetting link",
            f"ata2: SATA link up {speed} Gbps (SStatus 123 SControl 320)",
            "ata2.00: configured for UDMA/133",
            "ata2: EH complete",
        )
        node.wait(150, 30)
    node.wait(HOUR, 120)


@incident(
    *("filesystem_readonly@/", "disk_io_errors@nvme0n1"),
    root=("disk_io_errors@nvme0n1|nvme_media_errors@nvme0n1|nvme_warns@nvme0n1",),
    may=(*SICK, "nvme_media_errors", "nvme_warns", "source_failed"),
    unfit=True,
    lasts=("filesystem_readonly@/",),
    fit_at_end=False,
    node=epyc,
)
def root_is_mounted_read_only(node: Story) -> None:
    """Writes to the root's disk fail, its journal is aborted, and nothing is written any more."""
    node.wait(120)
    node.put("NvmeHealths", "controllers", "nvme0", media_errors=14)
    node.log(
        write_failed("nvme0n1", 55_402_496),
        "Buffer I/O error on dev nvme0n1p2, logical block 6925312, lost sync page write",
        "Aborting journal on device nvme0n1p2-8.",
        "EXT4-fs error (device nvme0n1p2): ext4_journal_check_start:83: comm systemd-journal: "
        "Detected aborted journal",
        "EXT4-fs (nvme0n1p2): Remounting filesystem read-only",
    )
    node.put("Filesystems", "filesystems", "/", readonly=True)
    node.wait(2 * HOUR, 120)


@incident(
    *("md_array_degraded@md5", "disk_offline@sdd|disk_io_errors@sdd"),
    root=("disk_offline@sdd|disk_io_errors@sdd",),
    may=(*SICK, "disk_offline"),
    unfit=True,
    gone=("md_array_degraded",),
    node=raid_server,
)
def disk_of_a_raid_6_is_offline_and_exchanged(node: Story) -> None:
    """A disk is given up, the array misses one, a spare is added and rebuilt in three hours."""
    node.wait(120)
    node.log(
        "sd 0:0:3:0: Device offlined - not ready after error recovery",
        "sd 0:0:3:0: rejecting I/O to offline device",
        "I/O error, dev sdd, sector 7814035 op 0x1:(WRITE) flags 0x0 phys_seg 2 prio class 2",
        "md: super_written gets error=-5",
        "md/raid:md5: Disk failure on sdd, disabling device.\n"
        "md/raid:md5: Operation continuing on 4 devices.",
    )
    node.put("Disks", "disks", "sdd", scsi_state="offline")
    node.put("MdArrays", "arrays", "md5", active_disks=4, failed_disks=1, missing_disks=1)
    node.wait(HOUR, 120)
    gone = node.take_away("Disks", "disks", "sdd")
    node.put("MdArrays", "arrays", "md5", failed_disks=0)
    node.wait(600, 60)
    node.log(
        "sd 0:0:3:0: [sdd] 15628053168 512-byte logical blocks: (8.00 TB/7.28 TiB)",
        "sd 0:0:3:0: [sdd] Attached SCSI disk",
        "md: recovery of RAID array md5",
    )
    node.put("Disks", "disks", sdd={**gone, "scsi_state": "running"})
    for share in (0.0, 0.25, 0.5, 0.75):
        node.put("MdArrays", "arrays", "md5", spare_disks=1, resync_ratio=share)
        node.wait(2700, 180)
    node.log("md: md5: recovery done.")
    node.put("MdArrays", "arrays", "md5", spare_disks=0, resync_ratio=None)
    node.put("MdArrays", "arrays", "md5", active_disks=5, missing_disks=0)
    node.wait(HOUR, 120)


@incident(
    "nvme_warns@nvme0n1",
    root=("nvme_warns@nvme0n1|nvme_wear@nvme0n1",),
    may=("nvme_wear", "nvme_media_errors"),
    unfit=True,
    lasts=("nvme_warns@nvme0n1",),
    fit_at_end=False,
    node=rack_server,
)
def disk_beyond_its_life_loses_its_spare(node: Story) -> None:
    """A disk used beyond its life has eight percent of its spare left and warns of it."""
    node.put("NvmeHealths", "controllers", "nvme0", percentage_used_ratio=1.04)
    node.put("NvmeHealths", "controllers", "nvme0", available_spare_ratio=0.11)
    node.wait(HOUR, 120)
    node.put("NvmeHealths", "controllers", "nvme0", available_spare_ratio=0.08, critical_warning=1)
    node.wait(2 * HOUR, 240)


@incident(
    "nvme_overheat@nvme1n1",
    may=("nvme_warns", "disk_slow"),
    gone=("nvme_overheat",),
    fit_at_end=True,
    node=rack_server,
)
def disk_behind_a_blank_panel_is_hot(node: Story) -> None:
    """A disk climbs above its warning of 77 degrees under a copy, and cools down after it."""
    composite = {
        "kind": "temperature",
        "hw_id": "nvme1",
        "hw_name": "nvme",
        "sensor": "Composite",
        "value": 52.0,
        "limits": {"high.degraded": 76.85, "high.critical": 84.85},
    }
    node.put("Sensors", "sensors", nvme1=composite)
    for heat in (58.0, 68.0, 75.0, 79.0):
        node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=heat)
        node.put("Sensors", "sensors", "nvme1", value=heat)
        node.wait(600, 60)
    node.wait(1800, 60)
    node.put("NvmeHealths", "controllers", "nvme1", temperature_celsius=49.0)
    node.put("Sensors", "sensors", "nvme1", value=49.0)
    node.wait(HOUR, 60)


@incident(
    "disk_slow@nvme1n1|io_stall@node",
    may=(*STARVED, "memory_pressure"),
    gone=("disk_slow", "io_stall"),
    fit_at_end=True,
    node=cloud_volumes,
)
def credits_of_a_volume_are_used_up(node: Story) -> None:
    """A volume of a cloud falls to its base rate: each request takes a third of a second."""
    node.wait(300, 60)
    place = ("Disks", "disks", "nvme1n1")
    node.rate(95.0, *place, "writes_completed")
    node.rate(33.0, *place, "write_time_seconds")
    node.rate(1.0, *place, "io_time_seconds")
    node.rate(33.0, *place, "queue_time_seconds")
    node.put(*place, io_in_flight=32)
    node.pressure("io", "full", 61.0)
    node.pressure("io", "some", 74.0)
    node.put("Cpu", processes_blocked=33)
    node.wait(HOUR, 30)
    for name in ("writes_completed", "write_time_seconds", "io_time_seconds", "queue_time_seconds"):
        node.rate(0.0, *place, name)
    node.put(*place, io_in_flight=0)
    node.pressure("io", "full", 0.0)
    node.pressure("io", "some", 0.0)
    node.put("Cpu", processes_blocked=0)
    node.put("Memory", available_bytes=700 * GIB)
    node.wait(HOUR, 60)


CASES = (
    scratch_disk_of_a_trainer_dies,
    firmware_of_a_disk_pauses_for_half_a_minute,
    platter_of_an_object_disk_has_bad_sectors,
    link_of_a_sata_disk_gets_slower,
    root_is_mounted_read_only,
    disk_of_a_raid_6_is_offline_and_exchanged,
    disk_beyond_its_life_loses_its_spare,
    disk_behind_a_blank_panel_is_hot,
    credits_of_a_volume_are_used_up,
)
