"""Lines about disks, filesystems, arrays and network filesystems.

Layouts are those of drivers/nvme/host, block/blk-core.c, fs/buffer.c, fs/ext4, fs/xfs, fs/btrfs,
drivers/md and net/sunrpc from 4.15 to 6.16.
"""

import re

from exporter.model.disk import whole_disk
from exporter.sources.kernel_log.patterns.pattern import (
    LINE_FEED,
    NODE,
    Chosen,
    Fields,
    Kind,
    Role,
    Subject,
    on,
    rx,
)

FILESYSTEM = on("logical_disk", "device")
ARRAY = on("md_array", "array")

_DEVICE = r"(?P<device>[\w!-]{1,32})"
_REMOVABLE = re.compile(r"(?:sr|fd|loop)\d")
_CONTROLLER = r"nvme (?P<device>nvme\d{1,5}): "


def _disk(fields: Fields) -> Subject:
    """The whole disk, also where the line names a partition."""
    device = fields.get("device")
    return ("physical_disk", whole_disk(device)) if device else NODE


def _server(fields: Fields) -> Subject:
    """The server of a network filesystem."""
    return ("nfs_mount", fields["server"]) if "server" in fields else NODE


def _device_from_disk(fields: dict[str, str]) -> dict[str, str]:
    """The device under its one name, whichever form of the line said it."""
    if "disk" in fields:
        fields["device"] = fields.pop("disk")
    return fields


def _removable(fields: dict[str, str]) -> dict[str, str]:
    """The device, and whether it is one that comes and goes: a CD or floppy drive, an image."""
    if _REMOVABLE.match(fields.get("device", "")):
        fields["removable"] = "yes"
    return fields


def _without_inode(fields: dict[str, str]) -> dict[str, str]:
    """The device without the inode of its journal: `nvme1n1p1-8` is `nvme1n1p1`."""
    device, dash, inode = fields["device"].rpartition("-")
    if dash and inode.isdigit():
        fields["device"] = device
    return fields


_NVME = (
    Kind(
        "nvme_timeout",
        "nvme",
        rx(
            _CONTROLLER + r"I/O (?:tag )?\d{1,6}(?: \([0-9a-f]{1,8}\))?.{0,80}? QID "
            r"(?P<queue>\d{1,6}) timeout(?:, (?P<stage>[a-z ]{1,24}))?"
        ),
        _disk,
    ),
    Kind(
        "nvme_reset_failed",
        "nvme",
        rx(
            _CONTROLLER + r"(?:controller is down; will reset: CSTS=(?P<status>0x[0-9a-f]{1,8})"
            r"|Device not ready; aborting (?:reset|initialisation)"
            r"|(?:Disabling device after reset|Removing after probe) failure(?: status)?: ?"
            r"(?P<error>-?\d{1,4}))"
        ),
        _disk,
    ),
    Kind(
        "nvme_no_path",
        "no available path",
        rx(rf"block {_DEVICE}: no available path - failing I/O"),
        _disk,
    ),
)

_BLOCK = (
    Kind(
        "block_io_error",
        " error, dev ",
        rx(
            r"(?:blk_update_request: |print_req_error: |end_request: )?"
            r"(?P<error>I/O|critical (?:medium|target|space allocation|nexus)|"
            r"(?:recoverable )?transport|timeout|protection|device (?:offline|resource)) error, "
            rf"dev {_DEVICE}, sector (?P<sector>\d{{1,20}})"
            r"(?: op 0x[0-9a-f]{1,4}:\((?P<operation>\w{1,24})\))?"
        ),
        _disk,
        refine=_removable,
    ),
    Kind(
        "block_io_error",
        "beyond end of device",
        rx(
            r"(?:(?P<name>@COMM@): )?attempt to access beyond end of device"
            rf"(?:{LINE_FEED}{_DEVICE}: rw=[^{LINE_FEED}]{{1,120}})?$"
        ),
        _disk,
        chosen=(Chosen.COMM,),
    ),
    Kind(
        "buffer_io_error",
        "Buffer I/O error",
        rx(rf"Buffer I/O error on (?:dev|device) {_DEVICE}, logical block (?P<block>\d{{1,20}})"),
        _disk,
        refine=_removable,
    ),
)

