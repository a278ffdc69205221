"""Incidents of filesystems, of this node and of others."""

from tests.corpus.eleventh.nodes import BROKEN_DISK, HOUR, WAITING, aborts, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import hpc_worker, waits, works
from tests.corpus.seventh.nodes import guest
from tests.corpus.story import Story
from tests.corpus.twelfth.hosts import (
    boot_server,
    box_of_h100,
    database_server,
    four_a100,
    four_l40s,
    web_worker,
)

AWAY = {"unreachable": True, "size_bytes": None, "free_bytes": None, "available_bytes": None}
BACK = {
    "unreachable": False,
    "size_bytes": 10**12,
    "free_bytes": 5 * 10**11,
    "available_bytes": 5 * 10**11,
}


@incident(
    "filesystem_readonly@*",
    root="disk_io_errors@sda|filesystem_error@*|filesystem_readonly@*|disk_link_errors@*",
    may=(*BROKEN_DISK, "disk_link_errors", "disk_offline"),
    never=("filesystem_full", "nvme_controller_failed", "md_array_degraded"),
    unfit=True,
    fit_at_end=False,
    node=boot_server,
)
def boot_disk_of_a_server_of_builds_fails(node: Story) -> None:
    """Writes to a worn SATA disk are refused, ext4 aborts its journal, the root is read-only."""
    node.wait(1200, 60)
    for number in range(3):
        node.log(
            "ata4.00: exception Emask 0x0 SAct 0x40000 SErr 0x0 action 0x0",
            "ata4.00: irq_stat 0x40000008",
            "ata4.00: failed command: WRITE FPDMA QUEUED",
            f"sd 3:0:0:0: [sda] tag#{20 + number} FAILED Result: hostbyte=DID_OK "
            "driverbyte=DRIVER_OK cmd_age=0s",
            f"sd 3:0:0:0: [sda] tag#{20 + number} Sense Key : Aborted Command [current] ",
            f"I/O error, dev sda, sector {41_207_808 + 8 * number} op 0x1:(WRITE) flags 0x800 "
            "phys_seg 1 prio class 0",
        )
    node.log(
        "Aborting journal on device sda2-8.",
        "EXT4-fs error (device sda2): ext4_journal_check_start:83: comm systemd-journal: "
        "Detected aborted journal",
        "EXT4-fs (sda2): Remounting filesystem read-only",
    )
    node.put("Filesystems", "filesystems", "/", readonly=True)
    node.wait(4 * HOUR, 120)


@incident(
    "filesystem_error@*",
    may=("filesystem_readonly", "filesystem_shutdown", "disk_io_errors", "process_crashed"),
    never=("filesystem_full", "disk_offline", "nvme_controller_failed"),
    node=web_worker,
)
def directory_block_fails_its_verifier(node: Story) -> None:
    """XFS finds damaged metadata of a directory of images each time somebody lists it."""
    node.wait(1200, 60)
    for _ in range(6):
        node.log(
            "XFS (nvme1n1): Metadata corruption detected at xfs_dir3_block_read_verify+0x9e/0xc0 "
            "[xfs], xfs_dir3_block block 0x8a41d20 ",
            "XFS (nvme1n1): Unmount and run xfs_repair",
            "XFS (nvme1n1): First 128 bytes of corrupted metadata buffer:",
            'XFS (nvme1n1): metadata I/O error in "xfs_da_read_buf+0xd9/0x130 [xfs]" at daddr '
            "0x8a41d20 len 8 error 117",
        )
        node.wait(1800, 60)


@incident(
    "filesystem_readonly@*|filesystem_error@*",
    root="filesystem_readonly@*|filesystem_error@*",
    may=BROKEN_DISK,
    never=("filesystem_full", "nvme_controller_failed", "disk_offline"),
    node=boot_server,
)
def trees_of_a_build_disk_do_not_agree(node: Story) -> None:
    """A block of btrfs is older than its parent says: the disk of builds becomes read-only."""
    node.wait(900, 60)
    node.log(
        "BTRFS error (device nvme1n1): parent transid verify failed on logical 2070681747456 "
        "mirror 1 wanted 60804 found 60621",
        "BTRFS error (device nvme1n1): parent transid verify failed on logical 2070681747456 "
        "mirror 2 wanted 60804 found 60621",
        "BTRFS error (device nvme1n1 state A): Transaction aborted (error -5)",
        "BTRFS: error (device nvme1n1 state A) in btrfs_run_delayed_refs:2207: errno=-5 IO failure",
        "BTRFS info (device nvme1n1 state EA): forced readonly",
    )
    node.put("Filesystems", "filesystems", "/build", readonly=True)
    node.wait(4 * HOUR, 120)


