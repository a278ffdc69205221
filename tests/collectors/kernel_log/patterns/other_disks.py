"""Further wordings of the drivers of disks, their adapters and arrays."""

from tests.collectors.kernel_log.feeding import Case

NODE = ("node", "")

CASES: tuple[Case, ...] = (
    (
        "nvme_refused",
        ("physical_disk", "nvme0"),
        {},
        (
            "nvme nvme0: Duplicate cntlid 1 with nvme1, subsys "
            "nqn.2022-07.com.siliconmotion:nvm-subsystem-sn-                    , rejecting"
        ),
    ),
    (
        "nvme_reset_failed",
        ("pcie", "0000:02:00.0"),
        {"error": "-5"},
        "nvme 0000:02:00.0: probe with driver nvme failed with error -5",
    ),
    (
        "nvme_refused",
        ("physical_disk", "nvme0"),
        {},
        "nvme nvme0: globally duplicate IDs for nsid 1",
    ),
    ("nvme_refused", ("physical_disk", "nvme0"), {}, "nvme nvme0: identifiers changed for nsid 1"),
    (
        "nvme_refused",
        ("physical_disk", "nvme0"),
        {},
        "nvme nvme0: Minimum device page size 134217728 too large for host (4096)",
    ),
    (
        "nvme_reconnecting",
        ("physical_disk", "nvme0"),
        {"stage": "rdma connection establishment"},
        "nvme nvme0: rdma connection establishment failed (-104)",
    ),
    (
        "nvme_reconnecting",
        ("physical_disk", "nvme0"),
        {"stage": "starting error recovery"},
        "nvme nvme0: NVME-FC{0}: starting error recovery Connectivity Loss",
    ),
    (
        "nvme_timeout",
        ("physical_disk", "nvme0"),
        {"stage": "ANATT timeout"},
        "nvme nvme0: ANATT timeout, resetting controller.",
    ),
    (
        "nvme_reconnecting",
        ("physical_disk", "nvme0n1"),
        {"stage": "no usable path"},
        "block nvme0n1: no usable path - requeuing I/O",
    ),
    (
        "nvme_timeout",
        ("physical_disk", "nvme0"),
        {"stage": "shutdown incomplete"},
        "nvme nvme0: Device shutdown incomplete; abort shutdown",
    ),
    (
        "md_disk_failure",
        ("md_array", "md1"),
        {"member": "sde1"},
        "md/raid:md1: Too many read errors, failing device sde1.",
    ),
    (
        "md_disk_failure",
        ("md_array", "md126"),
        {"text": "cannot start dirty degraded array"},
        "md/raid:md126: cannot start dirty degraded array.",
    ),
    (
        "block_io_error",
        ("physical_disk", "sdd"),
        {"error": "IO error"},
        "bcache: bch_count_backing_io_errors() sdd: IO error on backing device, unrecoverable",
    ),
    (
        "block_io_error",
        NODE,
        {"error": "data block", "block": "1124"},
        "device-mapper: verity: 253:1: data block 1124 is corrupted",
    ),
    (
        "md_disk_failure",
        ("md_array", "md0"),
        {"member": "sde1"},
        "md/raid1:md0: sde1: Raid device exceeded read_error threshold [cur 21:max 20]",
    ),
    (
        "block_io_error",
        ("physical_disk", "sdh"),
        {"error": "read error NOT corrected!!", "sector": "88"},
        "md/raid:md5: read error NOT corrected!! (sector 88 on sdh1).",
    ),
    ("block_io_error", NODE, {"error": "Read"}, "Read-error on swap-device (8:16:2613232)"),
    (
        "md_disk_failure",
        ("md_array", "md2"),
        {"text": "active with 1 out of 2 mirrors", "active": "1"},
        "md/raid1:md2: active with 1 out of 2 mirrors",
    ),
    (
        "md_disk_failure",
        ("md_array", "md0"),
        {"text": "raid level 5 active with 3 out of 4 devices", "active": "3"},
        "md/raid:md0: raid level 5 active with 3 out of 4 devices, algorithm 2",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:01:00.7"),
        {"text": "board not ready"},
        "hpsa 0000:01:00.7: board not ready, timed out.",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:84:00.0"),
        {"text": "controller not ready after 90 seconds"},
        "smartpqi 0000:84:00.0: controller not ready after 90 seconds",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:84:00.0"),
        {"text": "reset recovery failed"},
        "smartpqi 0000:84:00.0: reset recovery failed: -110",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:23:00.0"),
        {"text": "failed to allocate PQI error buffer"},
        "smartpqi 0000:23:00.0: failed to allocate PQI error buffer",
    ),
    (
        "storage_controller_fault",
        NODE,
        {"controller": "mpt3sas_cm0", "text": "unable to map adapter memory"},
        "mpt3sas_cm0: unable to map adapter memory! or resource not found",
    ),
    (
        "raid_volume_degraded",
        ("pcie", "0000:18:00.0"),
        {"volume": "00/0", "state": "OFFLINE"},
        (
            "megaraid_sas 0000:18:00.0: 12567 (749175033s/0x0001/FATAL) - Controller cache "
            "pinned for missing or offline VD 00/0"
        ),
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:03:00.0"),
        {"text": "Failed to init firmware"},
        "megaraid_sas 0000:03:00.0: Failed to init firmware",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:42:00.2"),
        {"text": "detected PCI disconnect"},
        "qla2xxx [0000:42:00.2]-8041:22: detected PCI disconnect.",
    ),
    (
        "storage_controller_reset",
        ("pcie", "0000:05:00.0"),
        {"text": "ISP System Error"},
        "qla2xxx [0000:05:00.0]-5003:3: ISP System Error - mbx1=54h mbx2=3h mbx3=0h mbx7=0h.",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:65:00.0"),
        {"text": "Failed to init iocb list"},
        "lpfc 0000:65:00.0: 0:1413 Failed to init iocb list.",
    ),
    (
        "fc_link_down",
        NODE,
        {"state": "login"},
        (
            "lpfc 0000:65:00.1: 7:(0):2858 FLOGI failure Status:x3/x31420002 TMO:x14 Data "
            "x11140820 x0"
        ),
    ),
    (
        "nvme_reset_failed",
        ("pcie", "0000:04:00.0"),
        {"error": "-12"},
        "nvme: probe of 0000:04:00.0 failed with error -12",
    ),
    ("block_io_error", NODE, {"error": "Write"}, "Write-error on swap-device (8:16:2613240)"),
    (
        "block_io_error",
        NODE,
        {"error": "metadata block", "block": "8"},
        "device-mapper: verity: 253:1: metadata block 8 is corrupted",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:65:00.0"),
        {"text": "Failed to set up pci memory space"},
        "lpfc 0000:65:00.0: 0:1402 Failed to set up pci memory space.",
    ),
    (
        "raid_volume_degraded",
        ("pcie", "0000:18:00.0"),
        {"volume": "01/1", "state": "OFFLINE"},
        (
            "megaraid_sas 0000:18:00.0: 811 (boot + 12s/0x0001/FATAL) - Controller cache "
            "preserved for missing or offline VD 01/1"
        ),
    ),
)

QUIET = (
    "md/raid1:md2: active with 2 out of 2 mirrors",
    "md/raid:md0: raid level 5 active with 12 out of 12 devices, algorithm 2",
    "md/raid:md5: read error corrected (8 sectors at 88 on sdh1)",
    "lpfc 0000:65:00.0: 0:3176 Port Name 0 Data: x1 x0 x80 x0",
    ("megaraid_sas 0000:18:00.0: 12 (boot + 3s/0x0020/INFO) - Controller hardware revision ID 0x0"),
    "nvme nvme0: Shutdown timeout set to 10 seconds",
)
"""Lines beside them that say no trouble."""
