"""Classes whose lines were not known: other kernels, other makers of disk adapters."""

from tests.corpus.fifth.nodes import storage_server
from tests.corpus.labels import healthy, incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import Tree, filesystem
from tests.corpus.story import Story
from tests.corpus.words import STARVED

ARCHIVE = "00000000d3b1c2a4"


def _with(kind: str, device: str) -> Tree:
    node = processors_only()
    node["Filesystems"]["filesystems"]["/data"] = filesystem(device, "/data", kind)
    return node


def _btrfs() -> Tree:
    return _with("btrfs", "/dev/nvme1n1")


def _zfs() -> Tree:
    return _with("zfs", "tank")


def _xfs() -> Tree:
    return _with("xfs", "/dev/nvme1n1")


def _ext4() -> Tree:
    return _with("ext4", "/dev/nvme1n1")


@incident(
    *("filesystem_error@/data", "filesystem_readonly@/data"),
    root=("filesystem_error@/data",),
    may=STARVED,
    unfit=True,
    fit_at_end=False,
    node=_btrfs,
)
def btrfs_of_linux_5_19_aborts(node: Story) -> None:
    """Its state stands behind a colon in these kernels."""
    node.wait(60)
    node.log(
        "BTRFS: error (device nvme1n1: state A) in btrfs_finish_ordered_io:3319: errno=-117 "
        "Filesystem corrupted",
        "BTRFS info (device nvme1n1: state EA): forced readonly",
    )
    node.put("Filesystems", "filesystems", "/data", readonly=True)
    node.wait(1800, 60)


@incident("filesystem_error@/data", may=STARVED, unfit=False, fit_at_end=True, node=_btrfs)
def sum_of_a_block_is_wrong(node: Story) -> None:
    """What is read is not what was written; there is no second copy."""
    node.wait(60)
    for offset in (0, 4096):
        node.log(
            f"BTRFS warning (device nvme1n1): csum failed root 5 ino 257 off {offset} csum "
            "0x98f94189 expected csum 0x94f5e2e6 mirror 1"
        )
    node.wait(1800, 60)


@healthy(node=_btrfs)
def btrfs_says_its_old_counters(node: Story) -> None:
    """At a mount it says what was wrong long ago."""
    node.wait(60)
    node.log(
        "BTRFS info (device nvme1n1): bdev /dev/nvme1n1 errs: wr 0, rd 0, flush 0, corrupt 12, "
        "gen 0",
        "BTRFS info (device nvme1n1: state M): use zstd compression, level 3",
        "BTRFS warning (device nvme1n1): excessive commit interval 600",
    )
    node.wait(600, 60)


@incident("filesystem_error@*", may=STARVED, unfit=False, fit_at_end=True, node=_xfs)
def log_of_xfs_cannot_be_replayed(node: Story) -> None:
    """After a loss of power a volume cannot be mounted: its log is corrupt."""
    node.take_away("Filesystems", "filesystems", "/data")
    node.put("Host", uptime_secs=60.0)
    node.wait(60)
    node.log(
        "XFS (nvme1n1): Mounting V5 Filesystem",
        "XFS (nvme1n1): Starting recovery (logdev: internal)",
        "XFS (nvme1n1): log mount/recovery failed: error -117",
        "XFS (nvme1n1): log mount failed",
    )
    node.wait(1800, 60)


@incident("filesystem_error@/data", may=STARVED, unfit=False, fit_at_end=True, node=_ext4)
def data_of_a_file_is_lost(node: Story) -> None:
    """A write that ext4 had taken over fails below it, without a line of the block layer."""
    node.wait(60)
    node.log(
        "EXT4-fs warning (device nvme1n1): ext4_end_bio:343: I/O error 10 writing to inode "
        "393218 starting block 1605632)"
    )
    node.wait(1800, 60)


@healthy(node=_ext4)
def ext4_says_its_old_errors(node: Story) -> None:
    """Five minutes after a mount it says which errors it once had."""
    node.wait(300, 60)
    node.log(
        "EXT4-fs (nvme1n1): error count since last fsck: 4",
        "EXT4-fs (nvme1n1): initial error at time 1600000000: ext4_find_entry:1455",
        "EXT4-fs (nvme1n1): last error at time 1600000100: ext4_find_entry:1455",
        "EXT4-fs warning (device nvme1n1): ext4_dirblock_csum_verify:404: inode #2: comm ls: No "
        "space for directory leaf checksum. Please run e2fsck -D.",
    )
    node.wait(600, 60)


