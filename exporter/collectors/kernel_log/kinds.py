"""The kinds of events of the kernel log: the one list, with type and meaning."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from exporter.model.event import EventType


class EventKind(NamedTuple):
    """The type and the meaning of one kind of event."""

    type: EventType
    meaning: str


_HARDWARE = {
    "xid": "The NVIDIA driver reported an error by number (docs/xids.md).",
    "gpu_recovery_action": (
        "The driver changed the recovery action that it requests for a GPU (Xid 154)."
    ),
    "xid_rate_limited": "The driver suppresses messages about a GSP that does not answer.",
    "gpu_lost": "A GPU no longer answers on PCIe.",
    "gpu_init_failed": "The driver could not initialize a GPU.",
    "gpu_probe_failed": "The driver found no usable GPU, or lost one while it was loaded.",
    "gpu_power_missing": "The power cables of a GPU are not connected.",
    "gpu_locked": "The driver's watchdog reports that a GPU is probably locked up.",
    "gpu_ring_timeout": "A job on an AMD or Intel GPU timed out.",
    "gpu_reset": "The driver reset an AMD GPU or one of its rings; not a fault.",
    "gpu_reset_failed": "The driver could not reset an AMD or Intel GPU.",
    "gpu_ras_uncorrected": "An AMD GPU has uncorrectable errors (RAS).",
    "gpu_bad_page_threshold": "An AMD GPU has more bad memory pages than its threshold.",
    "gpu_page_fault": "A job on an AMD GPU accessed an unmapped address.",
    "gpu_firmware_timeout": "The firmware of an AMD GPU does not answer.",
    "npu_abnormal": "An Ascend NPU no longer answers its driver.",
    "gpu_uuid": "The driver reported the UUID of a GPU; not a fault.",
    "nvlink_discovery_failed": "The driver could not discover the NVLink topology.",
    "driver_version_mismatch": (
        "A program uses another driver version than the loaded kernel module."
    ),
    "driver_loaded": "The kernel module of the NVIDIA driver was loaded; not a fault.",
    "driver_no_memory": "The driver could not allocate memory.",
    "uvm_fatal_error": "The UVM driver (nvidia-uvm) had a fatal error: CUDA cannot be used.",
    "peermem_error": "GPUDirect RDMA (nvidia-peermem) used an invalid context.",
    "sxid": "An NVIDIA switch reported an error by number (docs/xids.md).",
    "fabric_manager_error": "The fabric manager reported an error of a switch or of the fabric.",
    "soft_lockup": "Soft lockup: a CPU was stuck in the kernel for many seconds.",
    "hard_lockup": "Hard lockup: a CPU did not answer interrupts.",
    "rcu_stall": "RCU stall: the kernel waits for a CPU or task without a quiescent state.",
    "workqueue_lockup": "Workqueue lockup: a kernel worker has been stuck for many seconds.",
    "kernel_panic": "Kernel panic, or the OOM killer found no process to kill.",
    "kernel_oops": "The kernel had an internal error (oops).",
    "file_max": "The node has no file handles left.",
    "cpu_thermal": "A CPU was thermally throttled.",
    "clocksource_unstable": "The kernel marked a clocksource as unstable.",
    "pcie_aer": "A PCIe device or port reported an AER error.",
    "pcie_recovery_failed": "A PCIe device did not recover from an error.",
    "pcie_dpc": "A PCIe port disabled its link to contain an error (DPC).",
    "pcie_power_fault": "A PCIe slot reported a power fault.",
    "slot_power_off": (
        "Somebody pressed the attention button of a PCIe slot to remove its card; not a fault."
    ),
    "iommu_fault": "The IOMMU blocked a memory access of a device.",
    "pcie_bandwidth_limited": (
        "The link of a PCIe device is narrower or slower than the device supports."
    ),
    "pcie_inaccessible": "A PCIe device could not be brought to the power state D0.",
    "mce": "A CPU reported a machine check (MCE).",
    "cper": "The firmware reported a hardware error (CPER), or the bus did by an NMI (SERR).",
    "edac": "A memory controller reported memory errors (EDAC).",
    "page_offline": "The kernel took a memory page offline, or tried to.",
    "bad_page": "The kernel found a corrupted page structure (bad page state).",
    "nvme_timeout": "An NVMe disk did not answer a command in time.",
    "nvme_reset_failed": "An NVMe disk is down or could not be reset.",
    "nvme_no_path": "No path to an NVMe disk is left.",
    "nvme_pci_error": "The PCIe core stopped an NVMe disk because of an error.",
    "nvme_io_error": "An NVMe disk answered a command with an error status.",
    "block_io_error": "A read or write request to a disk failed.",
    "buffer_io_error": "Cached data could not be read from or written to a disk.",
    "storage_controller_fault": "The firmware of a disk controller is in a fault state.",
    "storage_controller_reset": "A disk controller was reset after a firmware error or timeout.",
    "raid_volume_degraded": "A RAID controller reported a volume as degraded or offline.",
    "disk_offline": "The kernel took a SCSI disk offline.",
    "ata_error": "A SATA link or disk failed a command.",
    "fs_error": "A filesystem reported an error.",
    "fs_readonly": "A filesystem was made read-only after an error.",
    "fs_shutdown": "A filesystem was shut down after an error.",
    "md_disk_failure": "A member of a software RAID array failed.",
    "md_member_kicked": "An outdated member was excluded from a software RAID array.",
    "nfs_not_responding": "An NFS server does not answer.",
    "nfs_lock_reclaim": "Locks on an NFS server were lost.",
    "lustre_not_responding": "A Lustre server does not answer.",
    "ceph_not_responding": "A Ceph daemon does not answer.",
    "cifs_not_responding": "An SMB server does not answer.",
}

_NETWORK = {
    "netdev_unregister_wait": "A network interface cannot be removed: something still uses it.",
    "conntrack_full": "The connection tracking table (conntrack) is full: packets are dropped.",
    "mlx5_fatal": "The firmware or hardware of a ConnectX adapter failed.",
    "mlx5_health": "A ConnectX adapter reported an issue with its health.",
    "nic_tx_timeout": "A transmit queue of a network adapter timed out.",
    "nic_rx_timeout": "A receive queue of a network adapter timed out.",
    "nic_hang": "The transmit unit of a network adapter hangs.",
    "nic_lost": "A network adapter no longer answers on PCIe.",
    "nic_firmware_error": "The firmware of a network adapter does not answer.",
    "nic_probe_failed": "The driver of a network adapter could not start it.",
    "nic_recovered": "The driver of a network adapter has recovered it; no fault.",
    "nic_module_hot": "A network module or adapter is too hot.",
    "nic_cable": "A network cable or module was unplugged or is faulty.",
    "nic_slot_power": "The slot of a network adapter provides less power than the adapter needs.",
    "nic_access_reg": "A program tried to read a forbidden register of an adapter; not a fault.",
}

_PROCESS = {
    "segfault": "A process crashed with an invalid memory access (segfault).",
    "process_trap": "A process crashed with a CPU exception (traps:).",
    "oom_invoked": (
        "The OOM killer was invoked: a process requested memory that was not available."
    ),
    "oom_kill": "A process was killed because its cgroup or the node ran out of memory.",
    "hung_task": "A process was in D state (uninterruptible sleep) for too long.",
    "hung_task_owner": (
        "The kernel reported which process holds the lock that a hung task waits for."
    ),
}

_LINK = {
    "pcie_link_down": "The link of a PCIe slot went down, or its card was removed.",
    "nic_link": "A network link went down or came up.",
}

KERNEL_KINDS: Mapping[str, EventKind] = MappingProxyType(
    {
        kind: EventKind(event_type, meaning)
        for event_type, meanings in (
            (EventType.ERROR_HW, _HARDWARE),
            (EventType.ERROR_NET, _NETWORK),
            (EventType.PROCESS_STATE, _PROCESS),
            (EventType.TOPO_LINK_DOWN, _LINK),
        )
        for kind, meaning in meanings.items()
    }
)
"""Every kind, by name."""
