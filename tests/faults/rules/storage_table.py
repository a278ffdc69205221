"""Trials of the rules about disks, arrays and filesystems."""

from tests.faults.rules.trials import Given, Goes, Rises, Row

SLOW: Given = {
    "transport": "nvme",
    "reads_completed": Rises(50),
    "writes_completed": Rises(50),
    "read_time_seconds": Rises(20),
    "write_time_seconds": Rises(20),
}
STALLED: Given = {
    "io_in_flight": 32,
    "reads_completed": Rises(0),
    "writes_completed": Rises(0),
    "io_time_seconds": Rises(1),
}
WORN: Given = {"available_spare_ratio": 1.0, "available_spare_threshold_ratio": 0.1}
HOT: Given = {"temperature_high_celsius": 80.0, "temperature_critical_celsius": 85.0}
ROOM: Given = {"size_bytes": 1e12, "readonly": False}
FILES: Given = {"files": 1_000_000, "readonly": False}

LOST = (
    "Lustre: scratch-OST0003-osc-ffff9d12: Connection to scratch-OST0003 (at 192.0.2.20@o2ib) was "
    "lost; in progress operations using this service will wait for recovery to complete"
)
RESTORED = (
    "Lustre: scratch-OST0003-osc-ffff9d12: Connection restored to 192.0.2.20@o2ib "
    "(at 192.0.2.20@o2ib)"
)
THIN = "device-mapper: thin: 253:2: switching pool to "
MEGARAID = "megaraid_sas 0000:18:00.0: "
ATA = "ata{}.00: exception Emask 0x0 SAct 0x7f SErr 0x0 action 0x6 frozen"

ABORT = "sd 0:0:5:0: attempting task abort!scmd(0x00000000c0ffee00), outstanding for 31056 ms"

