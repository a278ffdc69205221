"""Lines about disks, their controllers and arrays.

Layouts are those of drivers/nvme/host, block/blk-core.c, drivers/ata, drivers/scsi, fs/buffer.c
and drivers/md from 4.15 to 6.18.
"""

import re

from exporter.collectors.disk.values import whole_disk
from exporter.collectors.kernel_log.patterns.pattern import (
    LINE_FEED,
    NODE,
    Chosen,
    Fields,
    LinePattern,
    Role,
    Subject,
    on,
    on_node,
    rx,
)

ARRAY = on("md_array", "array")

_DEVICE = r"(?P<device>[\w!-]{1,32})"
_REMOVABLE = re.compile(r"(?:sr|fd|loop)\d")
_CONTROLLER = r"nvme (?P<device>nvme\d{1,5}): "


def _disk(fields: Fields) -> Subject:
    """Return the whole disk, also where the line names a partition."""
    device = fields.get("device")
    if device:
        return ("physical_disk", whole_disk(device))
    scsi = fields.get("scsi")
    return ("physical_disk", scsi) if scsi else NODE


def _removable(fields: dict[str, str]) -> dict[str, str]:
    """Return the device, and whether it is one that comes and goes.

    A CD or floppy drive, an image.
    """
    if _REMOVABLE.match(fields.get("device", "")):
        fields["removable"] = "yes"
    return fields


def _sealed(fields: dict[str, str]) -> dict[str, str]:
    """Return device and error under one name each, whichever target of the mapper said them."""
    for name, other in (("device", "volume"), ("error", "seal")):
        if other in fields:
            fields[name] = fields.pop(other)
    return fields


_NVME = (
    LinePattern(
        "nvme_timeout",
        "nvme",
        rx(
            _CONTROLLER + r"I/O (?:tag )?\d{1,6}(?: \([0-9a-f]{1,8}\))?.{0,80}? QID "
            r"(?P<queue>\d{1,6}) timeout(?:, (?P<stage>[a-z ]{1,24}))?"
        ),
        _disk,
    ),
    LinePattern(
        "nvme_timeout",
        ": timeout ",
        rx(
            _CONTROLLER
            + r"queue (?P<queue>\d{1,6}): (?P<stage>timeout) (?:cid|request) 0x[0-9a-f]+"
        ),
        _disk,
    ),
    # One path of several may be away; a disk without any path is an event of its own.
    LinePattern(
        "nvme_timeout",
        "Failed reconnect",
        rx(_CONTROLLER + r"(?P<stage>Failed reconnect) attempt"),
        _disk,
    ),
    LinePattern(
        "nvme_reset_failed",
        "nvme",
        rx(
            _CONTROLLER + r"(?:controller is down; will reset: CSTS=(?P<status>0x[0-9a-f]{1,8})"
            r"|Device not ready; aborting (?:reset|initialisation)"
            r"|(?:Disabling device after reset|Removing after probe) failure(?: status)?: ?"
            r"(?P<error>-?\d{1,4})"
            r"|IO queues (?:lost|not created)|failed to mark controller )"
        ),
        _disk,
    ),
    LinePattern(
        "nvme_timeout",
        "persistent internal error",
        rx(_CONTROLLER + r"resetting controller due to (?P<stage>persistent internal error)"),
        _disk,
    ),
    LinePattern(
        "nvme_timeout",
        "activation timeout",
        rx(_CONTROLLER + r"[Ff]w (?P<stage>activation timeout), reset controller"),
        _disk,
    ),
    LinePattern(
        "nvme_reset_failed",
        "dentify Controller failed",
        rx(_CONTROLLER + r"[Ii]dentify Controller failed \((?P<error>-?\d{1,5})\)"),
        _disk,
    ),
    LinePattern(
        "nvme_pci_error",
        "state error detected",
        rx(
            _CONTROLLER + r"(?P<state>frozen|failure) state error detected, "
            r"(?P<stage>reset controller|request disconnect)"
        ),
        _disk,
    ),
    LinePattern(
        "nvme_io_error",
        " (sct 0x",
        rx(
            r"(?P<device>nvme\w{1,24}): (?P<command>[\w /-]{1,40})\(0x[0-9a-f]{1,4}\) "
            r"@ LBA (?P<lba>\d{1,20}), \d{1,10} blocks, (?P<status>[^(]{1,80}) "
            r"\(sct (?P<sct>0x[0-9a-f]{1,2}) / sc (?P<sc>0x[0-9a-f]{1,3})\)"
        ),
        _disk,
    ),
    LinePattern(
        "nvme_no_path",
        "no available path",
        rx(rf"block {_DEVICE}: no available path - failing I/O"),
        _disk,
    ),
)

