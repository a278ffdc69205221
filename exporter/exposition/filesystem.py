"""Families of filesystems."""

from exporter.exposition.rows import Row, each, families
from exporter.model.filesystem import Filesystem, Filesystems

MAX_WITH_ZEROS = 4

FAMILIES = families(
    "hw_filesystem_",
    each(
        Filesystems,
        lambda found: found.filesystems,
        Filesystem,
        *("device", "mountpoint", "fstype"),
    ),
    Row("size_bytes", "Total size of the mounted filesystem."),
    Row("free_bytes", "Free space of the filesystem, including what is reserved for root."),
    Row("available_bytes", "Space available to users other than root."),
    Row("files", "Inodes, if their number is fixed."),
    Row("files_free", "Free inodes of the filesystem, if their number is fixed."),
    Row("readonly", "Whether the filesystem is mounted read-only.", max_with_zeros=MAX_WITH_ZEROS),
    Row(
        "unreachable",
        "Whether the filesystem does not answer, for example because its NFS server is down.",
        max_with_zeros=MAX_WITH_ZEROS,
    ),
)
