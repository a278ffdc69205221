"""Incidents of filesystems, of this node and of others."""

from tests.corpus.eleventh.hosts import (
    chassis_of_b200,
    chassis_of_h100,
    cluster_worker,
    disk_server,
    quad_of_a100,
)
from tests.corpus.eleventh.nodes import BROKEN_DISK, HOUR, WAITING, aborts, starts
from tests.corpus.labels import incident
from tests.corpus.ninth.nodes import laptop, waits, works
from tests.corpus.parts import filesystem
from tests.corpus.seventh.nodes import disk_shelf, guest
from tests.corpus.story import Story


@incident(
    "filesystem_readonly@*",
    root="disk_io_errors@vda|filesystem_error@*|filesystem_readonly@*",
    may=BROKEN_DISK,
    never=("filesystem_full", "nvme_controller_failed", "md_array_degraded"),
    unfit=True,
    fit_at_end=False,
    node=guest,
)
def root_of_a_guest_is_read_only(node: Story) -> None:
    """The storage of a hypervisor refuses writes for a while, and ext4 gives up the root."""
    node.wait(1200, 60)
    node.log(
        "I/O error, dev vda, sector 12716032 op 0x1:(WRITE) flags 0x3800 phys_seg 1 prio class 2",
        "Buffer I/O error on dev vda1, logical block 1589504, lost sync page write",
        "Aborting journal on device vda1-8.",
        "JBD2: I/O error when updating journal superblock for vda1-8.",
        "EXT4-fs error (device vda1): ext4_journal_check_start:83: comm rs:main Q:Reg: "
        "Detected aborted journal",
        "EXT4-fs (vda1): Remounting filesystem read-only",
    )
    node.put("Filesystems", "filesystems", "/", readonly=True)
    node.wait(4 * HOUR, 120)


@incident(
    "filesystem_readonly@*",
    root="filesystem_readonly@*|filesystem_error@*",
    may=BROKEN_DISK,
    never=("filesystem_full", "nvme_controller_failed", "disk_offline"),
    unfit=True,
    node=laptop,
)
def btrfs_of_a_laptop_refuses_to_write(node: Story) -> None:
    """A block of a tree is damaged before it is written: btrfs makes the root read-only."""
    node.wait(900, 60)
    node.log(
        "BTRFS critical (device nvme0n1p3): corrupt leaf: root=7 block=313769984 slot=16, "
        "csum end range (396081434624) goes beyond the start range (396080394240) of the next "
        "csum item",
        "BTRFS error (device nvme0n1p3): block=313769984 write time tree block corruption detected",
        "BTRFS: error (device nvme0n1p3) in btrfs_commit_transaction:2564: errno=-5 IO failure "
        "(Error while writing out transaction)",
        "BTRFS info (device nvme0n1p3 state E): forced readonly",
        "BTRFS warning (device nvme0n1p3 state E): Skipping commit of aborted transaction.",
    )
    node.put("Filesystems", "filesystems", "/", readonly=True)
    node.wait(2 * HOUR, 120)


@incident(
    "filesystem_shutdown@*",
    root="filesystem_shutdown@*|filesystem_error@*",
    may=BROKEN_DISK,
    never=("disk_offline", "storage_adapter_failed", "filesystem_full"),
    unfit=True,
    gone=("filesystem_shutdown",),
    fit_at_end=True,
    node=disk_server,
)
def directory_of_a_store_is_damaged(node: Story) -> None:
    """XFS finds damage in memory and shuts down one disk of a store; it is repaired and mounted."""
    place = ("Filesystems", "filesystems", "/srv/disk11")
    node.wait(1200, 60)
    node.log(
        "XFS (sdl): Corruption of in-memory data (0x8) detected at "
        "xfs_defer_finish_noroll+0x320/0xb90 [xfs] (fs/xfs/libxfs/xfs_defer.c:504).  "
        "Shutting down filesystem.",
        "XFS (sdl): Please unmount the filesystem and rectify the problem(s)",
    )
    node.put(*place, unreachable=True, size_bytes=None, free_bytes=None, available_bytes=None)
    node.wait(HOUR, 60)
    before = node.take_away("Filesystems", "filesystems", "/srv/disk11")
    node.log("XFS (sdl): Unmounting Filesystem")
    node.wait(2400, 60)
    node.log("XFS (sdl): Mounting V5 Filesystem", "XFS (sdl): Ending clean mount")
    whole = {"unreachable": False, "size_bytes": 18 * 10**12, "available_bytes": 6 * 10**12}
    again = {**before, **whole, "free_bytes": 6 * 10**12}
    node.put("Filesystems", "filesystems", **{"/srv/disk11": again})
    node.wait(2 * HOUR, 120)


