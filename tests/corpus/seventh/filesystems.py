"""Incidents of filesystems and of servers of files."""

from tests.corpus.labels import incident
from tests.corpus.parts import filesystem
from tests.corpus.seventh.nodes import altra, disk_shelf, epyc, guest, pro_6000s
from tests.corpus.story import Story
from tests.corpus.words import STARVED

HOURS = 2 * 3600
POOL = "filesystem_shutdown@/tank|filesystem_stuck@/tank|filesystem_error@/tank"


@incident(
    POOL,
    "hung_task@1188",
    root=(POOL,),
    may=(*STARVED, "filesystem_error", "filesystem_shutdown", "disk_io_errors"),
    unfit=True,
    fit_at_end=False,
    node=disk_shelf,
)
def pool_of_zfs_is_suspended(node: Story) -> None:
    """A pool without redundancy lost a disk: all of it waits, whoever touches it hangs."""
    node.wait(60)
    node.log(
        "zio pool=tank vdev=/dev/disk/by-id/scsi-35000c500a1b2c3d4-part1 error=5 type=2 "
        "offset=270336 size=8192 flags=721601",
        "WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended.",
    )
    node.put("Filesystems", "filesystems", "/tank", unreachable=True, size_bytes=None)
    node.wait(180, 30)
    node.log(
        "INFO: task txg_sync:1188 blocked for more than 122 seconds.",
        "      Tainted: P           OE      6.1.0-28-amd64 #1 Debian 6.1.119-1",
    )
    node.wait(HOURS, 120)


@incident(
    "filesystem_error@/data",
    may=("disk_io_errors",),
    unfit=False,
    fit_at_end=True,
    node=epyc,
)
def checksums_of_btrfs_do_not_match(node: Story) -> None:
    """A file is read whose checksums are wrong, and there is no second copy."""
    node.put("Filesystems", "filesystems", "/data", fstype="btrfs")
    node.wait(60)
    for number in range(1, 4):
        node.log(
            f"BTRFS warning (device nvme1n1): csum failed root 257 ino 41155 off {4096 * number} "
            "csum 0x3e8d9c48 expected csum 0x12711c61 mirror 1",
            "BTRFS error (device nvme1n1): bdev /dev/nvme1n1 errs: wr 0, rd 0, flush 0, corrupt "
            f"{number}, gen 0",
        )
    node.wait(1800, 60)


@incident(
    "filesystem_readonly@/srv/b",
    root="filesystem_error@/srv/b",
    may=STARVED,
    unfit=True,
    gone=("filesystem_readonly",),
    fit_at_end=True,
    node=disk_shelf,
)
def damaged_inodes_make_ext4_read_only_until_its_repair(node: Story) -> None:
    """Ext4 finds a wrong checksum and becomes read-only; it is repaired and mounted anew."""
    node.wait(60)
    node.log(
        "EXT4-fs error (device sdb1): ext4_lookup:1855: inode #262145: comm rsync: iget: checksum "
        "invalid",
        "Aborting journal on device sdb1-8.",
        "EXT4-fs (sdb1): Remounting filesystem read-only",
    )
    node.put("Filesystems", "filesystems", "/srv/b", readonly=True)
    node.wait(2400, 60)
    mounted = node.take_away("Filesystems", "filesystems", "/srv/b")
    node.log("EXT4-fs (sdb1): unmounting filesystem 5f6a1a11-2b0c-4c55-8d0d-0a9b8c7d6e5f.")
    node.wait(900, 60)
    mounted["readonly"] = False
    node.put("Filesystems", "filesystems", **{"/srv/b": mounted})
    node.log(
        "EXT4-fs (sdb1): mounted filesystem 5f6a1a11-2b0c-4c55-8d0d-0a9b8c7d6e5f r/w with ordered "
        "data mode. Quota mode: none."
    )
    node.wait(900, 30)


@incident(
    "filesystem_full@/",
    gone=("filesystem_full",),
    fit_at_end=True,
    node=guest,
)
def log_of_a_service_fills_the_root(node: Story) -> None:
    """One percent of the root is left for forty minutes, until a log is rotated."""
    node.wait(120)
    node.put("Filesystems", "filesystems", "/", available_bytes=9 * 10**9, free_bytes=9 * 10**9)
    node.wait(2400, 60)
    node.put("Filesystems", "filesystems", "/", available_bytes=35 * 10**10, free_bytes=4 * 10**11)
    node.wait(1800, 60)