_BLOCK = (
    LinePattern(
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
        fields=("device", "error", "sector", "operation", "block", "removable"),
    ),
    LinePattern(
        "block_io_error",
        "beyond end of device",
        rx(
            r"(?:(?P<name>@COMM@): )?attempt to access beyond end of device"
            rf"(?:{LINE_FEED}{_DEVICE}: rw=[^{LINE_FEED}]{{1,120}})?$"
        ),
        _disk,
        chosen=(Chosen.COMM,),
    ),
    LinePattern(
        "block_io_error",
        "device-mapper: ",
        rx(
            r"device-mapper: (?:integrity: (?P<device>dm-\d{1,6}): (?P<error>Checksum failed) at "
            r"sector (?P<sector>0x[0-9a-f]{1,16})|crypt: (?P<volume>dm-\d{1,6}): "
            r"(?P<seal>INTEGRITY AEAD ERROR), sector \d{1,20})"
        ),
        _disk,
        refine=_sealed,
        fields=("device", "error", "sector", "operation", "block", "removable"),
    ),
    LinePattern(
        "buffer_io_error",
        "Buffer I/O error",
        rx(rf"Buffer I/O error on (?:dev|device) {_DEVICE}, logical block (?P<block>\d{{1,20}})"),
        _disk,
        refine=_removable,
        fields=("device", "error", "sector", "operation", "block", "removable"),
    ),
)

_ATA = r"ata(?P<port>\d{1,5})(?:\.(?P<target>\d{1,2}))?: "

_DISKS = (
    LinePattern(
        "disk_offline",
        "ffl",
        rx(
            r"sd (?P<scsi>\d{1,5}(?::\d{1,20}){3}): (?:\[(?P<device>sd[a-z]{1,4})\] )?"
            r"(?P<text>rejecting I/O to offline device"
            r"|Device offlined - not ready after error recovery"
            r"|Medium access timeout failure\. Offlining disk)"
        ),
        _disk,
    ),
    LinePattern(
        "ata_error",
        "exception Emask",
        rx(
            _ATA + r"exception Emask (?P<emask>0x[0-9a-f]{1,8}) SAct 0x[0-9a-f]{1,8} "
            r"SErr (?P<serr>0x[0-9a-f]{1,8}) action (?P<action>0x[0-9a-f]{1,4})"
            r"(?: t\d)?(?: (?P<state>frozen))?"
        ),
        on_node,
        role=Role.START,
    ),
    LinePattern(
        "ata_error",
        "failed command",
        rx(_ATA + r"failed command: (?P<command>[\w /-]{1,40})"),
        on_node,
        role=Role.JOIN,
        same="port",
        once="command",
    ),
    LinePattern(
        "ata_error",
        "failed to IDENTIFY",
        rx(
            _ATA + r"failed to IDENTIFY \((?P<state>I/O error), "
            r"err_mask=(?P<emask>0x[0-9a-f]{1,8})\)"
        ),
        on_node,
    ),
    LinePattern(
        "ata_error",
        "hard resetting link",
        rx(_ATA + r"(?P<reset>hard) resetting link"),
        on_node,
        role=Role.CONTINUATION,
        same="port",
    ),
    LinePattern(
        "ata_error",
        "COMRESET failed",
        rx(_ATA + r"(?P<reset>COMRESET) failed \(errno=(?P<error>-?\d{1,4})\)"),
        on_node,
    ),
    LinePattern(
        "ata_error",
        "giving up",
        rx(_ATA + r"reset failed, (?P<state>giving up)"),
        on_node,
    ),
)

_ARRAYS = (
    LinePattern(
        "md_disk_failure",
        "Disk failure on",
        rx(
            r"md[/:]?(?:raid\d{0,2}|linear|multipath)?:?(?P<array>md[\w-]{1,30}?): Disk failure on "
            r"(?P<member>[\w!-]{1,32}),? (?:detected|disabling)"
        ),
        ARRAY,
    ),
    LinePattern(
        "md_member_kicked",
        "kicking non-fresh",
        rx(r"md: kicking non-fresh (?P<member>[\w!-]{1,32}) from array"),
        lambda fields: ("physical_disk", whole_disk(fields["member"])),
    ),
)

STORAGE: tuple[LinePattern, ...] = (*_NVME, *_BLOCK, *_DISKS, *_ARRAYS)