@incident(
    "filesystem_full@*",
    may=("filesystem_files_low", "process_crashed"),
    never=("disk_io_errors", "filesystem_readonly", "filesystem_error"),
    unfit=True,
    gone=("filesystem_full",),
    fit_at_end=True,
    node=cluster_worker,
)
def logs_of_a_pod_fill_the_var_of_a_worker(node: Story) -> None:
    """A pod logs its requests without end: /var is full for an hour, then the pod is evicted."""
    node.wait(900, 60)
    for left in (300, 160, 70, 25, 9, 2):
        free = left * 10**9
        node.put("Filesystems", "filesystems", "/var", free_bytes=free, available_bytes=free)
        node.wait(420, 60)
    node.wait(HOUR, 60)
    free = 480 * 10**9
    node.put("Filesystems", "filesystems", "/var", free_bytes=free, available_bytes=free)
    node.wait(2 * HOUR, 60)


@incident(
    "nfs_server_stalled@*",
    may=(*WAITING, "network_filesystem_stalled"),
    never=("net_link_down", "disk_io_errors", "ib_port_down"),
    unfit=False,
    gone=("nfs_server_stalled", "filesystem_stuck"),
    fit_at_end=True,
    node=chassis_of_h100,
)
def filer_of_the_homes_is_rebooted_by_mistake(node: Story) -> None:
    """A filer is away for thirty-five minutes while a job saves its state; then it goes on."""
    place = ("Filesystems", "filesystems", "/home")
    node.wait(1200, 60)
    node.log(
        "nfs: server 192.0.2.10 not responding, still trying",
        "nfs: server 192.0.2.10 not responding, still trying",
    )
    node.put(*place, unreachable=True, size_bytes=None, free_bytes=None, available_bytes=None)
    node.process(4711, state="uninterruptible", wait_channel="rpc_wait_bit_killable")
    node.put("Cpu", processes_blocked=3)
    waits(node)
    node.wait(300, 30)
    node.log(
        "INFO: task python3:4711 blocked for more than 120 seconds.",
        "      Tainted: P           OE     5.15.0-122-generic #132-Ubuntu",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
    )
    node.wait(1800, 30)
    node.log("nfs: server 192.0.2.10 OK", "nfs: server 192.0.2.10 OK")
    node.put(*place, unreachable=False, size_bytes=10**12)
    node.put(*place, free_bytes=5 * 10**11, available_bytes=5 * 10**11)
    node.process(4711, state="running", wait_channel=None)
    node.put("Cpu", processes_blocked=0)
    works(node)
    node.wait(2 * HOUR, 120)


@incident(
    "network_filesystem_stalled@*",
    may=(*WAITING, "filesystem_error", "nfs_server_stalled"),
    never=("ib_port_down", "disk_io_errors", "nfs_locks_lost"),
    unfit=False,
    node=quad_of_a100,
)
def client_of_lustre_is_evicted(node: Story) -> None:
    """A target of Lustre is not reached for minutes and throws its client out; its job fails."""
    target = "work-OST0007-osc-ffff9a0c1fd21000"
    node.wait(1200, 60)
    node.log(
        "Lustre: 4410:0:(client.c:2305:ptlrpc_expire_one_request()) @@@ Request sent has timed "
        "out for slow reply: [sent 1736411203/real 1736411203]  req@00000000a1f0 "
        f"x1820/t0(0) o3->{target}@198.51.100.27@o2ib:6/4 lens 488/4536 e 0 to 1 dl 1736411299",
        f"Lustre: {target}: Connection to work-OST0007 (at 198.51.100.27@o2ib) was lost; in "
        "progress operations using this service will wait for recovery to complete",
    )
    node.process(4713, state="uninterruptible", wait_channel="cl_sync_io_wait")
    node.put("Cpu", processes_blocked=5)
    waits(node, watts=92.0)
    node.wait(900, 30)
    node.log(
        f"LustreError: 167-0: {target}: This client was evicted by work-OST0007; in progress "
        "operations using this service will fail.",
        f"Lustre: {target}: Connection restored to 198.51.100.27@o2ib (at 198.51.100.27@o2ib)",
    )
    node.put("Cpu", processes_blocked=0)
    aborts(node, watts=57.0, heat=31.0)
    node.wait(1200, 60)
    starts(node, quad_of_a100, 90_114)
    node.wait(2 * HOUR, 120)