@incident(
    "filesystem_full@*",
    may=("filesystem_files_low", "process_crashed"),
    never=("disk_io_errors", "filesystem_readonly", "filesystem_error"),
    unfit=True,
    lasts=("filesystem_full@*",),
    fit_at_end=False,
    node=four_l40s,
)
def dumps_of_a_crashing_server_fill_the_root(node: Story) -> None:
    """A server of models crashes in a loop, its dumps fill the root to the last gigabyte."""
    node.wait(600, 60)
    for number, left in enumerate((380, 250, 130, 60, 24, 8, 1)):
        node.log(
            f"tritonserver[{70_211 + 913 * number}]: segfault at 0 ip 00007f6d20c3a1f0 sp "
            "00007ffe6ac10d28 error 4 in libtriton_tokenizer.so[7f6d20c00000+9a000] likely on "
            "CPU 11 (core 11, socket 0)"
        )
        free = left * 10**9
        node.put("Filesystems", "filesystems", "/", free_bytes=free, available_bytes=free)
        node.wait(600, 60)
    node.wait(3 * HOUR, 120)


@incident(
    "filesystem_full@*",
    may=("filesystem_files_low",),
    never=("disk_io_errors", "filesystem_readonly", "filesystem_error"),
    gone=("filesystem_full",),
    fit_at_end=True,
    node=database_server,
)
def archive_of_a_database_is_not_emptied(node: Story) -> None:
    """Logs of a database fill its own disk until the archive is repaired in the afternoon."""
    node.wait(900, 60)
    for left in (210, 120, 55, 18, 6):
        free = left * 10**9
        node.put("Filesystems", "filesystems", "/srv/pg", free_bytes=free, available_bytes=free)
        node.wait(1800, 60)
    node.wait(HOUR, 60)
    free = 470 * 10**9
    node.put("Filesystems", "filesystems", "/srv/pg", free_bytes=free, available_bytes=free)
    node.wait(2 * HOUR, 60)


@incident(
    "filesystem_files_low@*",
    may=("filesystem_full",),
    never=("disk_io_errors", "filesystem_readonly", "filesystem_error"),
    unfit=False,
    lasts=("filesystem_files_low@*",),
    node=guest,
)
def small_files_of_a_site_use_up_the_inodes(node: Story) -> None:
    """Small files of a cache are never removed: the data disk of a guest has no inode left."""
    node.wait(900, 60)
    for left in (1_200_000, 600_000, 250_000, 60_000, 900, 12):
        node.put("Filesystems", "filesystems", "/data", files_free=left)
        node.wait(1500, 60)
    node.wait(3 * HOUR, 120)


