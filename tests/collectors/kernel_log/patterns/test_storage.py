"""Lines about disks, arrays and network filesystems."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event, only_event

DISK = ("physical_disk", "nvme1")
NAMESPACE = ("physical_disk", "nvme1n1")
SERVER = ("nfs_mount", "192.0.2.10")

CASES: tuple[Case, ...] = (
    (
        "nvme_timeout",
        DISK,
        {"queue": "1", "stage": "aborting req"},
        (
            "nvme nvme1: I/O tag 192 (80c0) opcode 0x1 (I/O Cmd) QID 1 timeout, aborting "
            "req_op:WRITE(1) size:16384"
        ),
    ),
    ("nvme_timeout", DISK, {"queue": "1"}, "nvme nvme1: I/O 192 QID 1 timeout, aborting"),
    (
        "nvme_timeout",
        DISK,
        {"stage": "reset controller"},
        "nvme nvme1: I/O tag 192 (80c0) opcode 0x1 (I/O Cmd) QID 1 timeout, reset controller",
    ),
    (
        "nvme_reset_failed",
        DISK,
        {"status": "0xffffffff"},
        "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
    ),
    ("nvme_reset_failed", DISK, {}, "nvme nvme1: Device not ready; aborting reset, CSTS=0x1"),
    (
        "nvme_reset_failed",
        DISK,
        {"error": "-19"},
        "nvme nvme1: Disabling device after reset failure: -19",
    ),
    (
        "nvme_reset_failed",
        DISK,
        {"error": "-19"},
        "nvme nvme1: Removing after probe failure status: -19",
    ),
    ("nvme_no_path", NAMESPACE, {}, "block nvme1n1: no available path - failing I/O"),
    (
        "block_io_error",
        NAMESPACE,
        {"sector": "499204104", "operation": "WRITE", "error": "I/O"},
        "I/O error, dev nvme1n1, sector 499204104 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2",
    ),
    (
        "block_io_error",
        ("physical_disk", "sdb"),
        {"operation": None},
        "blk_update_request: I/O error, dev sdb, sector 8",
    ),
    (
        "block_io_error",
        ("physical_disk", "sdb"),
        {"error": "critical medium"},
        "print_req_error: critical medium error, dev sdb, sector 8 flags 0",
    ),
    (
        "block_io_error",
        NAMESPACE,
        {"device": "nvme1n1p1", "name": "trainer"},
        (
            "trainer: attempt to access beyond end of device\n"
            "nvme1n1p1: rw=0, sector=2048, nr_sectors = 8 limit=2048"
        ),
    ),
    (
        "block_io_error",
        NAMESPACE,
        {"device": "nvme1n1p1"},
        "attempt to access beyond end of device\nnvme1n1p1: rw=0, want=2056, limit=2048",
    ),
    ("block_io_error", ("node", ""), {}, "trainer: attempt to access beyond end of device"),
    (
        "buffer_io_error",
        NAMESPACE,
        {"block": "1024", "device": "nvme1n1p1", "removable": None},
        "Buffer I/O error on dev nvme1n1p1, logical block 1024, lost async page write",
    ),
    (
        "buffer_io_error",
        ("physical_disk", "sda"),
        {"device": "sda1"},
        "Buffer I/O error on device sda1, logical block 7",
    ),
    (
        "block_io_error",
        ("physical_disk", "sr0"),
        {"removable": "yes"},
        "I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
    ),
    (
        "md_disk_failure",
        ("md_array", "md0"),
        {"member": "nvme1n1p1"},
        "md/raid0md0: Disk failure on nvme1n1p1 detected, failing array.",
    ),
    (
        "md_disk_failure",
        ("md_array", "md0"),
        {"member": "nvme1n1p1"},
        "md/raid1:md0: Disk failure on nvme1n1p1, disabling device.",
    ),
    (
        "md_disk_failure",
        ("md_array", "md127"),
        {"member": "sdc1"},
        (
            "md/raid:md127: Disk failure on sdc1, disabling device.\n"
            "md/raid:md127: Operation continuing on 2 devices."
        ),
    ),
    (
        "nfs_not_responding",
        SERVER,
        {"state": "still trying"},
        "nfs: server 192.0.2.10 not responding, still trying",
    ),
    (
        "nfs_not_responding",
        SERVER,
        {"state": "timed out"},
        "nfs: server 192.0.2.10 not responding, timed out",
    ),
    (
        "nfs_lock_reclaim",
        ("node", ""),
        {},
        "NFS: __nfs4_reclaim_open_state: Lock reclaim failed!",
    ),
    ("nvme_reset_failed", DISK, {"error": "-4"}, "nvme nvme1: Identify Controller failed (-4)"),
    (
        "nvme_pci_error",
        DISK,
        {"state": "frozen", "stage": "reset controller"},
        "nvme nvme1: frozen state error detected, reset controller",
    ),
    (
        "nvme_io_error",
        NAMESPACE,
        {"command": "Read", "lba": "1008", "sct": "0x2", "sc": "0x81"},
        "nvme1n1: Read(0x2) @ LBA 1008, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81) MORE",
    ),
    (
        "disk_offline",
        ("physical_disk", "2:0:1:0"),
        {"scsi": "2:0:1:0", "device": None},
        "sd 2:0:1:0: rejecting I/O to offline device",
    ),
    (
        "disk_offline",
        ("physical_disk", "sdb"),
        {"scsi": "2:0:1:0"},
        "sd 2:0:1:0: [sdb] Device offlined - not ready after error recovery",
    ),
    (
        "ata_error",
        ("node", ""),
        {
            "port": "3",
            "state": "frozen",
            "command": "READ FPDMA QUEUED",
            "reset": "hard",
            "emask": "0x0",
        },
        (
            "ata3.00: exception Emask 0x0 SAct 0x4 SErr 0x0 action 0x6 frozen",
            "ata3.00: failed command: READ FPDMA QUEUED",
            "ata3.00: status: { DRDY }",
            "ata3: hard resetting link",
        ),
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:18:00.0"),
        {"code": "0x10000"},
        (
            "megaraid_sas 0000:18:00.0: FW in FAULT state Fault code:0x10000 subcode:0x0 "
            "func:megasas_wait_for_outstanding_fusion"
        ),
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:18:00.0"),
        {"code": None},
        "megaraid_sas 0000:18:00.0: Found FW in FAULT state, will reset adapter scsi0",
    ),
    (
        "storage_controller_fault",
        ("node", ""),
        {"controller": "mpt3sas_cm0", "code": "0x5862"},
        "mpt3sas_cm0: fault_state(0x5862)!",
    ),
    (
        "storage_controller_fault",
        ("node", ""),
        {"text": "SAS host is non-operational"},
        "mpt3sas_cm0: SAS host is non-operational !!!!",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:18:00.0"),
        {"ended": "yes"},
        "megaraid_sas 0000:18:00.0: Reset successful for scsi0.",
    ),
    (
        "storage_controller_reset",
        ("pcie", "0000:03:00.0"),
        {},
        (
            "megaraid_sas 0000:03:00.0: pending commands remain after waiting, will reset adapter "
            "scsi0."
        ),
    ),
    (
        "storage_controller_reset",
        ("pcie", "0000:08:00.0"),
        {"text": "Controller encountered a fatal error and was reset"},
        (
            "megaraid_sas 0000:08:00.0: 9249 (2s/0x0020/CRIT) - Controller encountered a fatal "
            "error and was reset"
        ),
    ),
    (
        "raid_volume_degraded",
        ("pcie", "0000:18:00.0"),
        {"volume": "02/1", "state": "PARTIALLY DEGRADED"},
        "megaraid_sas 0000:18:00.0: 77 (boot + 5s/0x0001/CRIT) - VD 02/1 is now PARTIALLY DEGRADED",
    ),
    (
        "raid_volume_degraded",
        ("pcie", "0000:18:00.0"),
        {"ended": "yes"},
        "megaraid_sas 0000:18:00.0: 830 (777130001s/0x0001/INFO) - VD 00/0 is now OPTIMAL",
    ),
    (
        "md_member_kicked",
        ("physical_disk", "sdb"),
        {"member": "sdb1"},
        "md: kicking non-fresh sdb1 from array!",
    ),
    (
        "nvme_timeout",
        ("physical_disk", "nvme4"),
        {"queue": "3", "stage": "timeout"},
        "nvme nvme4: queue 3: timeout cid 0x6 type 4 opcode 0x1 (Write)",
    ),
    (
        "nvme_timeout",
        DISK,
        {"stage": "Failed reconnect"},
        "nvme nvme1: Failed reconnect attempt 3/60",
    ),
    ("nvme_reset_failed", DISK, {}, "nvme nvme1: IO queues lost"),
    (
        "disk_offline",
        ("physical_disk", "sdc"),
        {"scsi": "0:0:2:0"},
        "sd 0:0:2:0: [sdc] Medium access timeout failure. Offlining disk!",
    ),
    (
        "ata_error",
        ("node", ""),
        {"port": "1", "error": "-16"},
        "ata1: COMRESET failed (errno=-16)",
    ),
    ("ata_error", ("node", ""), {"state": "giving up"}, "ata1: reset failed, giving up"),
    (
        "storage_controller_fault",
        ("pcie", "0000:18:00.0"),
        {},
        "megaraid_sas 0000:18:00.0: Reset failed, killing adapter scsi0.",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:18:00.0"),
        {},
        "megaraid_sas 0000:18:00.0: FW detected to be in faultstate, restarting it...",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:23:00.0"),
        {"code": "0x14803"},
        "smartpqi 0000:23:00.0: controller is offline: status code 0x14803",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:23:00.0"),
        {"code": None},
        "smartpqi 0000:23:00.0: controller offline",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:23:00.0"),
        {"code": "0x00130000"},
        "hpsa 0000:23:00.0: Controller lockup detected: 0x00130000 after 30",
    ),
    (
        "nfs_not_responding",
        SERVER,
        {"state": "still trying"},
        "lockd: server 192.0.2.10 not responding, still trying",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_a_storage_error_is_one_event(case: Case) -> None:
    """Old and new wordings name the device, the array or the server."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "nvme0: Identify(0x6), Invalid Field in Command (sct 0x0 / sc 0x2) MORE DNR",
        "sd 2:0:1:0: [sdb] Synchronizing SCSI cache",
        "ata3: hard resetting link",
        "ata3: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        "megaraid_sas 0000:18:00.0: FW now in Ready state",
        "mpt3sas_cm0: IOC Number : 0",
        "md: kicked by nobody",
        "nvme nvme0: 63/0/0 default/read/poll queues",
        "nvme nvme0: Shutdown timeout set to 10 seconds",
        "nvme nvme0: pci function 0000:01:00.0",
        "nvme nvme0: Abort status: 0x0",
        "md/raid1:md0: active with 2 out of 2 mirrors",
        "md/raid:md127: Operation continuing on 2 devices.",
        "operation not supported error, dev loop0, sector 0 op 0x9:(WRITE_ZEROES) flags 0x800",
        "NFS: Registering the id_resolver key type",
        "nfs: Deprecated parameter 'intr'",
        "sd 0:0:0:0: [sda] Attached SCSI disk",
    ],
)
def test_other_words_of_storage_are_no_event(line: str) -> None:
    """Probing and successes say nothing."""
    assert events_of(line) == ()


def test_a_server_that_answers_again_ends_the_stall() -> None:
    """The server's "OK" is an event that ends the kind."""
    event = only_event("nfs: server 192.0.2.10 OK")
    assert (event.kind, event.fields["ended"]) == ("nfs_not_responding", "yes")
    assert (event.entity_type, event.entity_id) == SERVER


@pytest.mark.parametrize(
    ("path", "disk"),
    [("8:0", "sda"), ("8:16", "sdb"), ("65:160", "sdaa"), ("8:256", "sdiw"), ("259:3", None)],
)
def test_path_of_a_multipath_device_names_its_disk(path: str, disk: str | None) -> None:
    """Numbers of SCSI disks are those of the kernel (sd_probe); other numbers name no disk."""
    event = only_event(f"device-mapper: multipath: 253:4: Failing path {path}.")
    place = ("physical_disk", disk) if disk else ("node", "")
    assert (event.entity_type, event.entity_id) == place