_FILESYSTEMS = (
    Kind(
        "fs_error",
        "EXT4-fs",
        rx(
            rf"EXT4-fs (?:error \(device {_DEVICE}\)(?:: ?| in )(?P<function>[\w:]{{1,64}})?"
            r"|\((?P<disk>[\w!-]{1,32})\): (?:I/O error while writing superblock"
            r"|previous I/O error to superblock detected))"
        ),
        FILESYSTEM,
        refine=_device_from_disk,
        chosen=(Chosen.COMM,),
    ),
    Kind(
        "fs_readonly",
        "emounting filesystem read-only",
        rx(rf"EXT[234]-fs \({_DEVICE}\): [Rr]emounting filesystem read-only"),
        FILESYSTEM,
    ),
    Kind(
        "fs_readonly",
        "forced readonly",
        rx(
            rf"BTRFS:? (?:info|warning|error|critical) \(device {_DEVICE}(?: state \w{{1,8}})?\):"
            r" forced readonly"
        ),
        FILESYSTEM,
    ),
    Kind(
        "fs_error",
        "BTRFS",
        rx(
            rf"BTRFS(?:: | )(?:error|critical) \(device {_DEVICE}(?: state \w{{1,8}})?\)"
            r"(?P<text>(?: in|:).{1,200})"
        ),
        FILESYSTEM,
        chosen=(Chosen.FILE,),
    ),
    Kind(
        "fs_error",
        "borting journal",
        rx(rf"Aborting journal on device {_DEVICE}\."),
        FILESYSTEM,
        refine=_without_inode,
    ),
    Kind(
        "fs_error",
        "JBD2: ",
        rx(
            r"JBD2: (?:Detected IO errors while flushing file data on|"
            rf"(?:I/O )?[Ee]rror .{{0,40}}?journal superblock for) {_DEVICE}"
        ),
        FILESYSTEM,
        refine=_without_inode,
    ),
    Kind(
        "fs_shutdown",
        "XFS (",
        rx(
            rf"XFS \({_DEVICE}\): (?:log I/O error (?P<error>-?\d+)"
            r"|(?P<text>Filesystem has been shut down due to .{1,80}"
            r"|[A-Z][^\[]{0,200}[Ss]hutting down filesystem))"
        ),
        FILESYSTEM,
    ),
    Kind(
        "fs_error",
        "XFS (",
        rx(
            rf"XFS \({_DEVICE}\): "
            r"(?P<text>[Mm]etadata (?:I/O error|[Cc]orruption detected).{0,120})"
        ),
        FILESYSTEM,
    ),
    Kind(
        "md_disk_failure",
        "Disk failure on",
        rx(
            r"md[/:]?(?:raid\d{0,2}|linear|multipath)?:?(?P<array>md[\w-]{1,30}?): Disk failure on "
            r"(?P<member>[\w!-]{1,32}),? (?:detected|disabling)"
        ),
        ARRAY,
    ),
)

_NFS = (
    Kind(
        "nfs_not_responding",
        "not responding",
        rx(
            r"nfs: server (?P<server>\S{1,255}) not responding, "
            r"(?P<state>still trying|timed out)"
        ),
        _server,
        chosen=(Chosen.SERVER,),
    ),
    Kind(
        "nfs_not_responding",
        "nfs: server",
        rx(r"nfs: server (?P<server>\S{1,255}) OK\s*$"),
        _server,
        role=Role.ENDED,
        chosen=(Chosen.SERVER,),
    ),
    Kind(
        "nfs_lock_reclaim",
        "Lock reclaim failed",
        rx(r"NFS: \w{1,40}: Lock reclaim failed"),
        lambda _fields: NODE,
    ),
)

STORAGE: tuple[Kind, ...] = (*_NVME, *_BLOCK, *_FILESYSTEMS, *_NFS)
