"""Lines about filesystems on disks.

Layouts are those of fs/ext4, fs/jbd2, fs/xfs and fs/btrfs from 4.15 to 6.18, and of OpenZFS 2.
"""

from exporter.collectors.kernel_log.patterns.pattern import Chosen, LinePattern, on, rx

FILESYSTEM = on("logical_disk", "device")

_DEVICE = r"(?P<device>[\w!-]{1,32})"


def _device_from_disk(fields: dict[str, str]) -> dict[str, str]:
    """Return the device under its one name, whichever form of the line said it."""
    if "disk" in fields:
        fields["device"] = fields.pop("disk")
    return fields


def _without_inode(fields: dict[str, str]) -> dict[str, str]:
    """Return the device without the inode of its journal: `nvme1n1p1-8` is `nvme1n1p1`."""
    device, dash, inode = fields["device"].rpartition("-")
    if dash and inode.isdigit():
        fields["device"] = device
    return fields


FILESYSTEMS: tuple[LinePattern, ...] = (
    LinePattern(
        "fs_error",
        "EXT4-fs",
        rx(
            rf"EXT4-fs (?:error \(device {_DEVICE}\)(?:: ?| in )(?P<function>[\w:]{{1,64}})?"
            r"|\((?P<disk>[\w!-]{1,32})\): (?:I/O error while writing superblock"
            r"|previous I/O error to superblock detected|Delayed block allocation failed for inode"
            r"|failed to convert unwritten extents|error loading journal"
            r"|group descriptors corrupted))"
        ),
        FILESYSTEM,
        refine=_device_from_disk,
        fields=("device", "function"),
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "fs_error",
        "ext4_end_bio",
        rx(
            rf"EXT4-fs warning \(device {_DEVICE}\): (?P<function>ext4_end_bio:\d{{1,5}}): "
            r"I/O error \d{1,5} writing to inode "
        ),
        FILESYSTEM,
    ),
    LinePattern(
        "fs_readonly",
        "emounting filesystem read-only",
        rx(rf"EXT[234]-fs \({_DEVICE}\): [Rr]emounting filesystem read-only"),
        FILESYSTEM,
    ),
    LinePattern(
        "fs_readonly",
        "forced readonly",
        rx(
            rf"BTRFS:? (?:info|warning|error|critical) \(device {_DEVICE}(?::? state \w{{1,8}})?\):"
            r" forced readonly"
        ),
        FILESYSTEM,
    ),
    LinePattern(
        "fs_error",
        "BTRFS",
        rx(
            rf"BTRFS(?:: | )(?:error|critical) \(device {_DEVICE}(?::? state \w{{1,8}})?\)"
            r"(?P<text>(?: in|:).{1,200})"
        ),
        FILESYSTEM,
        chosen=(Chosen.FILE,),
    ),
    LinePattern(
        "fs_error",
        "BTRFS warning",
        rx(
            rf"BTRFS warning \(device {_DEVICE}(?::? state \w{{1,8}})?\): "
            r"(?P<text>(?:csum failed root |checksum error at logical |lost (?:super block|page) "
            r"write due to IO error |tree block \d{1,20} mirror \d{1,3} has bad csum).{0,160})"
        ),
        FILESYSTEM,
        chosen=(Chosen.FILE,),
    ),
    LinePattern(
        "fs_error",
        "borting journal",
        rx(rf"Aborting journal on device {_DEVICE}\."),
        FILESYSTEM,
        refine=_without_inode,
    ),
    LinePattern(
        "fs_error",
        "JBD2: ",
        rx(
            r"JBD2: (?:Detected IO errors while flushing file data on|"
            rf"(?:I/O )?[Ee]rror .{{0,40}}?journal superblock for) {_DEVICE}"
        ),
        FILESYSTEM,
        refine=_without_inode,
    ),
    LinePattern(
        "fs_shutdown",
        "XFS (",
        rx(
            rf"XFS \({_DEVICE}\): (?:log I/O error (?P<error>-?\d+)"
            r"|(?P<text>Filesystem has been shut down due to .{1,80}"
            r"|[A-Z](?:[^\[]|\[xfs\]){0,200}[Ss]hutting down filesystem))"
        ),
        FILESYSTEM,
    ),
    LinePattern(
        "fs_shutdown",
        "WARNING: Pool '",
        rx(
            r"WARNING: Pool '(?P<device>[\w.:-]{1,64})' has encountered an uncorrectable I/O "
            r"failure and has been suspended"
        ),
        FILESYSTEM,
    ),
    # A pool that several hosts may import says it only in these words.
    LinePattern(
        "fs_shutdown",
        "WARNING: MMP writes to pool '",
        rx(
            r"WARNING: MMP writes to pool '(?P<device>[\w.:-]{1,64})' have not succeeded in over "
            r"\d{1,20} ms; suspending pool"
        ),
        FILESYSTEM,
    ),
    LinePattern(
        "fs_error",
        "XFS (",
        rx(
            rf"XFS \({_DEVICE}\): "
            r"(?P<text>(?:[Mm]etadata (?:I/O error|[Cc]orruption detected|CRC error detected)"
            r"|Failing async write|writeback error on |[Cc]orrupt dinode "
            r"|log mount(?:/recovery)? failed).{0,120})"
        ),
        FILESYSTEM,
    ),
)