@incident("filesystem_shutdown@/data", may=STARVED, unfit=True, fit_at_end=False, node=_zfs)
def pool_loses_its_heartbeat(node: Story) -> None:
    """A pool that two hosts may import is suspended when its heartbeat cannot be written."""
    node.wait(60)
    node.log(
        "WARNING: MMP writes to pool 'tank' have not succeeded in over 60004 ms; suspending pool. "
        "Hrtime 8211334918551"
    )
    node.wait(1800, 60)


@incident("kernel_oops@node", may=STARVED, unfit=True, fit_at_end=False, node=_zfs)
def thread_of_zfs_stops(node: Story) -> None:
    """An assertion fails: the thread sleeps for ever with its locks."""
    node.wait(60)
    node.log(
        "VERIFY3(0 == dmu_buf_hold_array_by_dnode(dn, off, size, 0, FTAG, &n, &dbp, 0)) failed "
        "(0 == 5)",
        "PANIC at dmu.c:1129:dmu_write()",
    )
    node.wait(1800, 60)


@incident("kernel_oops@node", may=STARVED, unfit=True, fit_at_end=False, node=_zfs)
def pointer_of_a_pool_is_wrong(node: Story) -> None:
    """A pointer to a block makes no sense."""
    node.wait(60)
    node.log(f"PANIC: blkptr at {ARCHIVE} has invalid CHECKSUM 0")
    node.wait(1800, 60)


@healthy(node=_zfs)
def zfs_is_loaded_and_programs_say_panic(node: Story) -> None:
    """A program whose name looks like a panic crashes."""
    node.wait(60)
    node.log(
        "ZFS: Loaded module v2.2.2-1, ZFS pool version 5000, ZFS filesystem version 5",
        "PANIC at a.c:1:[4711]: segfault at 0 ip 0000000000401136 sp 00007ffc8c4d4a60 error 6 in "
        "x[401000+1000]",
        "PANIC: zfs: add invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, "
        "oom_score_adj=985",
    )
    node.wait(600, 60)


@incident("kernel_oops@node", may=STARVED, unfit=True, fit_at_end=False, node=processors_only)
def client_of_lustre_stops(node: Story) -> None:
    """An assertion of the client fails; the node is set not to panic for it."""
    node.wait(60)
    node.log(
        "LustreError: 20114:0:(osc_cache.c:1135:osc_extent_make_ready()) ASSERTION( last_oap_count "
        "> 0 ) failed: ",
        "LustreError: 20114:0:(osc_cache.c:1135:osc_extent_make_ready()) LBUG",
    )
    node.wait(1800, 60)


@incident("nfs_server_stalled@192.0.2.10", may=(*STARVED, "nfs_locks_lost"), is_over=True)
def lease_on_a_server_cannot_be_renewed(node: Story) -> None:
    """The manager of the NFSv4 state tries and fails until the server is back."""
    node.wait(60)
    for _ in range(6):
        node.log("NFS: state manager: check lease failed on NFSv4 server 192.0.2.10 with error 110")
        node.wait(30)
    node.wait(3600, 60)


@healthy("gpu_idle_allocated")
def server_wants_no_ticket_of_this_node(node: Story) -> None:
    """Kerberos is not set up, and the server says so: nothing is broken."""
    node.wait(60)
    node.log("NFS: state manager: lease expired failed on NFSv4 server 192.0.2.10 with error 13")
    node.wait(600, 60)


@incident(
    "storage_adapter_failed@node", may=STARVED, unfit=True, fit_at_end=False, node=storage_server
)
def adapter_of_a_shelf_cannot_be_reset(node: Story) -> None:
    """Its register cannot be unlocked: the reset fails."""
    node.wait(60)
    node.log(
        "mpt3sas_cm0: sending diag reset !!",
        "mpt3sas_cm0: Invalid host diagnostic register value",
        "mpt3sas_cm0: diag reset: FAILED",
    )
    node.wait(1800, 60)


