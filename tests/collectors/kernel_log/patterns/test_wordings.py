"""Wordings of other drivers, and of other versions, for what a kind of event already names."""

import pytest

from tests.collectors.kernel_log.feeding import Case, events_of, expect_one_event

NODE = ("node", "")
AMD, AMDGPU = ("gpu", "0000:c5:00.0"), "amdgpu 0000:c5:00.0: amdgpu: "
INTEL, I915, XE = ("gpu", "0000:33:00.0"), "i915 0000:33:00.0: ", "xe 0000:33:00.0: [drm] "
GAUDI, HABANA = ("gpu", "0000:21:00.0"), "habanalabs 0000:21:00.0: "
NIC, ETH1 = ("network", "0000:5c:00.0"), ("network", "eth1")
ENA, EFA = "ena 0000:5c:00.0 eth1: ", "efa 0000:a0:1a.0 rdmap160s26: "
DISK, POOL = ("physical_disk", "0:1:43:0"), ("logical_disk", "tank")
PTLRPC = "Lustre: 3315:0:(client.c:2116:ptlrpc_expire_one_request()) @@@ Request sent has "
LND = "LNet: 2431:0:(o2iblnd_cb.c:3174:kiblnd_check_conns()) "

CASES: tuple[Case, ...] = (
    (
        "gpu_init_failed",
        ("gpu", "0000:a1:00.0"),
        {"index": "6", "init_code": "0x62", "minor": "7", "text": "Cannot initialize GSP firmware"},
        (
            "NVRM: GPU6 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting",
            "NVRM: GPU6 RmInitAdapter: Cannot initialize GSP firmware RM",
            "NVRM: GPU 0000:a1:00.0: RmInitAdapter failed! (0x62:0x40:2168)",
            "NVRM: GPU 0000:a1:00.0: rm_init_adapter failed, device minor number 7",
        ),
    ),
    (
        "gpu_init_failed",
        NODE,
        {"text": "failed to wait for GFW_BOOT"},
        "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)",
    ),
    (
        "gpu_gsp_silent",
        NODE,
        {"index": "0", "text": "Heartbeat timed out"},
        "NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 1 heartbeat 0",
    ),
    (
        "gpu_gsp_silent",
        NODE,
        {"text": "GSP-CrashCat Report"},
        f"NVRM: kgspHealthCheck_TU102: {'*' * 33} GSP-CrashCat Report {'*' * 31}",
    ),
    (
        "gpu_locked",
        NODE,
        {"index": "0"},
        "nvidia-modeset: ERROR: GPU:0: Error while waiting for GPU progress: 0x0000ca7e:6 2:0:48:4",
    ),
    (
        "gpu_locked",
        NODE,
        {"index": "3"},
        (
            "nvidia-modeset: ERROR: GPU:3: Failed to query display engine channel state: "
            "0x0000c67e:6:0:0x0000000f"
        ),
    ),
    (
        "gpu_probe_failed",
        NODE,
        {},
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
    ),
    ("gpu_ring_timeout", AMD, {"ring": "fence"}, AMDGPU + "qcm fence wait loop timeout expired"),
    ("gpu_ring_timeout", AMD, {"ring": "kiq"}, AMDGPU + "timeout waiting for kiq fence"),
    (
        "gpu_ring_timeout",
        AMD,
        {"ring": "kiq_2.1.0"},
        (
            "amdgpu 0000:c5:00.0: [drm:amdgpu_ring_test_helper [amdgpu]] *ERROR* ring kiq_2.1.0 "
            "test failed (-110)"
        ),
    ),
    (
        "gpu_firmware_timeout",
        AMD,
        {"firmware": "MES"},
        AMDGPU + "MES might be in unrecoverable state, issue a GPU reset",
    ),
    (
        "gpu_firmware_timeout",
        NODE,
        {"firmware": "MES"},
        "amdgpu: failed to add hardware queue to MES, doorbell=0x1a02",
    ),
    ("gpu_ring_timeout", AMD, {"ring": "queues"}, AMDGPU + "Failed to evict process queues"),
    ("gpu_init_failed", NODE, {}, "amdgpu: get invalid ip discovery binary signature"),
    ("gpu_init_failed", AMD, {}, AMDGPU + "hw_init of IP block <psp> failed -62"),
    (
        "gpu_ring_timeout",
        INTEL,
        {"ring": "rcs0"},
        I915 + "[drm] *ERROR* GT0: GUC: Engine reset request failed on 0:0 (rcs0) because 0x0",
    ),
    ("gpu_ring_timeout", INTEL, {"ring": "12:0"}, I915 + "GPU HANG: ecode 12:0:00000000"),
    (
        "gpu_ring_timeout",
        INTEL,
        {"ring": "rcs0"},
        I915 + "[drm] *ERROR* GT0 [ENGINE OTHER] rcs0 reset request timed out: {request: 00000001}",
    ),
    ("gpu_init_failed", INTEL, {}, I915 + "[drm] *ERROR* GT0: GuC initialization failed -5"),
    ("gpu_init_failed", INTEL, {}, XE + "*ERROR* GT0: GuC load failed: status = 0x400000A0"),
    (
        "gpu_init_failed",
        INTEL,
        {},
        I915 + "[drm] *ERROR* Failed to initialize GPU, declaring it wedged!",
    ),
    (
        "gpu_firmware_timeout",
        INTEL,
        {"firmware": "GuC"},
        I915 + "[drm] *ERROR* GT0: GUC: CT: No response for request 0x5506 (fence 42)",
    ),
    (
        "gpu_firmware_timeout",
        INTEL,
        {"firmware": "GuC"},
        XE + "*ERROR* GT0: Timed out wait for G2H, fence 8, action 3003",
    ),
    ("gpu_page_fault", INTEL, {}, XE + "Tile0: GT0: Fault response: Unsuccessful -EINVAL"),
    (
        "gpu_firmware_timeout",
        GAUDI,
        {"firmware": "heartbeat"},
        HABANA + "Device heartbeat failed! PCI link is broken",
    ),
    (
        "gpu_reset_failed",
        GAUDI,
        {"state": "Consecutive fatal errors"},
        "accel accel0: 0000:21:00.0 Consecutive fatal errors, stopping hard reset",
    ),
    ("gpu_reset_failed", GAUDI, {}, HABANA + "failed to initialize the H/W after reset"),
    (
        "gpu_init_failed",
        GAUDI,
        {},
        HABANA + "Failed to initialize accel0. Device 0000:21:00.0 is NOT usable!",
    ),
    (
        "mlx5_fatal",
        NIC,
        {"command": "CREATE_DCT"},
        (
            "mlx5_core 0000:5c:00.0: wait_func_handle_exec_timeout:1104:(pid 1): cmd[22]: "
            "CREATE_DCT(0x710) No done completion"
        ),
    ),
    (
        "nic_tx_timeout",
        ETH1,
        {"driver": "bnxt_en", "state": "detected"},
        "bnxt_en 0000:5c:00.0 eth1: TX timeout detected, starting reset task!",
    ),
    (
        "nic_tx_timeout",
        ("network", "ib0"),
        {"milliseconds": "20428"},
        "ib0: transmit timeout: latency 20428 msecs",
    ),
    (
        "nic_tx_timeout",
        ETH1,
        {"queue": "4", "state": "late"},
        ENA + "Found a Tx that wasn't completed on time, qid 4, index 787.",
    ),
    (
        "nic_firmware_error",
        ETH1,
        {"driver": "ena"},
        ENA + "The ena device didn't send a completion for the admin cmd 11 status 0",
    ),
    ("nic_firmware_error", NIC, {}, "mlx4_core 0000:5c:00.0: command 0x23 timed out (go bit"),
    ("nic_firmware_error", NIC, {}, "i40e 0000:5c:00.0: PF reset failed, -15"),
    (
        "nic_firmware_error",
        NIC,
        {"driver": "cxgb4"},
        "cxgb4 0000:5c:00.0: Firmware reports adapter error: Adapter Firmware Exception",
    ),
    (
        "nic_firmware_error",
        NIC,
        {"driver": "be2net"},
        "be2net 0000:5c:00.0: Unrecoverable Error detected in the adapter",
    ),
    ("nic_tx_timeout", ETH1, {"driver": "qede"}, "qede 0000:5c:00.0 eth1: Tx timeout!"),
    ("nic_hang", ETH1, {"unit": "tx"}, "vmxnet3 0000:5c:00.0 eth1: tx hang"),
    (
        "nic_reset",
        ETH1,
        {"text": "DMA Status error.  Resetting"},
        "tg3 0000:5c:00.0 eth1: DMA Status error.  Resetting chip.",
    ),
    (
        "uvm_fatal_error",
        NODE,
        {"status": "0x60"},
        "nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot",
    ),
    (
        "storage_controller_fault",
        NODE,
        {"controller": "arcmsr0", "ended": None},
        "arcmsr0: scsi bus reset eh returns with fail",
    ),
    (
        "storage_controller_fault",
        NODE,
        {"ended": "yes"},
        "arcmsr: scsi  bus reset eh returns with success",
    ),
    (
        "storage_controller_fault",
        ("pcie", "0000:03:00.0"),
        {"code": "0xffff0000"},
        "hpsa 0000:03:00.0: controller lockup detected: 0xffff0000 after 30",
    ),
    ("fs_readonly", NODE, {}, "OCFS2: File system is now read-only."),
    (
        "fs_readonly",
        ("logical_disk", "sdb1"),
        {},
        "FAT-fs (sdb1): Filesystem has been set read-only",
    ),
    (
        "fs_shutdown",
        ("logical_disk", "cl:vol.0"),
        {},
        "gfs2: fsid=cl:vol.0: about to withdraw this file system",
    ),
    (
        "block_io_error",
        ("physical_disk", "nbd0"),
        {"error": "Connection timed out"},
        "block nbd0: Connection timed out",
    ),
    ("nic_reset", ETH1, {"text": "Trigger reset"}, ENA + "Trigger reset is on"),
    (
        "nic_reset",
        ETH1,
        {"text": "Fatal firmware reset event"},
        "bnxt_en 0000:5c:00.0 eth1: Fatal firmware reset event, data1: 0x1, data2: 0x20009021",
    ),
    (
        "nic_reset",
        NIC,
        {"text": "tx_timeout"},
        "i40e 0000:5c:00.0: eth9: tx_timeout recovery level 1",
    ),
    (
        "nic_reset",
        ETH1,
        {"text": "initiating reset due to tx timeout"},
        "ixgbe 0000:5c:00.0 eth1: initiating reset due to tx timeout",
    ),
    (
        "rdma_command_failed",
        NODE,
        {"adapter": "rdmap160s26", "command": "DEREG_MR"},
        EFA + "Failed to process command DEREG_MR (opcode 8) comp_status 7 err -22",
    ),
    (
        "rdma_command_failed",
        NODE,
        {"adapter": "efa_0", "command": "completion"},
        "infiniband efa_0: Wait for completion (polling) timeout",
    ),
    (
        "rdma_command_failed",
        NODE,
        {"adapter": "efa_0", "command": "CREATE_QP"},
        (
            "infiniband efa_0: The device didn't send any completion for admin cmd CREATE_QP(6) "
            "status 0"
        ),
    ),
    (
        "iommu_fault",
        ("pcie", "0000:0b:00.0"),
        {"reason": "IOTLB_INV_TIMEOUT"},
        "iommu ivhd0: AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=0b:00.0 address=0x38edc0970]",
    ),
    ("iommu_fault", NODE, {}, "AMD-Vi: Completion-Wait loop timed out"),
    ("iommu_fault", NODE, {}, "DMAR: VT-d detected Invalidation Time-out Error: SID 0"),
    ("iommu_fault", NODE, {}, "arm-smmu-v3 arm-smmu-v3.0.auto: CMD_SYNC timeout at 0x01"),
    (
        "rcu_stall",
        NODE,
        {"flavour": "rcu_sched"},
        "rcu: rcu_sched kthread starved for 1519 jiffies! g-1055 f0x0 RCU_GP_WAIT_FQS(5)",
    ),
    (
        "rcu_stall",
        NODE,
        {"flavour": "rcu_sched_state"},
        "INFO: rcu_sched_state detected stall on CPU 0 (t=105060 jiffies)",
    ),
    (
        "clocksource_unstable",
        NODE,
        {"clocksource": "tsc"},
        "tsc: Marking TSC unstable due to clocksource watchdog",
    ),
    (
        "cpu_thermal",
        NODE,
        {"level": "critical"},
        "thermal thermal_zone0: critical temperature reached, shutting down",
    ),
    (
        "md_disk_failure",
        ("md_array", "md2"),
        {"member": None},
        "md/raid:md2: Cannot continue operation (2/4 failed).",
    ),
    (
        "block_io_error",
        ("physical_disk", "sdb"),
        {"error": "read error not correctable"},
        "md/raid:md2: read error not correctable (sector 2208 on sdb6).",
    ),
    (
        "block_io_error",
        ("physical_disk", "sdb"),
        {"error": "unrecoverable I/O"},
        "md/raid1:md0: sdb1: unrecoverable I/O read error for block 12345",
    ),
    ("ata_error", NODE, {"state": "disable"}, "ata1.00: disabled"),
    ("ata_error", NODE, {"port": "5"}, "ata5: limiting SATA link speed to 1.5 Gbps"),
    ("ata_error", NODE, {}, "ata5.00: qc timeout after 5000 msecs (cmd 0xec)"),
    ("ata_error", NODE, {}, "ata5.00: NCQ disabled due to excessive errors"),
    ("ata_error", NODE, {"error": "-5"}, "ata5.00: revalidation failed (errno=-5)"),
    (
        "nvme_io_error",
        ("physical_disk", "nvme0"),
        {"sct": "0x3"},
        "nvme0: Admin Cmd(0x6), I/O Error (sct 0x3 / sc 0x71) ",
    ),
    (
        "nvme_reconnecting",
        ("physical_disk", "nvme1"),
        {},
        "nvme nvme1: Connect rejected: status 8 (invalid service ID).",
    ),
    (
        "nvme_reconnecting",
        ("physical_disk", "nvme1"),
        {},
        "nvme nvme1: rdma_resolve_addr wait failed (-104).",
    ),
    (
        "storage_controller_fault",
        NODE,
        {"controller": "mpt2sas0"},
        "mpt2sas0: fault_state(0x5841)!",
    ),
    (
        "storage_controller_reset",
        ("pcie", "0000:18:00.0"),
        {},
        "megaraid_sas 0000:18:00.0: resetting fusion adapter scsi0.",
    ),
    (
        "scsi_task_abort",
        NODE,
        {"controller": "aacraid", "action": "abort"},
        ("aacraid: Host adapter abort request.\naacraid: Outstanding commands on (0,1,43,0):"),
    ),
    (
        "scsi_task_abort",
        DISK,
        {"action": "resetting"},
        "hpsa 0000:03:00.0: scsi 0:1:43:0: resetting logical  Direct-Access     HP       LOGICAL",
    ),
    ("scsi_task_abort", DISK, {}, "smartpqi 0000:65:00.0: resetting scsi 0:1:43:0"),
    (
        "scsi_task_abort",
        DISK,
        {"action": "timing out command"},
        "sd 0:1:43:0: timing out command, waited 180s",
    ),
    (
        "scsi_task_abort",
        NODE,
        {"controller": "qla2xxx", "nexus": "15:0:0", "action": "command"},
        "qla2xxx [0000:81:00.0]-801c:15: Abort command issued nexus=15:0:0 -- 2003.",
    ),
    (
        "scsi_task_abort",
        NODE,
        {"action": "DEVICE RESET"},
        "qla2xxx [0000:81:00.0]-8009:15: DEVICE RESET ISSUED nexus=15:0:0 cmd=0000000018211d65.",
    ),
    (
        "fc_link_down",
        NODE,
        {"rport": "15:0-18", "state": "port"},
        " rport-15:0-18: blocked FC remote port time out: removing target and saving binding",
    ),
    (
        "fc_link_down",
        NODE,
        {"state": "port"},
        (
            "lpfc 0000:33:00.0: 0:(0):0203 Devloss timeout on WWPN 50:06:01:60:3e:a0:5c:11 NPort "
            "x010200 Data: x0 x7 x0"
        ),
    ),
    (
        "thin_pool_failed",
        NODE,
        {"device": "253:2", "state": "out-of-data-space", "ended": None},
        "device-mapper: thin: 253:2: switching pool to out-of-data-space (error IO) mode",
    ),
    (
        "thin_pool_failed",
        NODE,
        {"device": "253:2", "ended": "yes"},
        "device-mapper: thin: 253:2: switching pool to write mode",
    ),
    (
        "fs_error",
        POOL,
        {"text": "/dev/disk/by-id/wwn-0x50-part1 error=5"},
        "zio pool=tank vdev=/dev/disk/by-id/wwn-0x50-part1 error=5 type=2 offset=5111394304",
    ),
    ("fs_error", NODE, {}, "SQUASHFS error: Failed to read block 0x4deef6e60: -5"),
    (
        "fs_error",
        ("logical_disk", "nvme0n1p3"),
        {},
        "F2FS-fs (nvme0n1p3): Stopped filesystem due to reason: 3",
    ),
    (
        "fs_error",
        ("logical_disk", "dm-2"),
        {},
        "XFS (dm-2): Corruption warning: Metadata has LSN (1:2736) ahead of current LSN (1:120).",
    ),
    (
        "fs_error",
        ("logical_disk", "sdb1"),
        {},
        "EXT4-fs (sdb1): warning: mounting fs with errors, running e2fsck is recommended",
    ),
    (
        "lustre_not_responding",
        NODE,
        {"state": "timed out", "target": "lfs-MDT0000-mdc-01", "server": "10.0.47.232@tcp"},
        PTLRPC + "timed out for slow reply: [sent 1619790610/real 1619790610]  req@0000 x1/t0(0) "
        "o38->lfs-MDT0000-mdc-01@10.0.47.232@tcp:12/10 lens 520/544 e 0 to 1",
    ),
    (
        "lustre_not_responding",
        NODE,
        {"state": "failed", "server": "172.31.126.88@o2ib"},
        (
            "LustreError: 11-0: lfs-MDT0000-mdc-ffff8820: operation obd_ping to node "
            "172.31.126.88@o2ib failed: rc = -107"
        ),
    ),
    (
        "lustre_not_responding",
        NODE,
        {"state": "Timed out", "server": "172.31.126.87@o2ib"},
        LND + "Timed out tx for 172.31.126.87@o2ib: 403055 seconds",
    ),
    (
        "lustre_not_responding",
        NODE,
        {"target": "MGS", "state": "was lost"},
        (
            "LustreError: 166-1: MGC10.0.0.1@o2ib: Connection to MGS (at 10.0.0.1@o2ib) was lost; "
            "in progress operations using this service will fail"
        ),
    ),
    (
        "ceph_not_responding",
        NODE,
        {"daemon": "mon2", "state": "connect error"},
        "libceph: mon2 (1)172.31.52.146:6789 connect error",
    ),
    (
        "ceph_not_responding",
        NODE,
        {"state": "socket closed (con state V1_BANNER)"},
        "libceph: osd2 (1)10.0.0.249:6801 socket closed (con state V1_BANNER)",
    ),
    (
        "ceph_not_responding",
        NODE,
        {"daemon": "mds0", "state": "closed our session"},
        "ceph: mds0 closed our session",
    ),
    (
        "ceph_not_responding",
        NODE,
        {"daemon": "mds"},
        "ceph: No mds server is up or the cluster is laggy",
    ),
    ("ceph_not_responding", NODE, {"daemon": "rbd0"}, "rbd: rbd0: encountered watch error: -107"),
    (
        "cifs_not_responding",
        NODE,
        {"server": None},
        "CIFS VFS: cifs_mount failed w/return code = -115",
    ),
    (
        "cifs_not_responding",
        NODE,
        {"server": "fs01"},
        r"CIFS: VFS: \\fs01 Error -32 sending data on socket to server",
    ),
)


