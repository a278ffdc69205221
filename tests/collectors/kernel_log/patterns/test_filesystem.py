"""Lines about filesystems on disks."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event, only_event

FILESYSTEM = ("logical_disk", "nvme1n1p1")

CASES: tuple[Case, ...] = (
    (
        "fs_error",
        FILESYSTEM,
        {"function": "ext4_find_entry:1663:"},
        (
            "EXT4-fs error (device nvme1n1p1): ext4_find_entry:1663: "
            "inode #2: comm trainer: reading "
            "directory lblock 0"
        ),
    ),
    (
        "fs_error",
        FILESYSTEM,
        {},
        "EXT4-fs error (device nvme1n1p1) in ext4_reserve_inode_write:5764: Journal has aborted",
    ),
    ("fs_error", FILESYSTEM, {}, "EXT4-fs (nvme1n1p1): I/O error while writing superblock"),
    ("fs_readonly", FILESYSTEM, {}, "EXT4-fs (nvme1n1p1): Remounting filesystem read-only"),
    (
        "fs_readonly",
        ("logical_disk", "dm-0"),
        {},
        "BTRFS info (device dm-0): forced readonly",
    ),
    (
        "fs_readonly",
        ("logical_disk", "dm-0"),
        {},
        "BTRFS info (device dm-0 state EA): forced readonly",
    ),
    (
        "fs_error",
        ("logical_disk", "dm-0"),
        {},
        "BTRFS: error (device dm-0) in btrfs_commit_transaction:2494: errno=-5 IO failure",
    ),
    ("fs_error", FILESYSTEM, {}, "Aborting journal on device nvme1n1p1-8."),
    (
        "fs_error",
        FILESYSTEM,
        {},
        "JBD2: Detected IO errors while flushing file data on nvme1n1p1-8",
    ),
    (
        "fs_shutdown",
        ("logical_disk", "nvme2n1"),
        {"error": "-5"},
        "XFS (nvme2n1): log I/O error -5",
    ),
    (
        "fs_mounted",
        ("logical_disk", "nvme2n1"),
        {"ended": "yes"},
        "XFS (nvme2n1): Ending clean mount",
    ),
    (
        "fs_mounted",
        ("logical_disk", "nvme2n1"),
        {"ended": "yes"},
        "XFS (nvme2n1): Ending recovery (logdev: internal)",
    ),
    (
        "fs_mounted",
        ("logical_disk", "nvme0n1p1"),
        {"ended": "yes"},
        "EXT4-fs (nvme0n1p1): mounted filesystem with ordered data mode. Quota mode: none.",
    ),
    (
        "fs_error",
        ("logical_disk", "nvme2n1"),
        {"text": "Corruption detected. Unmount and run xfs_repair"},
        "XFS (nvme2n1): Corruption detected. Unmount and run xfs_repair",
    ),
    (
        "fs_shutdown",
        ("logical_disk", "nvme2n1"),
        {},
        "XFS (nvme2n1): Filesystem has been shut down due to log error (0x2).",
    ),
    (
        "fs_shutdown",
        ("logical_disk", "nvme2n1"),
        {},
        "XFS (nvme2n1): I/O Error Detected. Shutting down filesystem",
    ),
    (
        "fs_error",
        ("logical_disk", "dm-3"),
        {},
        'XFS (dm-3): metadata I/O error in "xfs_buf_ioend" at daddr 0x10 len 8 error 5',
    ),
    (
        "fs_error",
        ("logical_disk", "nvme2n1"),
        {},
        (
            "XFS (nvme2n1): Metadata CRC error detected at xfs_agf_read_verify+0xd2/0x100 [xfs], "
            "xfs_agf block 0x1"
        ),
    ),
    (
        "fs_error",
        ("logical_disk", "dm-1"),
        {},
        "XFS (dm-1): Failing async write on buffer block 0x8f0. Retrying async write.",
    ),
    (
        "fs_error",
        FILESYSTEM,
        {"function": None},
        (
            "EXT4-fs (nvme1n1p1): Delayed block allocation failed for inode 1234 at logical offset "
            "0 with max blocks 8 with error 5"
        ),
    ),
    (
        "fs_shutdown",
        ("logical_disk", "tank"),
        {},
        "WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended.",
    ),
    (
        "fs_error",
        FILESYSTEM,
        {},
        (
            "EXT4-fs (nvme1n1p1): failed to convert unwritten extents to written extents -- "
            "potential data loss!  (inode 12, error -30)"
        ),
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_an_error_of_a_filesystem_is_one_event(case: Case) -> None:
    """Old and new wordings name the device."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "EXT4-fs (sda1): re-mounted 6f0a ro. Quota mode: none.",
        "EXT4-fs warning (device sda1): ext4_dirblock_csum_verify:405: No space for checksum",
        "XFS (nvme2n1): Mounting V5 Filesystem",
        "XFS (nvme2n1): Unmounting Filesystem",
        "BTRFS info (device dm-0): using crc32c (crc32c-intel) checksum algorithm",
    ],
)
def test_other_words_of_filesystems_are_no_event(line: str) -> None:
    """Remounting and unmounting say nothing."""
    assert events_of(line) == ()


def test_a_shutdown_said_in_three_ways_is_one_event() -> None:
    """The filesystem is shut down once."""
    event = only_event(
        "XFS (sdb1): log I/O error -5",
        "XFS (sdb1): Log I/O Error (0x2) detected at xlog_ioend_work+0x6e/0x70 [xfs] "
        "(fs/xfs/xfs_log.c:1378).  Shutting down filesystem.",
        "XFS (sdb1): Filesystem has been shut down due to log error (0x2).",
    )
    assert (event.kind, event.entity_id) == ("fs_shutdown", "sdb1")
