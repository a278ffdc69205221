"""Incidents of disks, arrays, filesystems and servers of files."""

from tests.corpus.eighth.nodes import HOURS, REBUILDS, cloud_volumes, kubelet_node
from tests.corpus.labels import incident
from tests.corpus.parts import filesystem, nvme_health
from tests.corpus.seventh.disks import FILES
from tests.corpus.seventh.nodes import disk_shelf, epyc, hgx
from tests.corpus.sixth.nodes import h200s, rack_server, raid_server
from tests.corpus.story import Story
from tests.corpus.words import STARVED, write_failed


@incident(
    *("nvme_controller_failed@nvme1n1", "filesystem_shutdown@/data"),
    root=("nvme_controller_failed@nvme1n1",),
    may=(*STARVED, *FILES, "disk_io_errors", "nvme_timeout", "pcie_nvme_missing"),
    unfit=True,
    lasts=("nvme_controller_failed@nvme1n1",),
    fit_at_end=False,
    node=hgx,
)
def scratch_disk_of_a_trainer_disappears(node: Story) -> None:
    """The controller of a local disk reads only ones and is given up; its XFS shuts down."""
    node.wait(120)
    node.log(
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
        "nvme nvme1: Does your device have a faulty power saving mode enabled?",
        'nvme nvme1: Try "nvme_core.default_ps_max_latency_us=0 pcie_aspm=off" and report a bug',
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="resetting")
    node.wait(30, 15)
    node.log(
        "nvme 0000:5f:00.0: enabling device (0000 -> 0002)",
        "nvme nvme1: Disabling device after reset failure: -19",
        write_failed("nvme1n1", 8_388_736),
        'XFS (nvme1n1): metadata I/O error in "xfs_buf_ioend_handle_error+0x10c/0x4a0 [xfs]" at '
        "daddr 0x1bf1f6608 len 32 error 5",
        "XFS (nvme1n1): log I/O error -5",
        "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2).",
        "XFS (nvme1n1): Please unmount the filesystem and rectify the problem(s).",
    )
    node.put("NvmeControllers", "controllers", "nvme1", state="dead")
    node.wait(HOURS, 120)


@incident(
    *("disk_io_errors@nvme2n1", "nvme_media_errors@nvme2n1"),
    root=("nvme_media_errors@nvme2n1|disk_io_errors@nvme2n1",),
    may=(*STARVED, *FILES),
    unfit=False,
    fit_at_end=True,
    node=rack_server,
)
def blocks_of_an_nvme_disk_are_lost(node: Story) -> None:
    """Reads of a few blocks fail again and again, and the health log counts media errors."""
    node.put("NvmeHealths", "controllers", nvme2=nvme_health(2))
    node.wait(60)
    for number in range(4):
        sector = 2_811_904 + 8 * number
        node.log(
            f"nvme2n1: I/O Cmd(0x2) @ LBA {sector}, 8 blocks, I/O Error (sct 0x2 / sc 0x81) DNR ",
            f"critical medium error, dev nvme2n1, sector {sector} op 0x0:(READ) flags 0x80700 "
            "phys_seg 1 prio class 2",
        )
        node.put("NvmeHealths", "controllers", "nvme2", media_errors=number + 1)
        node.wait(300, 60)
    node.wait(1800, 60)