ROWS = (
    Row(
        "network_filesystem_stalled",
        "node",
        holds={"kernel": LOST},
        holds_not={"kernel": RESTORED},
        clears={"kernel": RESTORED},
        summary="192.0.2.20@o2ib",
    ),
    Row(
        "thin_pool_failed",
        "node",
        holds={"kernel": THIN + "out-of-data-space (error IO) mode"},
        holds_not={"kernel": THIN + "write mode"},
        clears={"kernel": THIN + "write mode"},
        severity="critical",
        summary="253:2",
    ),
    Row(
        "storage_adapter_failed",
        "node",
        holds={"kernel": "megaraid_sas 0000:18:00.0: Found FW in FAULT state, will reset adapter"},
        holds_not={"kernel": "megaraid_sas 0000:18:00.0: FW now in Ready state"},
        clears={"kernel": "megaraid_sas 0000:18:00.0: Reset successful for scsi0."},
        severity="critical",
        summary="0000:18:00.0",
    ),
    Row(
        "storage_adapter_reset",
        "node",
        holds={"kernel": MEGARAID + "pending commands remain after waiting, will reset adapter"},
        holds_not={"kernel": MEGARAID + "Reset successful for scsi0."},
        severity="warning",
        summary="0000:18:00.0",
    ),
    Row(
        "raid_volume_degraded",
        "node",
        holds={"kernel": MEGARAID + "9 (7s/0x0001/FATAL) - VD 01/3 is now OFFLINE"},
        holds_not={"kernel": MEGARAID + "9 (7s/0x0001/INFO) - VD 01/3 is now OPTIMAL"},
        clears={"kernel": MEGARAID + "9 (7s/0x0001/INFO) - VD 01/3 is now OPTIMAL"},
        severity="critical",
        summary="01/3 is OFFLINE",
    ),
    Row(
        "disk_offline",
        "disk",
        about="sdb",
        holds={"kernel": "sd 0:0:2:0: [sdb] rejecting I/O to offline device"},
        holds_not={"kernel": "sd 0:0:2:0: [sdb] Attached SCSI disk"},
        clears={"scsi_state": "running"},
        severity="critical",
    ),
    Row(
        "disk_link_errors",
        "node",
        holds={"kernel": "\n".join(ATA.format(n) for n in (5, 6, 7))},
        holds_not={"kernel": ATA.format(5)},
        summary="ata7",
    ),
    Row(
        "disk_io_errors",
        "disk",
        about="nvme3n1",
        holds={
            "kernel": "I/O error, dev nvme3n1, sector 499204104 op 0x1:(WRITE) flags 0x0 "
            "phys_seg 1 prio class 2"
        },
        holds_not={"kernel": "I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x0"},
        severity="warning",
    ),
    Row(
        "nvme_controller_failed",
        "disk",
        about="nvme3",
        holds={"kernel": "nvme nvme3: Device not ready; aborting reset, CSTS=0x1"},
        holds_not={"nvme_state": "live"},
        clears={"nvme_state": "live"},
        severity="critical",
    ),
    Row(
        "nvme_timeout",
        "disk",
        about="nvme3",
        holds={"kernel": "nvme nvme3: I/O 312 QID 7 timeout, aborting"},
        holds_not={"nvme_state": "live"},
    ),
    Row(
        "disk_commands_abort",
        "disk",
        about="0:0:5:0",
        holds={"kernel": "\n".join([ABORT] * 3)},
        holds_not={"kernel": ABORT},
        severity="warning",
        summary="task abort",
    ),
    Row(
        "disk_left_array",
        "disk",
        about="sdb",
        holds={"kernel": "md: kicking non-fresh sdb1 from array!"},
        holds_not={"kernel": "md: kicking non-fresh sdc1 from array!"},
        severity="warning",
        summary="sdb1",
    ),
    Row(
        "storage_path_lost",
        "node",
        holds={"kernel": "device-mapper: multipath: 253:4: Failing path 8:32."},
        holds_not={"kernel": " connection1:0: detected conn error (1020)"},
        clears={"kernel": "device-mapper: multipath: 253:4: Reinstating path 8:32."},
        severity="warning",
        summary="multipath",
    ),
    Row(
        "nvme_warns",
        "disk",
        holds={"critical_warning": 4, "critical_warnings": "reliability is degraded"},
        holds_not={"critical_warning": 0},
        clears={"critical_warning": 0},
        unknown={},
        is_gated=True,
    ),
    Row(
        "nvme_wear",
        "disk",
        holds={**WORN, "percentage_used_ratio": 0.97},
        holds_not={**WORN, "percentage_used_ratio": 0.1},
        clears={"percentage_used_ratio": 0.1},
        unknown={},
        is_gated=True,
        summary="97%",
    ),
    Row(
        "nvme_media_errors",
        "disk",
        holds={"media_errors": Goes(2, 3)},
        holds_not={"media_errors": 2},
        unknown={},
        is_gated=True,
    ),
    Row(
        "nvme_overheat",
        "disk",
        holds={**HOT, "temperature_celsius": 86.0},
        holds_not={**HOT, "temperature_celsius": 60.0},
        clears={"temperature_celsius": 60.0},
        unknown={"temperature_celsius": 86.0},
        is_gated=True,
        severity="critical",
    ),
    Row(
        "disk_slow",
        "disk",
        holds=SLOW,
        holds_not={**SLOW, "read_time_seconds": Rises(0.5), "write_time_seconds": Rises(0.5)},
        clears={"read_time_seconds": Rises(0.1), "write_time_seconds": Rises(0.1)},
        unknown={},
    ),
    Row(
        "disk_stalled",
        "disk",
        holds=STALLED,
        holds_not={**STALLED, "reads_completed": Rises(1)},
        clears={"io_in_flight": 0},
        unknown={"io_in_flight": 32},
    ),
    Row(
        "io_stall",
        "node",
        holds={"pressure_io_full_avg60": 40.0},
        holds_not={"pressure_io_full_avg60": 4.0},
        clears={"pressure_io_full_avg60": 1.0},
        unknown={},
        is_gated=True,
        summary="40 %",
    ),
    Row(
        "md_array_degraded",
        "md_array",
        about="md0",
        holds={"failed_disks": 1, "missing_disks": 1},
        holds_not={"failed_disks": 0, "missing_disks": 0},
        clears={"failed_disks": 0, "missing_disks": 0},
        severity="critical",
    ),
    Row(
        "md_array_inactive",
        "md_array",
        holds={"state": "inactive"},
        holds_not={"state": "active"},
        clears={"state": "active"},
        unknown={},
    ),
    Row(
        "nfs_server_stalled",
        "nfs_mount",
        about="filer1",
        holds={"kernel": "nfs: server filer1 not responding, still trying"},
        holds_not={
            "kernel": "nfs: server filer1 not responding, still trying\nnfs: server filer1 OK"
        },
        clears={"kernel": "nfs: server filer1 OK"},
    ),
    Row(
        "nfs_locks_lost",
        "node",
        holds={"kernel": "NFS: nfs4_reclaim_open_state: Lock reclaim failed!"},
        holds_not={"kernel": "nfs: server filer1 OK"},
    ),
    Row(
        "filesystem_error",
        "filesystem",
        about="nvme1n1p1",
        holds={
            "kernel": "EXT4-fs error (device nvme1n1p1): ext4_find_entry:1663: inode #2: comm ls: "
            "reading directory lblock 0"
        },
        holds_not={"kernel": "EXT4-fs (nvme1n1p1): mounted filesystem with ordered data mode"},
    ),
    Row(
        "filesystem_readonly",
        "filesystem",
        holds={"readonly": Goes(before=False, after=True)},
        holds_not={"readonly": True},
        clears={"readonly": False},
        severity="critical",
    ),
    Row(
        "filesystem_shutdown",
        "filesystem",
        about="nvme1n1p1",
        holds={
            "kernel": "XFS (nvme1n1p1): log I/O error -5\n"
            "XFS (nvme1n1p1): Filesystem has been shut down due to log error (0x2)."
        },
        holds_not={"kernel": "XFS (nvme1n1p1): Ending clean mount"},
        severity="critical",
    ),
    Row(
        "filesystem_full",
        "filesystem",
        holds={**ROOM, "available_bytes": 3e10},
        holds_not={**ROOM, "available_bytes": 0, "readonly": True},
        clears={"available_bytes": 5e11},
        unknown={"readonly": False},
        severity="warning",
    ),
    Row(
        "filesystem_files_low",
        "filesystem",
        holds={**FILES, "files_free": 10_000},
        holds_not={**FILES, "files_free": 900_000},
        clears={"files_free": 900_000},
        unknown={"readonly": False},
        is_gated=True,
    ),
    Row(
        "filesystem_stuck",
        "filesystem",
        holds={"unreachable": True},
        holds_not={"unreachable": False},
        clears={"unreachable": False},
        unknown={},
    ),
)