@incident(
    "filesystem_files_low@/",
    unfit=False,
    gone=("filesystem_files_low",),
    fit_at_end=True,
    node=altra,
)
def layers_of_images_use_up_all_inodes(node: Story) -> None:
    """Two of a hundred inodes of the root are left, until old images are removed."""
    node.wait(120)
    node.put("Filesystems", "filesystems", "/", files_free=2 * 10**5)
    node.wait(2400, 60)
    node.put("Filesystems", "filesystems", "/", files_free=6 * 10**6)
    node.wait(1800, 60)


@incident(
    *("nfs_server_stalled@filer-b", "hung_task@4712", "gpu_idle_allocated@GPU-43"),
    may=(*STARVED, "process_waits_for_storage"),
    unfit=False,
    gone=("nfs_server_stalled",),
    fit_at_end=True,
    node=pro_6000s,
)
def filer_fails_over_too_slowly(node: Story) -> None:
    """A file server is silent for twenty-five minutes; a loader hangs and its card idles."""
    share = filesystem("filer-b:/vol/datasets", "/datasets", "nfs")
    node.put("Filesystems", "filesystems", **{"/datasets": share})
    node.wait(60)
    node.log("nfs: server filer-b not responding, still trying")
    node.put("Filesystems", "filesystems", "/datasets", unreachable=True, size_bytes=None)
    channel = {"wait_channel": "rpc_wait_bit_killable", "state": "uninterruptible"}
    node.process(4712, waits_since_boottime=node.at, **channel)
    node.idle_since_now("43")
    node.wait(180, 30)
    node.log("INFO: task trainer:4712 blocked for more than 122 seconds.")
    node.wait(1320, 60)
    node.log("nfs: server filer-b OK")
    node.put("Filesystems", "filesystems", "/datasets", unreachable=False, size_bytes=10**12)
    node.process(4712, waits_since_boottime=None, state="running")
    node.busy_again("43")
    node.wait(1800, 60)


@incident(
    "network_filesystem_stalled@*",
    may=STARVED,
    unfit=False,
    node=pro_6000s,
)
def metadata_server_of_ceph_hangs(node: Story) -> None:
    """A metadata server of Ceph goes stale and hangs for a quarter of an hour."""
    mount = filesystem("192.0.2.41:6789:/", "/ceph", "ceph")
    node.put("Filesystems", "filesystems", **{"/ceph": mount})
    node.wait(60)
    node.log(
        "libceph: mon1 (1)192.0.2.42:6789 session lost, hunting for new mon",
        "ceph: [6e1d7f0a 84211]: mds0 caps stale",
        "ceph: [6e1d7f0a 84211]: mds0 hung",
    )
    node.put("Filesystems", "filesystems", "/ceph", unreachable=True, size_bytes=None)
    node.wait(900, 30)


@incident(
    "io_stall@node",
    root="disk_slow@vda",
    may=STARVED,
    unfit=False,
    gone=("io_stall",),
    fit_at_end=True,
    node=guest,
)
def backups_of_all_guests_run_at_once(node: Story) -> None:
    """All tasks of a guest wait for its disk most of the time, for a quarter of an hour."""
    node.wait(120)
    node.put("Disks", "disks", "vda", io_in_flight=30)
    node.rate(40.0, "Disks", "disks", "vda", "writes_completed")
    node.rate(9.0, "Disks", "disks", "vda", "write_time_seconds")
    node.rate(1.0, "Disks", "disks", "vda", "io_time_seconds")
    node.rate(9.0, "Disks", "disks", "vda", "queue_time_seconds")
    node.pressure("io", "some", 88.0)
    node.pressure("io", "full", 64.0)
    node.wait(900, 15)
    node.put("Disks", "disks", "vda", io_in_flight=0)
    for name in ("write_time_seconds", "io_time_seconds", "queue_time_seconds"):
        node.rate(0.0, "Disks", "disks", "vda", name)
    node.pressure("io", "some", 2.0)
    node.pressure("io", "full", 0.5)
    node.wait(1800, 30)


CASES = (
    pool_of_zfs_is_suspended,
    checksums_of_btrfs_do_not_match,
    damaged_inodes_make_ext4_read_only_until_its_repair,
    log_of_a_service_fills_the_root,
    layers_of_images_use_up_all_inodes,
    filer_fails_over_too_slowly,
    metadata_server_of_ceph_hangs,
    backups_of_all_guests_run_at_once,
)