@incident(
    "nvme_timeout@nvme1n1",
    root=("nvme_timeout@nvme1n1|disk_stalled@nvme1n1",),
    may=(*STARVED, "disk_stalled"),
    unfit=False,
    gone=("nvme_timeout", "disk_stalled"),
    fit_at_end=True,
    node=cloud_volumes,
)
def volume_of_a_cloud_stands_still_for_five_minutes(node: Story) -> None:
    """A volume answers nothing, its commands time out; after five minutes it works again."""
    node.wait(120)
    node.put("Disks", "disks", "nvme1n1", io_in_flight=48)
    node.rate(1.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.rate(48.0, "Disks", "disks", "nvme1n1", "queue_time_seconds")
    node.pressure("io", "some", 70.0)
    node.pressure("io", "full", 52.0)
    node.wait(60, 15)
    for tag in (17, 18, 19):
        node.log(
            f"nvme nvme1: I/O tag {tag} (d011) opcode 0x1 (I/O Cmd) QID 2 timeout, aborting "
            "req_op:WRITE(1) size:131072"
        )
        node.wait(60, 15)
    node.log(*(f"nvme nvme1: Abort status: 0x{status:x}" for status in (0, 0, 0)))
    node.wait(60, 15)
    node.put("Disks", "disks", "nvme1n1", io_in_flight=0, writes_completed=4100)
    node.rate(0.0, "Disks", "disks", "nvme1n1", "io_time_seconds")
    node.rate(0.0, "Disks", "disks", "nvme1n1", "queue_time_seconds")
    node.pressure("io", "some", 0.5)
    node.pressure("io", "full", 0.0)
    node.wait(3 * 3600, 300)


@incident(
    *("disk_io_errors@sdd", "md_array_degraded@md5"),
    root=("disk_io_errors@sdd",),
    may=(*STARVED, *REBUILDS),
    unfit=True,
    gone=("md_array_degraded",),
    fit_at_end=True,
    node=raid_server,
)
def disk_of_a_raid_6_fails_and_a_spare_takes_over(node: Story) -> None:
    """Reads and writes of a SAS disk fail, it is thrown out, and the array is rebuilt overnight."""
    node.wait(60)
    for number in range(3):
        node.log(
            f"sd 0:0:3:0: [sdd] tag#{612 + number} FAILED Result: hostbyte=DID_OK "
            "driverbyte=DRIVER_OK cmd_age=7s",
            f"sd 0:0:3:0: [sdd] tag#{612 + number} Sense Key : Medium Error [current] ",
            f"sd 0:0:3:0: [sdd] tag#{612 + number} Add. Sense: Write error - recommend "
            "reassignment",
            f"critical medium error, dev sdd, sector {977_273_096 + 8 * number} op 0x1:(WRITE) "
            "flags 0x0 phys_seg 16 prio class 2",
        )
        node.wait(30, 15)
    node.log(
        "md/raid:md5: Disk failure on sdd, disabling device.\n"
        "md/raid:md5: Operation continuing on 4 devices."
    )
    node.put("MdArrays", "arrays", "md5", active_disks=4, failed_disks=1, missing_disks=1)
    node.wait(600, 60)
    node.log("md: recovery of RAID array md5")
    node.put("MdArrays", "arrays", "md5", spare_disks=1, resync_ratio=0.01)
    node.wait(8 * 3600, 900)
    node.log("md: md5: recovery done.")
    node.put("MdArrays", "arrays", "md5", active_disks=5, missing_disks=0, failed_disks=0)
    node.put("MdArrays", "arrays", "md5", spare_disks=0, resync_ratio=None)
    node.wait(3600, 120)


@incident(
    "disk_link_errors@*",
    may=(*STARVED, "disk_io_errors"),
    unfit=False,
    fit_at_end=True,
    node=disk_shelf,
)
def boot_disk_times_out_and_is_slowed_down(node: Story) -> None:
    """Commands of a SATA disk time out, its link is reset again and again, and limited."""
    node.wait(60)
    for number in range(5):
        node.log(
            "ata1.00: exception Emask 0x0 SAct 0xffc00 SErr 0x0 action 0x6 frozen",
            "ata1.00: failed command: READ FPDMA QUEUED",
            f"ata1.00: cmd 60/00:50:00:{number:02x}:40/01:00:2a:00:00/40 tag 10 ncq dma 131072 in",
            "         res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 (timeout)",
            "ata1.00: status: { DRDY }",
            "ata1: hard resetting link",
            "ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 320)",
            "ata1.00: configured for UDMA/133",
            "ata1: EH complete",
        )
        if number == 2:
            node.log("ata1: limiting SATA link speed to 3.0 Gbps")
        node.wait(120, 15)


@incident(
    "storage_adapter_failed@node",
    may=(*STARVED, *FILES, "disk_io_errors", "disk_offline", "md_array_degraded"),
    unfit=True,
    lasts=("storage_adapter_failed@node",),
    fit_at_end=False,
    node=raid_server,
)
def firmware_of_a_raid_controller_hangs(node: Story) -> None:
    """The firmware of a RAID adapter is in a fault state, and its reset does not help."""
    card = "megaraid_sas 0000:3b:00.0"
    node.wait(120)
    node.log(
        f"{card}: FW in FAULT state Fault code:0x10000 subcode:0x0 func:megasas_wait_for_"
        "outstanding_fusion",
        f"{card}: resetting fusion adapter scsi0.",
        f"{card}: Waiting for FW to come to ready state",
        f"{card}: FW in FAULT state, Fault code:0x10000 subcode:0x0 func:megasas_transition_to_"
        "ready",
        f"{card}: Failed to transition controller to ready for scsi0.",
        f"{card}: megaraid_sas: Hardware critical error, returning FAILED scsi0.",
    )
    for target, letter in enumerate("abcdef"):
        node.log(f"sd 0:0:{target}:0: rejecting I/O to offline device")
        node.put("Disks", "disks", f"sd{letter}", scsi_state="offline")
    node.wait(HOURS, 120)


@incident(
    "nvme_wear@nvme0n1",
    may=("nvme_warns",),
    unfit=False,
    lasts=("nvme_wear@nvme0n1",),
    fit_at_end=True,
    node=epyc,
)
def cache_disk_has_been_written_to_its_end(node: Story) -> None:
    """A disk has used 103 of a hundred of its endurance; its spare is whole, it works."""
    node.put("NvmeHealths", "controllers", "nvme0", percentage_used_ratio=1.03)
    node.wait(3600, 120)


@incident(
    "filesystem_full@/var/lib/containerd",
    may=("pod_oom_kill",),
    gone=("filesystem_full",),
    fit_at_end=True,
    node=kubelet_node,
)
def images_fill_the_disk_of_a_worker(node: Story) -> None:
    """Two percent are left for images, then nearly nothing; after an hour they are pruned."""
    node.wait(120)
    for left in (2 * 10**10, 4 * 10**9, 10**8):
        node.put(
            *("Filesystems", "filesystems", "/var/lib/containerd"),
            available_bytes=left,
            free_bytes=left,
        )
        node.wait(1200, 60)
    node.put(
        *("Filesystems", "filesystems", "/var/lib/containerd"),
        available_bytes=4 * 10**11,
        free_bytes=4 * 10**11,
    )
    node.wait(1800, 60)


@incident(
    *("disk_io_errors@nvme0n1", "filesystem_readonly@/"),
    root=("disk_io_errors@nvme0n1",),
    may=(*STARVED, "filesystem_error", "nvme_media_errors"),
    unfit=True,
    lasts=("filesystem_readonly@/",),
    fit_at_end=False,
    node=h200s,
)
def root_of_a_trainer_becomes_read_only(node: Story) -> None:
    """Writes of the boot disk fail and ext4 makes the root read-only; jobs run on for hours."""
    node.wait(60)
    node.log(
        write_failed("nvme0n1", 41_947_136),
        "Buffer I/O error on dev nvme0n1p2, logical block 4980736, lost sync page write",
        "JBD2: Error -5 detected when updating journal superblock for nvme0n1p2-8.",
        "Aborting journal on device nvme0n1p2-8.",
        "EXT4-fs (nvme0n1p2): I/O error while writing superblock",
        "EXT4-fs error (device nvme0n1p2): ext4_journal_check_start:83: comm systemd-journal: "
        "Detected aborted journal",
        "EXT4-fs (nvme0n1p2): Remounting filesystem read-only",
    )
    node.put("Filesystems", "filesystems", "/", readonly=True)
    node.wait(HOURS, 120)


@incident(
    "filesystem_shutdown@/data",
    may=(*STARVED, "filesystem_error"),
    unfit=True,
    fit_at_end=False,
    node=cloud_volumes,
)
def xfs_finds_its_metadata_damaged(node: Story) -> None:
    """A free list of XFS does not make sense; the filesystem is shut down, its disk is fine."""
    node.wait(60)
    node.log(
        "XFS (nvme1n1): Internal error i != 1 at line 2126 of file fs/xfs/libxfs/xfs_alloc.c.  "
        "Caller xfs_free_extent_fix_freelist+0x61/0xa0 [xfs]",
        "CPU: 2 PID: 18221 Comm: kworker/2:0 Not tainted 6.1.119-129.201.amzn2023.x86_64 #1",
        "XFS (nvme1n1): Corruption of in-memory data (0x8) detected at "
        "xfs_defer_finish_noroll+0x3f1/0x5e0 [xfs] (fs/xfs/libxfs/xfs_defer.c:573).  Shutting down "
        "filesystem.",
        "XFS (nvme1n1): Please unmount the filesystem and rectify the problem(s)",
    )
    node.wait(HOURS, 120)


@incident(
    *("nfs_server_stalled@192.0.2.10", "hung_task@4713"),
    root=("nfs_server_stalled@192.0.2.10",),
    may=(*STARVED, *("gpu_allocated_unused", "process_waits_for_storage")),
    unfit=False,
    gone=("nfs_server_stalled",),
    fit_at_end=True,
    node=hgx,
)
def home_directories_hang_while_a_job_saves(node: Story) -> None:
    """The server of all homes is silent for seventeen minutes; a rank hangs in its write."""
    node.wait(60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    wait = {"wait_channel": "nfs_wait_bit_killable", "state": "uninterruptible"}
    node.process(4713, waits_since_boottime=node.at, **wait)
    node.wait(150, 30)
    node.log(
        "INFO: task trainer:4713 blocked for more than 122 seconds.",
    )
    node.wait(870, 30)
    node.log("nfs: server 192.0.2.10 OK")
    node.put("Filesystems", "filesystems", "/home", unreachable=False, size_bytes=10**12)
    node.process(4713, waits_since_boottime=None, state="running")
    node.wait(1800, 60)


@incident(
    "network_filesystem_stalled@node",
    may=STARVED,
    unfit=False,
    node=h200s,
)
def targets_of_lustre_do_not_answer(node: Story) -> None:
    """Reads of two targets fail and their connections are lost; ten minutes later they are back."""
    mount = filesystem("192.0.2.61@o2ib:/scratch", "/scratch", "lustre")
    node.put("Filesystems", "filesystems", **{"/scratch": mount})
    node.wait(60)
    for target in ("OST0004", "OST0005"):
        name = f"scratch-{target}-osc-ff3a21c08a1c8000"
        node.log(
            f"LustreError: 11-0: {name}: operation ost_read to node 192.0.2.64@o2ib failed: rc = "
            "-107",
            f"Lustre: {name}: Connection to scratch-{target} (at 192.0.2.64@o2ib) was lost; in "
            "progress operations using this service will wait for recovery to complete",
        )
    node.wait(600, 30)
    for target in ("OST0004", "OST0005"):
        name = f"scratch-{target}-osc-ff3a21c08a1c8000"
        node.log(f"Lustre: {name}: Connection restored to 192.0.2.64@o2ib (at 192.0.2.64@o2ib)")
    node.wait(1800, 60)


CASES = (
    scratch_disk_of_a_trainer_disappears,
    blocks_of_an_nvme_disk_are_lost,
    volume_of_a_cloud_stands_still_for_five_minutes,
    disk_of_a_raid_6_fails_and_a_spare_takes_over,
    boot_disk_times_out_and_is_slowed_down,
    firmware_of_a_raid_controller_hangs,
    cache_disk_has_been_written_to_its_end,
    images_fill_the_disk_of_a_worker,
    root_of_a_trainer_becomes_read_only,
    xfs_finds_its_metadata_damaged,
    home_directories_hang_while_a_job_saves,
    targets_of_lustre_do_not_answer,
)