@incident(
    "filesystem_error@*|filesystem_shutdown@*|filesystem_stuck@*|disk_io_errors@*",
    may=(*BROKEN_DISK, "disk_offline", "disk_link_errors"),
    never=("filesystem_full", "md_array_degraded", "storage_adapter_failed"),
    node=disk_shelf,
)
def two_disks_suspend_a_pool(node: Story) -> None:
    """Two disks of a pool return errors at once, and ZFS stops all work with the pool."""
    node.wait(1200, 60)
    for disk, target in (("sdg", 6), ("sdh", 7)):
        node.log(
            f"sd 7:0:{target}:0: [{disk}] tag#88 FAILED Result: hostbyte=DID_SOFT_ERROR "
            "driverbyte=DRIVER_OK cmd_age=12s",
            f"I/O error, dev {disk}, sector 7814035968 op 0x0:(READ) flags 0x700 phys_seg 2 "
            "prio class 2",
            f"zio pool=tank vdev=/dev/{disk}1 error=5 type=1 offset=4000785104896 size=8192 "
            "flags=721601",
        )
    node.log(
        "WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended."
    )
    place = ("Filesystems", "filesystems", "/tank")
    node.put(*place, unreachable=True, size_bytes=None, free_bytes=None, available_bytes=None)
    node.put("Cpu", processes_blocked=7)
    node.wait(4 * HOUR, 120)


@incident(
    "network_filesystem_stalled@*",
    may=(*WAITING, "tcp_retransmit_burst", "filesystem_error"),
    never=("net_link_down", "disk_io_errors", "nfs_server_stalled"),
    unfit=False,
    node=chassis_of_b200,
)
def monitors_of_ceph_are_lost(node: Story) -> None:
    """The monitors and a storage daemon of Ceph do not answer for twenty minutes: loaders hang."""
    datasets = filesystem("192.0.2.60:6789,192.0.2.61:6789:/", "/datasets", "ceph", files=None)
    node.put("Filesystems", "filesystems", **{"/datasets": {**datasets, "files_free": None}})
    place = ("Filesystems", "filesystems", "/datasets")
    node.wait(1200, 60)
    node.log(
        "libceph: mon1 (1)192.0.2.61:6789 session lost, hunting for new mon",
        "libceph: osd32 (1)192.0.2.89:6804 socket closed (con state OPEN)",
    )
    node.put(*place, unreachable=True, size_bytes=None, free_bytes=None, available_bytes=None)
    node.put("Cpu", processes_blocked=16)
    node.pressure("io", "some", 52.0)
    node.pressure("io", "full", 31.0)
    waits(node, watts=205.0)
    node.wait(300, 30)
    node.log(
        "libceph: mon0 (1)192.0.2.60:6789 socket closed (con state V1_BANNER)",
        "libceph: osd32 down",
        "INFO: task pt_data_worker:60113 blocked for more than 122 seconds.",
    )
    node.wait(900, 30)
    node.log(
        "libceph: mon2 (1)192.0.2.62:6789 session established",
        "libceph: osd32 up",
    )
    node.put(*place, unreachable=False, size_bytes=10**12)
    node.put(*place, free_bytes=5 * 10**11, available_bytes=5 * 10**11)
    node.put("Cpu", processes_blocked=0)
    node.pressure("io", "some", 0.5)
    node.pressure("io", "full", 0.1)
    works(node, watts=845.0, heat=58.0)
    node.wait(2 * HOUR, 120)


CASES = (
    root_of_a_guest_is_read_only,
    btrfs_of_a_laptop_refuses_to_write,
    directory_of_a_store_is_damaged,
    logs_of_a_pod_fill_the_var_of_a_worker,
    filer_of_the_homes_is_rebooted_by_mistake,
    client_of_lustre_is_evicted,
    two_disks_suspend_a_pool,
    monitors_of_ceph_are_lost,
)
