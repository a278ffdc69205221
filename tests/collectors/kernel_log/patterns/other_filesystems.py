"""Further wordings of filesystems and their servers."""

from tests.collectors.kernel_log.feeding import Case

NODE = ("node", "")

CASES: tuple[Case, ...] = (
    (
        "fs_shutdown",
        ("logical_disk", "dm-0"),
        {"text": "xfs_do_force_shutdown(0x2)"},
        (
            "XFS (dm-0): xfs_do_force_shutdown(0x2) called from line 1196 of file "
            "fs/xfs/xfs_log.c. Return address = 0000000076933e51"
        ),
    ),
    (
        "fs_readonly",
        ("logical_disk", "677cf0a7-1abe-4ce3-876c-2ca63301229d"),
        {},
        (
            "bcachefs (677cf0a7-1abe-4ce3-876c-2ca63301229d): inconsistency detected - "
            "emergency read only at journal seq 2860801"
        ),
    ),
    (
        "fs_error",
        ("logical_disk", "sda1"),
        {},
        (
            "EXT4-fs (sda1): bad geometry: block count 244190646 exceeds size of device "
            "(244190390 blocks)"
        ),
    ),
    (
        "fs_error",
        ("logical_disk", "dm-1"),
        {},
        "EXT4-fs (dm-1): ext4_check_descriptors: Checksum for group 0 failed (60935!=0)",
    ),
    (
        "fs_error",
        ("logical_disk", "sdb1"),
        {"text": "writeback error on inode 4112, offset 81920"},
        "sdb1: writeback error on inode 4112, offset 81920, sector 2048",
    ),
    (
        "fs_error",
        ("logical_disk", "dm-0"),
        {"text": "page discard on page 00000000b2d6f1d8, inode 0x2d8, offset 0."},
        "XFS (dm-0): page discard on page 00000000b2d6f1d8, inode 0x2d8, offset 0.",
    ),
    (
        "fs_error",
        ("logical_disk", "md0"),
        {"text": "SB validate failed with error -117."},
        "XFS (md0): SB validate failed with error -117.",
    ),
    (
        "fs_error",
        ("logical_disk", "sdc"),
        {"text": "failed to locate log tail"},
        "XFS (sdc): failed to locate log tail",
    ),
    (
        "fs_error",
        ("logical_disk", "sdc"),
        {"text": "chunk 20971520 missing 1 devices, max tolerance is 0 for writable mount"},
        (
            "BTRFS warning (device sdc): chunk 20971520 missing 1 devices, max tolerance is "
            "0 for writable mount"
        ),
    ),
    (
        "fs_error",
        ("logical_disk", "nvme1n1"),
        {"text": "WARNING: Reset corrupted AGFL on AG 0. 4 blocks leaked."},
        "XFS (nvme1n1): WARNING: Reset corrupted AGFL on AG 0. 4 blocks leaked.",
    ),
    (
        "lustre_not_responding",
        NODE,
        {"server": "MGC172.31.84.120@tcp", "target": "scratch-client", "state": "failed"},
        (
            "LustreError: 15c-8: MGC172.31.84.120@tcp: Confguration from log scratch-client "
            "failed from MGS -5. Communication error between node & MGS, a bad "
            "configuration, or other errors. See syslog for more info"
        ),
    ),
    (
        "ceph_not_responding",
        NODE,
        {"state": "dropping dirty"},
        "ceph:  dropping dirty+flushing Fw state for ffff8802dc150518 1099935956631",
    ),
    (
        "cifs_not_responding",
        NODE,
        {"server": "192.168.0.75", "state": "failed"},
        "CIFS: VFS: \\\\192.168.0.75\\media_2 reconnect tcon failed rc = -2",
    ),
    (
        "cifs_not_responding",
        NODE,
        {"state": "failed"},
        "CIFS VFS: Error connecting to socket. Aborting operation.",
    ),
    (
        "nfs_not_responding",
        ("nfs_mount", "10.0.0.1"),
        {"server": "10.0.0.1", "state": "closed"},
        "rpcrdma: connection to 10.0.0.1:20049 closed (-110)",
    ),
    (
        "cifs_not_responding",
        NODE,
        {"server": "fs01", "state": "failed"},
        "CIFS: VFS: \\\\fs01\\data Error connecting to socket. Aborting operation.",
    ),
    (
        "fs_error",
        ("logical_disk", "dm-3"),
        {"text": "SB validate failed with error -74."},
        "XFS (dm-3): SB validate failed with error -74.",
    ),
)

QUIET = (
    "XFS (dm-0): xfs_do_force_shutdown(0x4) called from line 2 of file fs/xfs/xfs_fsops.c",
    "XFS (sda1): SB validate failed with error -22.",
    "rpcrdma: connection to 10.0.0.1:20049 closed (-103)",
    "ceph: mds0 caps renewed",
)
"""Lines beside them that say no trouble."""
