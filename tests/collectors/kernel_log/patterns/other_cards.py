"""Further wordings of the drivers of GPUs and of networks."""

from tests.collectors.kernel_log.feeding import Case

NODE = ("node", "")

CASES: tuple[Case, ...] = (
    (
        "gpu_init_failed",
        NODE,
        {"text": "Max GSP-RM boot attempts exceeded"},
        "NVRM: kgspInitRm_IMPL: Max GSP-RM boot attempts exceeded: 4/4",
    ),
    (
        "gpu_locked",
        NODE,
        {"index": "1", "text": "Memory Subsystem Error detected"},
        (
            "NVRM: GPU1 kgmmuCheckMemSubsysError_IMPL: Memory Subsystem Error detected. "
            "kbusSendSysmembarSingle failed."
        ),
    ),
    (
        "gpu_init_failed",
        NODE,
        {"text": "Cannot attach gpu"},
        "NVRM: osInitNvMapping: *** Cannot attach gpu",
    ),
    (
        "gpu_lost",
        NODE,
        {"index": "0", "form": "0xffffffff"},
        (
            "NVRM: GPU0 _intrServiceStallCommonCheckBegin: Failed GPU reg read : 0xffffffff. "
            "Check whether GPU is present on the bus"
        ),
    ),
    (
        "gpu_init_failed",
        NODE,
        {"index": "0", "text": "failed to execute FWSEC for FRTS"},
        (
            "NVRM: GPU0 kgspExecuteFwsec_TU102: failed to execute FWSEC for FRTS: FRTS error "
            "code 0x492f"
        ),
    ),
    (
        "gpu_firmware_timeout",
        NODE,
        {"firmware": "CPU-CP"},
        "habanalabs hl2: Failed to communicate with Device CPU (CPU-CP timeout)",
    ),
    (
        "gpu_init_failed",
        ("gpu", "0000:0d:00.0"),
        {"text": "GUC: load failed"},
        (
            "i915 0000:0d:00.0: [drm] GT0: GUC: load failed: status = 0x40000056, time = "
            "0ms, freq = 2400MHz, ret = -6"
        ),
    ),
    (
        "gpu_gsp_silent",
        NODE,
        {"index": "0", "text": "sanity check failed"},
        (
            "NVRM: _kgspLogRpcSanityCheckFailure: GPU0 sanity check failed 0xf waiting for "
            "RPC response from GSP. Expected function 4097 (GSP_INIT_DONE) sequence 0 (0x0 "
            "0x0)."
        ),
    ),
    (
        "gpu_ras_uncorrected",
        ("gpu", "0000:83:00.0"),
        {},
        "amdgpu 0000:83:00.0: amdgpu: GPU reset for GFX RAS poison consumption is issued!",
    ),
    (
        "gpu_init_failed",
        ("gpu", "0000:26:00.0"),
        {"text": "XGMI: Set topology failure"},
        (
            "amdgpu 0000:26:00.0: amdgpu: XGMI: Set topology failure on device "
            "27042ad6c6a1ab, hive 27042ad6c6a1ac, ret -22"
        ),
    ),
    (
        "gpu_init_failed",
        ("gpu", "0000:0a:00.0"),
        {"text": "PSP load kdb failed"},
        "amdgpu 0000:0a:00.0: amdgpu: PSP load kdb failed!",
    ),
    (
        "gpu_firmware_timeout",
        ("gpu", "0000:e3:00.0"),
        {"firmware": "SMU"},
        "amdgpu 0000:e3:00.0: amdgpu: Failed to send message 0x26, response 0x0",
    ),
    (
        "gpu_firmware_timeout",
        ("gpu", "0000:03:00.0"),
        {"firmware": "GuC"},
        (
            "i915 0000:03:00.0: [drm] *ERROR* GT0: GUC: TLB invalidation response timed out "
            "for seqno 309"
        ),
    ),
    (
        "nic_probe_failed",
        ("network", "0000:01:00.0"),
        {"driver": "mlx4_core", "text": "Failed to map MCG context memory"},
        "mlx4_core 0000:01:00.0: Failed to map MCG context memory, aborting",
    ),
    (
        "nic_firmware_error",
        ("network", "0000:3d:00.0"),
        {"driver": "i40e", "text": "Rebuild AdminQ failed"},
        "i40e 0000:3d:00.0: Rebuild AdminQ failed, err I40E_ERR_ADMIN_QUEUE_TIMEOUT aq_err OK",
    ),
    (
        "nic_firmware_error",
        ("network", "0000:87:00.0"),
        {"driver": "i40e", "text": "setup of MAIN VSI failed"},
        "i40e 0000:87:00.0: setup of MAIN VSI failed",
    ),
    (
        "nic_firmware_error",
        ("network", "0000:00:04.0"),
        {"driver": "gve", "text": "AQ commands timed out, need to reset AQ"},
        "gve 0000:00:04.0: AQ commands timed out, need to reset AQ",
    ),
    (
        "nic_firmware_error",
        ("network", "0000:39:01.0"),
        {"driver": "hns3", "text": "hclge device re-init failed, VF is disabled"},
        "hns3 0000:39:01.0: hclge device re-init failed, VF is disabled!",
    ),
    (
        "nic_firmware_error",
        ("network", "0000:39:01.0"),
        {"driver": "hns3", "text": "failed to reset VF stack"},
        "hns3 0000:39:01.0: failed to reset VF stack",
    ),
    (
        "nic_probe_failed",
        NODE,
        {"driver": "qed", "text": "init pci failed"},
        "[qed_probe:506()]init pci failed",
    ),
    (
        "nic_firmware_error",
        ("network", "net0"),
        {"driver": "bnx2x", "text": "Error loading firmware"},
        "bnx2x: [bnx2x_func_hw_init:5785(net0)]Error loading firmware",
    ),
    (
        "nic_firmware_error",
        ("network", "7870:00:00.0"),
        {"driver": "mana", "text": "HWC: Request timed out"},
        "mana 7870:00:00.0: HWC: Request timed out!",
    ),
    (
        "nic_reset",
        ("network", "0000:41:00.0"),
        {"driver": "bnxt_en", "text": "PCI I/O error detected"},
        "bnxt_en 0000:41:00.0: PCI I/O error detected",
    ),
    (
        "nic_firmware_error",
        ("network", "0000:5d:00.0"),
        {"driver": "i40e", "text": "Initial pf_reset failed"},
        "i40e 0000:5d:00.0: Initial pf_reset failed: -15",
    ),
    (
        "nic_link",
        ("network", "0000:02:00.4"),
        {"driver": "cxgb4", "state": "down"},
        "cxgb4 0000:02:00.4: Port 0 link down, reason: Link Down",
    ),
    (
        "nic_reset",
        ("network", "enp4s0f0np0"),
        {"driver": "sfc", "text": "TX stuck with port_enabled=1: resetting"},
        "sfc 0000:04:00.0 enp4s0f0np0: TX stuck with port_enabled=1: resetting channels",
    ),
    (
        "gpu_gsp_silent",
        NODE,
        {"index": "3", "text": "LibOS heartbeat timed out"},
        (
            "NVRM: GPU3 _kgspIsHeartbeatTimedOut: LibOS heartbeat timed out, currentTimeMs 1 "
            "heartbeat 0"
        ),
    ),
    (
        "gpu_firmware_timeout",
        ("gpu", "0000:03:00.0"),
        {"firmware": "GuC"},
        "xe 0000:03:00.0: [drm] *ERROR* GT0: TLB invalidation fence timeout, seqno=14 recv=13",
    ),
    (
        "gpu_firmware_timeout",
        ("gpu", "0000:03:00.0"),
        {"firmware": "GuC"},
        (
            "xe 0000:03:00.0: [drm] *ERROR* Tile0: GT0: TLB invalidation time'd out, "
            "seqno=14, recv=13"
        ),
    ),
    (
        "gpu_ras_uncorrected",
        ("gpu", "0000:83:00.0"),
        {},
        "amdgpu 0000:83:00.0: amdgpu: {26} GPU reset for SDMA RAS poison consumption is issued!",
    ),
    (
        "nic_probe_failed",
        NODE,
        {"driver": "qed", "text": "No memory region found in bar #0"},
        "[qed_init_pci:340()]No memory region found in bar #0",
    ),
    (
        "nic_firmware_error",
        ("network", "eth1"),
        {"driver": "bnx2x", "text": "MC assert!"},
        "bnx2x: [bnx2x_attn_int_deasserted3:4322(eth1)]MC assert!",
    ),
    (
        "nic_link",
        ("network", "0000:02:00.4"),
        {"driver": "cxgb4", "state": "down"},
        "cxgb4 0000:02:00.4: Port 1 link down, reason: Remote Fault",
    ),
)

QUIET = (
    "amdgpu 0000:e3:00.0: amdgpu: Failed to send message 0x26, response 0xfffffffb",
    (
        "i915 0000:00:02.0: [drm] *ERROR* GT0: GUC: TLB invalidation response timed out "
        "for seqno 309"
    ),
    "cxgb4 0000:02:00.4: eth3: link down",
    "mlx4_core 0000:01:00.0: Running in SRIOV mode",
)
"""Lines beside them that say no trouble."""