@incident(
    "nfs_server_stalled@*",
    may=(*WAITING, "network_filesystem_stalled", "gpu_channel_timeout"),
    never=("net_link_down", "disk_io_errors", "ib_port_down"),
    unfit=False,
    node=four_l40s,
)
def homes_are_away_until_the_evening(node: Story) -> None:
    """The server of the homes stops to answer before noon and is not repaired by the evening."""
    node.wait(1500, 60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", **AWAY)
    node.put("Cpu", processes_blocked=6)
    for _ in range(8):
        node.wait(1500, 60)
        node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.log(
        "INFO: task python3:88201 blocked for more than 122 seconds.",
        "      Tainted: P           OE    -------  ---  5.14.0-503.el9.x86_64 #1",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    )
    node.wait(HOUR, 60)


@incident(
    "nfs_locks_lost@*",
    root="nfs_locks_lost@*|nfs_server_stalled@*",
    may=(*WAITING, "nfs_server_stalled", "process_crashed"),
    never=("net_link_down", "disk_io_errors", "filesystem_readonly"),
    unfit=False,
    node=hpc_worker,
)
def filer_forgets_its_locks_in_a_failover(node: Story) -> None:
    """A filer fails over within three minutes and has lost the locks of its clients."""
    node.wait(1500, 60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", **AWAY)
    node.wait(180, 30)
    node.log(
        "nfs: server 192.0.2.10 OK",
        "NFS: __nfs4_reclaim_open_state: Lock reclaim failed!",
        "NFS: __nfs4_reclaim_open_state: Lock reclaim failed!",
    )
    node.put("Filesystems", "filesystems", "/home", **BACK)
    node.wait(3 * HOUR, 120)


@incident(
    "network_filesystem_stalled@*",
    may=(*WAITING, "filesystem_error", "nfs_server_stalled"),
    never=("ib_port_down", "disk_io_errors", "nfs_locks_lost"),
    unfit=False,
    gone=("filesystem_stuck",),
    node=four_a100,
)
def targets_of_lustre_move_to_their_partner(node: Story) -> None:
    """A server of Lustre fails; its targets are back on another one after twenty minutes."""
    target = "proj-OST001c-osc-ffff8f6a41c6d800"
    node.wait(1200, 60)
    node.log(
        f"Lustre: {target}: Connection to proj-OST001c (at 203.0.113.22@o2ib) was lost; in "
        "progress operations using this service will wait for recovery to complete",
    )
    node.put("Filesystems", "filesystems", "/proj", **AWAY)
    node.put("Cpu", processes_blocked=9)
    waits(node, watts=88.0)
    for number in range(4):
        node.wait(300, 30)
        node.log(
            f"Lustre: 3901:0:(client.c:2295:ptlrpc_expire_one_request()) @@@ Request sent has "
            f"failed due to network error: [sent 17380412{number}3/real 17380412{number}3]  "
            f"req@00000000c4b1 x1821/t0(0) o8->{target}@203.0.113.22@o2ib:28/4 lens 520/544 e 0 "
            "to 1 dl 1738041301 ref 1 fl Rpc:XNQr/0/ffffffff rc 0/-1 job:''"
        )
    node.log(f"Lustre: {target}: Connection restored to 203.0.113.23@o2ib (at 203.0.113.23@o2ib)")
    node.put("Filesystems", "filesystems", "/proj", unreachable=False, size_bytes=12 * 10**15)
    left = 4 * 10**15
    node.put("Filesystems", "filesystems", "/proj", free_bytes=left, available_bytes=left)
    node.put("Cpu", processes_blocked=0)
    works(node, watts=322.0, heat=49.0)
    node.wait(2 * HOUR, 120)


@incident(
    "network_filesystem_stalled@*|filesystem_stuck@*",
    may=(*WAITING, "network_filesystem_stalled", "filesystem_error"),
    never=("net_link_down", "disk_io_errors", "filesystem_readonly"),
    unfit=False,
    node=box_of_h100,
)
def server_of_names_throws_its_client_out(node: Story) -> None:
    """A server of names of Ceph throws its client out while a job writes; it is mounted anew."""
    home = {"device": "192.0.2.70:3300,192.0.2.71:3300:/", "fstype": "ceph"}
    node.put("Filesystems", "filesystems", "/home", **home, files=None, files_free=None)
    node.wait(1500, 60)
    node.log("ceph: mds0 caps stale")
    node.put("Filesystems", "filesystems", "/home", **AWAY)
    waits(node)
    node.put("Cpu", processes_blocked=8)
    node.wait(240, 30)
    node.log(
        "ceph: mds0 hung",
        "libceph: mds0 (2)192.0.2.73:6800 socket closed (con state OPEN)",
    )
    node.wait(300, 30)
    node.log(
        "libceph: mds0 (2)192.0.2.73:6800 session reset",
        "ceph: mds0 closed our session",
        "ceph: mds0 reconnect start",
        "ceph: mds0 reconnect denied",
    )
    aborts(node)
    node.wait(900, 60)
    node.put("Filesystems", "filesystems", "/home", **BACK)
    node.put("Cpu", processes_blocked=0)
    starts(node, box_of_h100, 66_180)
    node.wait(2 * HOUR, 120)


CASES = (
    boot_disk_of_a_server_of_builds_fails,
    directory_block_fails_its_verifier,
    trees_of_a_build_disk_do_not_agree,
    dumps_of_a_crashing_server_fill_the_root,
    archive_of_a_database_is_not_emptied,
    small_files_of_a_site_use_up_the_inodes,
    homes_are_away_until_the_evening,
    filer_forgets_its_locks_in_a_failover,
    targets_of_lustre_move_to_their_partner,
    server_of_names_throws_its_client_out,
)
