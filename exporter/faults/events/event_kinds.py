"""The kinds of events that rules can ask for, and which source tells of them."""

from exporter.model.event import EventType

KERNEL_LOG = "kernel_log"
NVML = "nvml"
LOOKS = "looks"

KERNEL_KINDS = (
    *("xid", "xid_rate_limited", "gpu_recovery_action", "gpu_lost", "gpu_init_failed"),
    *("gpu_probe_failed", "gpu_power_missing", "gpu_uuid", "nvlink_discovery_failed"),
    *("driver_version_mismatch", "driver_loaded", "driver_no_memory", "peermem_error"),
    *("sxid", "fabric_manager_error", "segfault"),
    *("pcie_aer", "pcie_recovery_failed", "pcie_dpc", "pcie_link_down", "pcie_inaccessible"),
    *("pcie_bandwidth_limited", "mce", "cper", "edac", "page_offline"),
    *("oom_invoked", "oom_kill", "kernel_panic", "kernel_oops", "soft_lockup", "hard_lockup"),
    *("rcu_stall", "hung_task", "hung_task_owner", "file_max", "netdev_unregister_wait"),
    *("cpu_thermal", "nvme_timeout", "nvme_reset_failed", "nvme_no_path", "block_io_error"),
    *("buffer_io_error", "fs_error", "fs_readonly", "fs_shutdown", "md_disk_failure"),
    *("nfs_not_responding", "nfs_lock_reclaim", "mlx5_fatal", "nic_tx_timeout"),
    *("nic_rx_timeout", "nic_module_hot", "nic_cable", "nic_slot_power", "nic_access_reg"),
    *("nic_link",),
)

REPAIR_KINDS = ("gpu_reset", "link_up", "mounted", "boot")
"""What two looks at a component tell of (see `repairs.py`), and the boot that nothing outlives."""

EVENT_WORDS = frozenset({*KERNEL_KINDS, *REPAIR_KINDS, *(each.value for each in EventType)})

_SOURCES = {
    **{kind: frozenset({KERNEL_LOG}) for kind in KERNEL_KINDS},
    "xid": frozenset({KERNEL_LOG, NVML}),
    "error.hw": frozenset({KERNEL_LOG, NVML}),
    "error.net": frozenset({KERNEL_LOG}),
    "topo.link_down": frozenset({KERNEL_LOG}),
}


def heard_from(what: str) -> frozenset[str]:
    """The sources of which one must work for such events to be missed by nobody.

    Nothing for what only external probes tell: they may speak or not.
    """
    return _SOURCES.get(what, frozenset())
