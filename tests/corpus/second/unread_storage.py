"""Incidents told by lines about storage that machines print and monitors tend not to read."""

from tests.corpus.labels import incident
from tests.corpus.machines import processors_only
from tests.corpus.parts import disk, filesystem
from tests.corpus.story import Story
from tests.corpus.words import STARVED, write_failed

ADAPTER = "storage_adapter_failed@*"
SHARE = "nfs_server_stalled@*|network_filesystem_stalled@*"


@incident(SHARE, may=STARVED)
def lustre_server_is_lost(node: Story) -> None:
    """The connection to a Lustre target is lost and not restored."""
    node.put(
        "Filesystems",
        "filesystems",
        **{"/scratch": filesystem("192.0.2.20@o2ib:/scratch", "/scratch", "lustre")},
    )
    node.wait(60)
    node.log(
        "Lustre: scratch-OST0003-osc-ffff9d1234567800: Connection to scratch-OST0003 (at "
        "192.0.2.20@o2ib) was lost; in progress operations using this service will wait for "
        "recovery to complete"
    )
    node.wait(600, 30)


@incident(SHARE, may=STARVED)
def ceph_metadata_server_hangs(node: Story) -> None:
    """A CephFS mount whose metadata server hangs."""
    node.wait(60)
    node.log("ceph: mds0 hung")
    node.wait(600, 30)


@incident(SHARE, may=STARVED)
def windows_share_does_not_respond(node: Story) -> None:
    """A CIFS server has been silent for minutes."""
    node.wait(60)
    node.log(r"CIFS: VFS: \\fs01.example has not responded in 180 seconds. Reconnecting...")
    node.wait(300, 30)


@incident(ADAPTER, may=STARVED, node=processors_only)
def raid_adapter_is_in_fault_state(node: Story) -> None:
    """The firmware of a RAID adapter faults and does not come back."""
    node.put("Disks", "disks", sda=disk("sda", transport="sas"))
    node.wait(60)
    node.log(
        "megaraid_sas 0000:18:00.0: FW in FAULT state Fault code:0x10000 subcode:0x0 "
        "func:megasas_wait_for_outstanding_fusion"
    )
    node.log("megaraid_sas 0000:18:00.0: Found FW in FAULT state, will reset adapter scsi0.")
    node.wait(300, 30)


@incident(ADAPTER, may=STARVED, node=processors_only)
def sas_adapter_reports_a_fault(node: Story) -> None:
    """mpt3sas finds its firmware in a fault state."""
    node.put("Disks", "disks", sda=disk("sda", transport="sas"))
    node.wait(60)
    node.log("mpt3sas_cm0: fault_state(0x5854)!")
    node.wait(300, 30)


@incident("disk_io_errors@*|disk_offline@*", may=STARVED, node=processors_only)
def disk_is_taken_offline(node: Story) -> None:
    """The SCSI layer gives up on a disk: every request to it is rejected."""
    node.put("Disks", "disks", sdb=disk("sdb", transport="sas"))
    node.wait(60)
    node.log("sd 0:0:2:0: Device offlined - not ready after error recovery")
    node.log(*("sd 0:0:2:0: [sdb] rejecting I/O to offline device",) * 3)
    node.wait(300, 30)


@incident("disk_link_errors@*|disk_io_errors@*", may=STARVED, node=processors_only)
def sata_link_is_reset_again_and_again(node: Story) -> None:
    """A SATA link freezes: commands fail and it is reset four times."""
    node.put("Disks", "disks", sda=disk("sda", transport="sata"))
    node.wait(60)
    for _ in range(4):
        node.log(
            "ata5.00: exception Emask 0x0 SAct 0x7f SErr 0x0 action 0x6 frozen",
            "ata5.00: failed command: READ FPDMA QUEUED",
            "ata5: hard resetting link",
            "ata5: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        )
        node.wait(60)
    node.wait(60)


@incident("nvme_controller_failed@nvme1n1|nvme_timeout@nvme1n1", may=STARVED)
def disk_is_frozen_by_the_bus(node: Story) -> None:
    """The bus reports the disk's channel as frozen, and its reset does not end well."""
    node.wait(60)
    node.log("nvme nvme1: frozen state error detected, reset controller")
    node.log("nvme nvme1: Identify Controller failed (-4)")
    node.wait(300, 30)


@incident("disk_io_errors@nvme1n1", may=(*STARVED, "nvme_media_errors"))
def medium_cannot_be_read(node: Story) -> None:
    """The status of the disk: an unrecovered read error, three times."""
    node.wait(60)
    for block in (32545872, 32545880, 32545888):
        node.log(
            f"nvme1n1: I/O Cmd(0x2) @ LBA {block}, 8 blocks, I/O Error (sct 0x2 / sc 0x81)",
            f"critical medium error, dev nvme1n1, sector {block} op 0x0:(READ) flags 0x80700",
        )
        node.wait(15)
    node.wait(120)


@incident("filesystem_error@/data")
def metadata_do_not_match_their_sum(node: Story) -> None:
    """XFS reads metadata whose checksum is wrong."""
    node.wait(60)
    node.log(
        "XFS (nvme1n1): Metadata CRC error detected at xfs_agf_read_verify+0xd6/0x100 [xfs], "
        "xfs_agf block 0x1"
    )
    node.log("XFS (nvme1n1): Unmount and run xfs_repair")
    node.wait(300, 30)


@incident("md_array_degraded@md0", unfit=True, lasts=("md_array_degraded@md0",))
def member_is_kicked_out_at_boot(node: Story) -> None:
    """A member is behind the others at assembly and is left out."""
    node.log("md: kicking non-fresh sdb1 from array!")
    md = {"device": "md0", "state": "active", "level": "raid1", "active_disks": 1}
    node.put("MdArrays", "arrays", md0={**md, "failed_disks": 0, "missing_disks": 1})
    node.wait(300, 30)


@incident("disk_io_errors@nvme0n1", "io_stall@node", may=STARVED, node=processors_only)
def disk_errors_and_everybody_waits(node: Story) -> None:
    """Errors of a disk by the dozen and a node that waits for it: told apart, led back to it."""
    node.wait(60)
    for number in range(12):
        node.log(write_failed("nvme0n1", 8 * number))
        node.wait(5, 5)
    node.pressure("io", "full", 45.0)
    node.put("Disks", "disks", "nvme0n1", io_in_flight=64)
    node.rate(1.0, "Disks", "disks", "nvme0n1", "io_time_seconds")
    node.wait(300)


CASES = (
    lustre_server_is_lost,
    ceph_metadata_server_hangs,
    windows_share_does_not_respond,
    raid_adapter_is_in_fault_state,
    sas_adapter_reports_a_fault,
    disk_is_taken_offline,
    sata_link_is_reset_again_and_again,
    disk_is_frozen_by_the_bus,
    medium_cannot_be_read,
    metadata_do_not_match_their_sum,
    member_is_kicked_out_at_boot,
    disk_errors_and_everybody_waits,
)
