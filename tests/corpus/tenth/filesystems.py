"""Incidents of filesystems, of this node and of others."""

from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import delta_a100s, waits, works
from tests.corpus.story import Story
from tests.corpus.tenth.nodes import (
    BROKEN_DISK,
    HOUR,
    WAITING,
    file_server,
    inference_l40s,
    pod_of_h100,
)


@incident(
    "filesystem_readonly@*",
    root="disk_io_errors@sdg|filesystem_error@*|filesystem_readonly@*",
    may=(*BROKEN_DISK, "disk_link_errors"),
    never=("md_array_degraded", "disk_offline", "filesystem_full"),
    unfit=True,
    gone=("filesystem_readonly",),
    fit_at_end=True,
    node=file_server,
)
def archive_is_remounted_without_writing(node: Story) -> None:
    """ext4 aborts its journal after a write failed; after fsck it is mounted again."""
    place = ("Filesystems", "filesystems", "/archive")
    node.put(
        *place,
        device="/dev/sdg1",
        mountpoint="/archive",
        fstype="ext4",
        readonly=False,
        size_bytes=16 * 10**12,
        free_bytes=7 * 10**12,
        available_bytes=7 * 10**12,
        files=10**8,
        files_free=9 * 10**7,
    )
    node.wait(600, 60)
    node.log(
        "I/O error, dev sdg, sector 2148 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
        "Buffer I/O error on dev sdg1, logical block 12, lost sync page write",
        "Aborting journal on device sdg1-8.",
        "EXT4-fs error (device sdg1): ext4_journal_check_start:84: comm rsync: Detected aborted "
        "journal",
        "EXT4-fs (sdg1): Remounting filesystem read-only",
    )
    node.put(*place, readonly=True)
    node.wait(HOUR, 60)
    node.put("Filesystems", "filesystems", **{"/archive": None})
    node.wait(1200, 60)
    node.log("EXT4-fs (sdg1): mounted filesystem with ordered data mode. Quota mode: none.")
    node.put(
        *place,
        device="/dev/sdg1",
        mountpoint="/archive",
        fstype="ext4",
        readonly=False,
        size_bytes=16 * 10**12,
        free_bytes=7 * 10**12,
        available_bytes=7 * 10**12,
        files=10**8,
        files_free=9 * 10**7,
    )
    node.wait(2 * HOUR, 120)


@incident(
    "nfs_server_stalled@*",
    may=(*WAITING, "network_filesystem_stalled"),
    never=("net_link_down", "disk_io_errors", "nfs_locks_lost"),
    unfit=False,
    gone=("nfs_server_stalled", "filesystem_stuck"),
    fit_at_end=True,
    node=pod_of_h100,
)
def homes_hang_while_the_filer_fails_over(node: Story) -> None:
    """The server of the homes does not answer for twenty minutes, then its partner does."""
    node.wait(600, 60)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", unreachable=True, size_bytes=None)
    node.put("Filesystems", "filesystems", "/home", free_bytes=None, available_bytes=None)
    node.process(4711, state="uninterruptible", wait_channel="rpc_wait_bit_killable")
    waits(node)
    node.wait(1200, 30)
    node.log("nfs: server 192.0.2.10 OK")
    node.put("Filesystems", "filesystems", "/home", unreachable=False, size_bytes=10**12)
    node.put("Filesystems", "filesystems", "/home", free_bytes=5 * 10**11)
    node.put("Filesystems", "filesystems", "/home", available_bytes=5 * 10**11)
    node.process(4711, state="running", wait_channel=None)
    works(node)
    node.wait(2 * HOUR, 120)


@incident(
    "network_filesystem_stalled@*",
    may=(*WAITING, "nfs_server_stalled", "filesystem_error"),
    never=("ib_port_down", "disk_io_errors", "filesystem_shutdown"),
    unfit=False,
    node=delta_a100s,
)
def object_target_of_lustre_is_gone(node: Story) -> None:
    """One OST does not answer for an hour: writers hang in D state, then the target recovers."""
    node.wait(600, 60)
    node.log(
        "Lustre: 3184:0:(client.c:2295:ptlrpc_expire_one_request()) @@@ Request sent has timed out "
        "for slow reply: [sent 1731000100/real 1731000100]  req@ffff9c1f x1815/t0(0) o4->"
        "scratch-OST001a-osc-ffff8e2b5d@192.0.2.74@o2ib:6/4",
        "Lustre: scratch-OST001a-osc-ffff8e2b5d: Connection to scratch-OST001a (at "
        "192.0.2.74@o2ib) was lost; in progress "
        "operations using this service will wait for recovery to complete",
    )
    node.process(4712, state="uninterruptible", wait_channel="cl_sync_io_wait")
    node.put("Cpu", processes_blocked=9)
    waits(node, watts=95.0)
    node.wait(HOUR, 30)
    node.log(
        "Lustre: scratch-OST001a-osc-ffff8e2b5d: Connection restored to 192.0.2.75@o2ib "
        "(at 192.0.2.75@o2ib)"
    )
    node.process(4712, state="running", wait_channel=None)
    node.put("Cpu", processes_blocked=0)
    works(node, watts=318.0)
    node.wait(2 * HOUR, 120)


@incident(
    "filesystem_full@*",
    may=("filesystem_files_low", "process_crashed"),
    never=("disk_io_errors", "filesystem_readonly", "filesystem_error"),
    unfit=True,
    gone=("filesystem_full",),
    fit_at_end=True,
    node=inference_l40s,
)
def core_dumps_fill_the_root(node: Story) -> None:
    """Dumps of a crashing server fill the root within an hour; somebody deletes them at night."""
    node.wait(300, 60)
    for left in (200, 90, 40, 12, 3, 0.4):
        free = int(left * 10**9)
        node.put("Filesystems", "filesystems", "/", free_bytes=free, available_bytes=free)
        node.wait(600, 60)
    node.wait(2 * HOUR, 120)
    node.put("Filesystems", "filesystems", "/", free_bytes=61 * 10**10)
    node.put("Filesystems", "filesystems", "/", available_bytes=56 * 10**10)
    node.wait(HOUR, 60)


@incident(
    "filesystem_files_low@*",
    may=("filesystem_full",),
    never=("disk_io_errors", "filesystem_readonly"),
    unfit=False,
    node=file_server,
)
def millions_of_tiny_files_take_all_inodes(node: Story) -> None:
    """A tool unpacks a dataset of pictures: the inodes are used up long before the bytes."""
    node.wait(300, 60)
    for free in (3 * 10**6, 10**6, 200_000, 31_000, 900):
        node.put("Filesystems", "filesystems", "/export", files_free=free)
        node.wait(900, 60)
    node.wait(2 * HOUR, 120)


CASES = (
    archive_is_remounted_without_writing,
    homes_hang_while_the_filer_fails_over,
    object_target_of_lustre_is_gone,
    core_dumps_fill_the_root,
    millions_of_tiny_files_take_all_inodes,
)
