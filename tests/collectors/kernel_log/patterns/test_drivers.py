"""Lines of drivers, filesystems and kernels that are less usual."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event, only_event

NODE = ("node", "")
BTRFS, XFS, EXT4 = "BTRFS warning (device sdb1): ", "XFS (sdb1): ", "EXT4-fs (sdb1): "
FILESYSTEM = ("logical_disk", "sdb1")
ENA, BNXT = "ena 0000:5c:00.0", "bnxt_en 0000:5c:00.0 eth1: "
NIC, ETH1 = ("network", "0000:5c:00.0"), ("network", "eth1")
AMD = "amdgpu 0000:c1:00.0: amdgpu: "
CP_HANGS = (
    "amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues preemption"
)
IVHD = "iommu ivhd0: AMD-Vi: Event logged "
PORT = "pcieport 0000:3a:00.0: pciehp: Slot(3): "

CASES: tuple[Case, ...] = (
    (
        "fs_error",
        FILESYSTEM,
        {},
        "BTRFS: error (device sdb1: state A) in btrfs_sync_log:3: errno=-5 IO failure",
    ),
    ("fs_readonly", FILESYSTEM, {}, "BTRFS info (device sdb1: state EA): forced readonly"),
    ("fs_error", FILESYSTEM, {}, BTRFS + "csum failed root 5 ino 257 off 0 csum 0x98 mirror 1"),
    (
        "fs_error",
        FILESYSTEM,
        {},
        BTRFS + "checksum error at logical 12 on dev /dev/sdb1, physical 12 (path: a)",
    ),
    ("fs_error", FILESYSTEM, {}, BTRFS + "lost super block write due to IO error on /dev/sdb1"),
    ("fs_error", FILESYSTEM, {}, BTRFS + "tree block 12 mirror 1 has bad csum, want 0x1 have 0x2"),
    (
        "fs_error",
        FILESYSTEM,
        {"function": "ext4_end_bio:343"},
        (
            "EXT4-fs warning (device sdb1): ext4_end_bio:343: I/O error 10 writing to inode 12 "
            "starting block 5)"
        ),
    ),
    ("fs_error", FILESYSTEM, {}, EXT4 + "error loading journal"),
    ("fs_error", FILESYSTEM, {}, EXT4 + "group descriptors corrupted!"),
    ("fs_error", FILESYSTEM, {}, XFS + "log mount/recovery failed: error -117"),
    ("fs_error", FILESYSTEM, {}, XFS + "corrupt dinode 12, (btree extents)."),
    (
        "fs_shutdown",
        ("logical_disk", "tank"),
        {},
        (
            "WARNING: MMP writes to pool 'tank' have not succeeded in over 60004 ms; suspending "
            "pool. Hrtime 1"
        ),
    ),
    ("kernel_oops", NODE, {}, "PANIC at zfs_vnops.c:123:zfs_write()"),
    (
        "kernel_oops",
        NODE,
        {},
        "PANIC: zfs: adding existent segment to range tree (offset=1 size=2)",
    ),
    ("kernel_oops", NODE, {}, "LNetError: 12:0:(lib-move.c:12:lnet_send()) LBUG"),
    ("kernel_oops", NODE, {}, "Oops: stack guard page: 0000 [#1] SMP NOPTI"),
    ("rcu_stall", NODE, {"flavour": "rcu_tasks"}, "INFO: rcu_tasks detected stalls on tasks:"),
    (
        "hung_task_owner",
        ("process", "2210"),
        {"lock": "rw-semaphore", "owner_pid": "4711"},
        (
            "INFO: task nvidia-smi:2210 <writer> blocked on an rw-semaphore likely owned by task "
            "trainer:4711 <writer>"
        ),
    ),
    (
        "cper",
        NODE,
        {"severity": "recoverable", "section": "IOCK error"},
        "NMI: IOCK error (debug interrupt?) for reason 60 on CPU 0.",
    ),
    (
        "iommu_fault",
        ("pcie", "0000:3b:00.0"),
        {"reason": "INVALID_DEVICE_REQUEST", "address": "0xfffffffdf8000000"},
        (
            IVHD + "[INVALID_DEVICE_REQUEST device=0000:3b:00.0 pasid=0x00000 "
            "address=0xfffffffdf8000000 flags=0x0a00]"
        ),
    ),
    (
        "iommu_fault",
        ("pcie", "0000:3b:00.0"),
        {"domain": "0x0012"},
        IVHD + "[IO_PAGE_FAULT device=3b:00.0 domain=0x0012 address=0xfe000000 flags=0x0020]",
    ),
    (
        "pcie_link_down",
        ("pcie", "0000:3a:00.0"),
        {"slot": "3", "state": "Cannot train link"},
        PORT + "Cannot train link: status 0x0041",
    ),
    (
        "nfs_not_responding",
        ("nfs_mount", "192.0.2.10"),
        {"state": "check lease"},
        "NFS: state manager: check lease failed on NFSv4 server 192.0.2.10 with error 110",
    ),
    (
        "nvme_timeout",
        ("physical_disk", "nvme1"),
        {"stage": "activation timeout"},
        "nvme nvme1: Fw activation timeout, reset controller",
    ),
    (
        "block_io_error",
        ("physical_disk", "dm-3"),
        {"error": "Checksum failed"},
        "device-mapper: integrity: dm-3: Checksum failed at sector 0x1234",
    ),
    (
        "block_io_error",
        ("physical_disk", "dm-0"),
        {"error": "INTEGRITY AEAD ERROR"},
        "device-mapper: crypt: dm-0: INTEGRITY AEAD ERROR, sector 12",
    ),
    (
        "ata_error",
        NODE,
        {"port": "5", "emask": "0x4"},
        "ata5.00: failed to IDENTIFY (I/O error, err_mask=0x4)",
    ),
    ("nic_firmware_error", ETH1, {}, f"{ENA} eth1: Keep alive watchdog timeout."),
    (
        "nic_tx_timeout",
        NIC,
        {"state": "lost"},
        f"{ENA}: The number of lost tx completions is above the threshold (129 > 128). Reset the",
    ),
    ("nic_firmware_error", ETH1, {}, BNXT + "Error (timeout: 500015) msg {0x41 0x3b} len:0"),
    (
        "nic_firmware_error",
        ETH1,
        {"status": "0x8000c0"},
        BNXT + "Abandoning msg {0x41 0x3b} len: 0 due to firmware status: 0x8000c0",
    ),
    ("nic_firmware_error", ETH1, {}, BNXT + "Firmware reset aborted"),
    ("nic_firmware_error", NIC, {}, "ionic 0000:5c:00.0: FW Down: Stopping LIFs"),
    ("nic_firmware_error", NIC, {}, "mlx4_core 0000:5c:00.0: Internal error detected:"),
    (
        "nic_firmware_error",
        NIC,
        {},
        "gve 0000:5c:00.0: PCI reset failed! !!! DISABLING ALL QUEUES !!!",
    ),
    ("nic_firmware_error", NIC, {}, "cxgb4 0000:5c:00.0: encountered fatal error, adapter stopped"),
    (
        "nic_firmware_error",
        NIC,
        {},
        "ena 0000:5c:00.0: Reset attempt failed. Can not reset the device",
    ),
    (
        "nic_firmware_error",
        ("network", "ens1f0"),
        {},
        (
            "ice 0000:5c:00.0 ens1f0: tx_timeout recovery unsuccessful, device is in unrecoverable "
            "state."
        ),
    ),
    (
        "nic_tx_timeout",
        ETH1,
        {"driver": "virtio_net", "queue": "0", "milliseconds": "5016"},
        ("virtio_net virtio0 eth1: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5016 ms"),
    ),
    (
        "nic_module_hot",
        ETH1,
        {"text": "Chip temperature has gone above the critical thermal threshold"},
        BNXT + "Chip temperature has gone above the critical thermal threshold!",
    ),
    (
        "nic_module_hot",
        ETH1,
        {"text": "Chip temperature has gone below the warning thermal threshold", "ended": "yes"},
        BNXT + "Chip temperature has gone below the warning thermal threshold!",
    ),
    (
        "gpu_ring_timeout",
        ("gpu", "0000:c1:00.0"),
        {"ring": "cp"},
        (CP_HANGS, AMD + "GPU reset begin!"),
    ),
    (
        "gpu_ring_timeout",
        ("gpu", "0000:8c:00.0"),
        {"pid": None},
        "xe 0000:8c:00.0: [drm] Timedout job: seqno=4294967169, guc_id=5, flags=0x0",
    ),
    (
        "gpu_reset_failed",
        ("gpu", "0000:8c:00.0"),
        {"state": "Failed to reset"},
        "i915 0000:8c:00.0: [drm] *ERROR* GT0: Failed to reset chip",
    ),
    (
        "gpu_firmware_timeout",
        ("gpu", "0000:c1:00.0"),
        {"firmware": "SMU"},
        AMD + "SMU is in hanged state, failed to send smu message!",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_less_usual_words_are_one_event(case: Case) -> None:
    """Each names what it is about."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        "BTRFS info (device sdb1): bdev /dev/sdb1 errs: wr 0, rd 0, flush 0, corrupt 12, gen 0",
        BTRFS + "excessive commit interval 600",
        EXT4 + "error count since last fsck: 4",
        XFS + "Internal error i != 1 at line 3327 of file fs/xfs/libxfs/xfs_btree.c.  Caller x",
        "Uhhuh. NMI received for unknown reason 3d on CPU 12.",
        "NMI: 1 of 2 handlers claimed it",
        PORT + "Link Down/Up ignored (recovered by DPC)",
        PORT + "No device found",
        "NFS: state manager: lease expired failed on NFSv4 server 192.0.2.10 with error 13",
        "nvme nvme1: resetting controller",
        "ata3: SATA link down (SStatus 0 SControl 300)",
        f"{ENA}: Device watchdog is Enabled",
        BNXT + "Firmware non-fatal reset event, data1: 0x2, data2: 0x0, min wait 1000 ms",
        "ionic 0000:5c:00.0: FW Up: restarting...",
        "foo virtio0 eth1: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5016 ms",
        AMD + "SMU is initialized successfully!",
        AMD + "SMU driver if version not matched",
    ],
)
def test_words_like_them_are_no_event(line: str) -> None:
    """Old counters, notices, and names of processes that look like a driver's words."""
    assert events_of(line) == ()


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("PANIC at a.c:1:[12]: segfault at 0 ip 0 sp 0 error 4", "segfault"),
        ("PANIC: zfs: add invoked oom-killer: gfp_mask=0xcc0, oom_score_adj=1", "oom_invoked"),
    ],
)
def test_a_process_named_like_a_panic_is_a_process(line: str, kind: str) -> None:
    """Fifteen bytes are too few for the words of a panic."""
    assert only_event(line).kind == kind


@pytest.mark.parametrize("words", ["came back", "reconnect success", "recovery completed"])
def test_a_server_of_ceph_that_answers_again_ends_the_stall(words: str) -> None:
    """The client says in several ways that a metadata server is back."""
    event = only_event(f"ceph: mds0 {words}")
    assert (event.kind, event.fields["ended"]) == ("ceph_not_responding", "yes")