@pytest.mark.parametrize("case", CASES)
def test_another_wording_is_the_same_kind_of_event(case: Case) -> None:
    """It names the component and the fields that rules and sentences use."""
    expect_one_event(*case)


@pytest.mark.parametrize(
    "line",
    [
        (
            "nvidia-modeset: ERROR: GPU:0: Failed to query display engine channel state: "
            "0x0000c67e:6:0:0x00000056"
        ),
        "i915 0000:00:02.0: GPU HANG: ecode 12:0:00000000",
        I915 + "[drm] GT0: GuC firmware i915/dg2_guc_70.bin version 70.20.0",
        HABANA + "Going to reset device",
        HABANA + "Successfully finished resetting the 0000:21:00.0 device",
        "infiniband efa_0: CREATE_QP completion",
        "critical target error, dev sda, sector 0 op 0x3:(DISCARD) flags 0x4000 phys_seg 1",
        "md/raid1:md0: Operation continuing on 1 devices.",
        "nvme0: Identify(0x6), Invalid Field in Command (sct 0x0 / sc 0x2) MORE DNR",
        "ata1.00: disabling queued TRIM support",
        "megaraid_sas: no pending cmds after reset",
        "device-mapper: thin: 253:4: reached low water mark for data device: sending event.",
        "libceph: osd2 (1)10.0.0.249:6801 socket closed (con state OPEN)",
        "CIFS: VFS: cifs_mount failed w/return code = -13",
        "Lustre: 2449:0:(client.c:2141:ptlrpc_expire_one_request()) Skipped 24 previous similar",
        "thermal thermal_zone0: trip point 3 passed",
    ],
)
def test_words_beside_them_are_no_event(line: str) -> None:
    """What a user, a card without a fault, or an idle connection makes a driver say."""
    assert events_of(line) == ()