@incident(
    "storage_adapter_failed@node",
    may=(*STARVED, "storage_adapter_reset"),
    unfit=True,
    gone=("storage_adapter_failed",),
    fit_at_end=True,
    node=storage_server,
)
def adapter_of_the_next_generation_faults(node: Story) -> None:
    """The firmware of a 9600 faults and is reset."""
    node.wait(60)
    node.log(
        "mpi3mr0: fault code(0x0000F002): Additional code: (0x00000000:0x00000000:0x00000000)",
        "mpi3mr0: fault_type: firmware fault, resetting the controller",
    )
    node.wait(45)
    node.log("mpi3mr0: controller reset is successful")
    node.wait(3600, 60)


@incident(
    "storage_adapter_reset@node", may=STARVED, unfit=False, fit_at_end=True, node=storage_server
)
def adaptec_hangs_and_is_reset(node: Story) -> None:
    """Commands stay unanswered; the driver resets the adapter, and it works again."""
    node.wait(60)
    node.log(
        "aacraid: Host adapter abort request.\naacraid: Outstanding commands on (0,1,41,0):",
        "aacraid: Host bus reset request. SCSI hang ?",
        "aacraid 0000:84:00.0: outstanding cmd: midlevel-0",
        "aacraid 0000:84:00.0: outstanding cmd: lowlevel-0",
        "aacraid 0000:84:00.0: Controller reset type is 3",
        "aacraid 0000:84:00.0: Issuing IOP reset",
    )
    node.wait(60)
    node.log("aacraid 0000:84:00.0: IOP reset succeeded")
    node.wait(2 * 3600, 120)


@healthy(node=storage_server)
def adapters_report_their_routine(node: Story) -> None:
    """What adapters say when their drivers are loaded, and when a disk is slow."""
    node.wait(60)
    node.log(
        "mpt3sas_cm0: sending diag reset !!",
        "mpt3sas_cm0: diag reset: SUCCESS",
        "mpt3sas_cm0: log_info(0x31110e03): originator(PL), code(0x11), sub_code(0x0e03)",
        "mpi3mr0: controller is in ready state during initial reset",
        "aacraid 0000:84:00.0: 64 Bit DAC enabled",
        "ata3: SATA link down (SStatus 0 SControl 300)",
        "nvme nvme1: missing or invalid SUBNQN field.",
        "nvme nvme1: using unchecked data buffer",
        "nvme nvme1: resetting controller",
    )
    node.wait(1800, 60)


@incident("disk_link_errors@node", may=STARVED, unfit=False, gone=("disk_link_errors",))
def disk_does_not_tell_its_name(node: Story) -> None:
    """At a boot a SATA disk answers no IDENTIFY; the port is tried at lower speeds."""
    node.put("Host", uptime_secs=20.0)
    for timeout in (5000, 10000, 30000):
        node.log(
            f"ata5.00: qc timeout after {timeout} msecs (cmd 0xec)",
            "ata5.00: failed to IDENTIFY (I/O error, err_mask=0x4)",
        )
        node.wait(30)
    node.wait(3600, 60)


@incident("nvme_timeout@nvme1n1", may=STARVED, unfit=False, node=processors_only)
def disk_reports_an_error_of_its_own(node: Story) -> None:
    """The controller asks to be reset for an internal error, and works again."""
    node.wait(60)
    node.log("nvme nvme1: resetting controller due to persistent internal error")
    node.wait(7200, 60)


CASES = (
    btrfs_of_linux_5_19_aborts,
    sum_of_a_block_is_wrong,
    btrfs_says_its_old_counters,
    log_of_xfs_cannot_be_replayed,
    data_of_a_file_is_lost,
    ext4_says_its_old_errors,
    pool_loses_its_heartbeat,
    thread_of_zfs_stops,
    pointer_of_a_pool_is_wrong,
    zfs_is_loaded_and_programs_say_panic,
    client_of_lustre_stops,
    lease_on_a_server_cannot_be_renewed,
    server_wants_no_ticket_of_this_node,
    adapter_of_a_shelf_cannot_be_reset,
    adapter_of_the_next_generation_faults,
    adaptec_hangs_and_is_reset,
    adapters_report_their_routine,
    disk_does_not_tell_its_name,
    disk_reports_an_error_of_its_own,
)
