"""Incidents of filesystems, of this node and of others."""

from tests.corpus.eleventh.nodes import HOUR, WAITING
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import waits, works
from tests.corpus.story import Story
from tests.corpus.thirteenth.hosts import batch_worker, new_h100, pod_worker, raid_server

AWAY = {"unreachable": True, "size_bytes": None, "free_bytes": None, "available_bytes": None}
HALF = {"free_bytes": 5 * 10**11, "available_bytes": 5 * 10**11}


@incident(
    "filesystem_error@*",
    may=("filesystem_readonly", "disk_io_errors", "process_crashed"),
    never=("filesystem_full", "disk_offline", "raid_volume_degraded", "nvme_controller_failed"),
    node=raid_server,
)
def bitmaps_of_the_homes_have_wrong_sums(node: Story) -> None:
    """ext4 finds blocks of its bitmaps with wrong check sums whenever a backup passes by."""
    node.wait(1200, 120)
    for number in range(5):
        node.log(
            "EXT4-fs error (device sdb1): ext4_validate_block_bitmap:390: comm rsync: bg "
            f"{120_440 + 3 * number}: bad block bitmap checksum",
        )
        node.wait(120, 60)
        node.log(
            "EXT4-fs error (device sdb1): ext4_lookup:1855: inode #244318210: comm rsync: iget: "
            "checksum invalid",
        )
        node.wait(2400, 120)


@incident(
    "filesystem_full@*",
    may=("filesystem_files_low", "process_crashed", "pod_oom_kill"),
    never=("disk_io_errors", "filesystem_readonly", "filesystem_error"),
    unfit=True,
    lasts=("filesystem_full@*",),
    fit_at_end=False,
    node=pod_worker,
)
def images_fill_the_disk_below_var(node: Story) -> None:
    """Images of a nightly build fill the disk of containers until nothing can be unpacked."""
    node.wait(900, 60)
    for left in (260, 140, 70, 31, 12, 4):
        free = left * 10**9
        node.put(
            *("Filesystems", "filesystems", "/var/lib/containerd"),
            free_bytes=free,
            available_bytes=free,
        )
        node.wait(900, 90)
    node.wait(3 * HOUR, 180)


@incident(
    "nfs_server_stalled@*",
    may=(*WAITING, "network_filesystem_stalled", "gpu_channel_timeout"),
    never=("net_link_down", "disk_io_errors", "ib_port_down", "gpu_hung"),
    unfit=False,
    gone=("nfs_server_stalled", "filesystem_stuck"),
    node=new_h100,
)
def checkpoint_waits_for_a_full_filer(node: Story) -> None:
    """The server of the homes does not answer for forty minutes; a checkpoint waits for it."""
    node.wait(2400, 120)
    node.log("nfs: server 192.0.2.10 not responding, still trying")
    node.put("Filesystems", "filesystems", "/home", **AWAY)
    node.put("Cpu", processes_blocked=9)
    waits(node)
    node.wait(300, 60)
    node.log(
        "INFO: task pt_main_thread:4711 blocked for more than 122 seconds.",
        "      Tainted: P           OE    -------  ---  5.14.0-503.40.1.el9_5.x86_64 #1",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        "nfs: server 192.0.2.10 not responding, still trying",
    )
    node.wait(2100, 60)
    node.log("nfs: server 192.0.2.10 OK", "nfs: server 192.0.2.10 OK")
    node.put("Filesystems", "filesystems", "/home", unreachable=False, size_bytes=10**12, **HALF)
    node.put("Cpu", processes_blocked=0)
    works(node)
    node.wait(2 * HOUR, 120)


@incident(
    "network_filesystem_stalled@*",
    may=(*WAITING, "filesystem_error", "nfs_server_stalled"),
    never=("ib_port_down", "disk_io_errors", "nfs_locks_lost", "filesystem_readonly"),
    unfit=False,
    node=batch_worker,
)
def storage_target_throws_a_worker_out(node: Story) -> None:
    """A target of Lustre is away for twelve minutes and has evicted the worker when it is back."""
    target = "work-OST0003-osc-ffff9c41b2e6a000"
    node.wait(2400, 120)
    node.log(
        "Lustre: 2914:0:(client.c:2310:ptlrpc_expire_one_request()) @@@ Request sent has timed "
        "out for slow reply: [sent 1745310211/real 1745310211]  req@00000000e1a4 x1829/t0(0) "
        f"o4->{target}@198.51.100.23@o2ib:6/4 lens 488/448 e 0 to 1 dl 1745310255 ref 2 fl "
        "Rpc:XQr/0/ffffffff rc 0/-1 job:'cp2k.psmp.4107'",
        f"Lustre: {target}: Connection to work-OST0003 (at 198.51.100.23@o2ib) was lost; in "
        "progress operations using this service will wait for recovery to complete",
    )
    node.put("Filesystems", "filesystems", "/work", **AWAY)
    node.put("Cpu", processes_blocked=64, usage_percent=46.0, used_cores=59.0)
    node.wait(720, 60)
    node.log(
        f"LustreError: 167-0: {target}: This client was evicted by work-OST0003; in progress "
        "operations using this service will fail.",
        f"Lustre: {target}: Connection restored to 198.51.100.23@o2ib (at 198.51.100.23@o2ib)",
    )
    left = 3 * 10**15
    node.put("Filesystems", "filesystems", "/work", unreachable=False, size_bytes=9 * 10**15)
    node.put("Filesystems", "filesystems", "/work", free_bytes=left, available_bytes=left)
    node.put("Cpu", processes_blocked=0, usage_percent=2.0, used_cores=2.5, load1=9.0)
    node.wait(3 * HOUR, 150)


CASES = (
    bitmaps_of_the_homes_have_wrong_sums,
    images_fill_the_disk_below_var,
    checkpoint_waits_for_a_full_filer,
    storage_target_throws_a_worker_out,
)
