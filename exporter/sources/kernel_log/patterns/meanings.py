"""What each kind of event means, in one sentence, and the page that says so."""

from collections.abc import Iterator, Mapping

from exporter.sources.kernel_log.patterns.pattern import Role
from exporter.sources.kernel_log.patterns.table import KINDS

MEANINGS: Mapping[str, str] = {
    "xid": "The NVIDIA driver reported an error by number (docs/xids.md).",
    "gpu_recovery_action": "The driver changed what it asks to be done with a GPU (Xid 154).",
    "xid_rate_limited": "The driver leaves out lines of a system processor that does not answer.",
    "gpu_lost": "A GPU no longer answers on PCIe.",
    "gpu_init_failed": "The driver could not start a GPU.",
    "gpu_probe_failed": "The driver found no GPU that it can use, or lost one at its start.",
    "gpu_power_missing": "The power cables of a GPU are not connected.",
    "gpu_uuid": "The driver named the UUID of a GPU; no fault.",
    "nvlink_discovery_failed": "The driver could not find out which NVLinks are connected.",
    "driver_version_mismatch": "A program uses another version than the loaded kernel module.",
    "driver_loaded": "The kernel module of the NVIDIA driver was loaded; no fault.",
    "driver_no_memory": "The driver got no memory.",
    "peermem_error": "Direct access of network adapters to GPU memory met an invalid context.",
    "sxid": "An NVIDIA switch reported an error by number (docs/xids.md).",
    "fabric_manager_error": "The fabric manager reported an error of a switch or of the fabric.",
    "segfault": "A process crashed by an invalid memory access.",
    "oom_invoked": "A process asked for memory that was not there.",
    "oom_kill": "A process was killed because its group or the node had no memory left.",
    "soft_lockup": "A processor did not get to other work for many seconds.",
    "hard_lockup": "A processor did not answer interrupts.",
    "rcu_stall": "The kernel waits for a processor or task that does not pass a quiet state.",
    "hung_task": "A process has waited without interruption for longer than allowed.",
    "hung_task_owner": "The kernel named who holds what a hung process waits for.",
    "kernel_panic": "The kernel stopped, or has no process left that it could kill.",
    "kernel_oops": "The kernel met an internal error.",
    "file_max": "The node has no file handles left.",
    "netdev_unregister_wait": "A network interface cannot be removed: something still uses it.",
    "cpu_thermal": "A processor was slowed down because of heat.",
    "pcie_aer": "A PCIe device or port reported an error.",
    "pcie_recovery_failed": "A PCIe device did not recover from an error.",
    "pcie_dpc": "A PCIe port cut off what is below it to contain an error.",
    "pcie_link_down": "The link of a PCIe slot went down or its card went away.",
    "pcie_bandwidth_limited": "A PCIe device runs over a narrower or slower link than it could.",
    "pcie_inaccessible": "A PCIe device could not be brought to its working state.",
    "mce": "A processor reported a machine check.",
    "cper": "The firmware reported a hardware error.",
    "edac": "A memory controller reported errors of a memory module.",
    "page_offline": "The kernel took a page of memory out of use, or tried to.",
    "nvme_timeout": "An NVMe disk did not answer a command in time.",
    "nvme_reset_failed": "An NVMe disk is down or could not be reset.",
    "nvme_no_path": "There is no path left to an NVMe disk.",
    "block_io_error": "Reading or writing a disk failed.",
    "buffer_io_error": "Cached data could not be read from or written to a disk.",
    "fs_error": "A filesystem met an error.",
    "fs_readonly": "A filesystem was made read-only after an error.",
    "fs_shutdown": "A filesystem was shut down after an error.",
    "md_disk_failure": "A member of a software RAID array failed.",
    "nfs_not_responding": "An NFS server does not answer.",
    "nfs_lock_reclaim": "Locks on an NFS server were lost.",
    "mlx5_fatal": "The firmware or hardware of a ConnectX adapter failed.",
    "nic_tx_timeout": "A network adapter did not send what was queued.",
    "nic_rx_timeout": "A network adapter did not hand over what it received.",
    "nic_module_hot": "A network module or adapter is too hot.",
    "nic_cable": "A network cable or module was unplugged or is faulty.",
    "nic_slot_power": "The slot of a network adapter gives less power than it wants.",
    "nic_access_reg": "A program asked an adapter for a register it may not read; no fault.",
    "nic_link": "A network link went down or came up.",
}

_INTRODUCTION = """\
# Events of the kernel log

Generated from the tables in `exporter/sources/kernel_log/`; do not edit.

The exporter follows `/dev/kmsg`, and where that may not be opened it asks syslog(2) once a second.
`hw_kernel_log_source_info{source,reason}` tells which way is open; both need the capability
`CAP_SYSLOG` where `kernel.dmesg_restrict` is 1.

Only records of the kernel itself are believed.
Programs may write to `/dev/kmsg` too, but the kernel marks what they write: such records are only
counted, in `hw_kernel_log_rejected_records_total{reason="user_record"}`.
For a drill, as root, start the exporter with `kernel_log.accept_user_records` and write one line:

```sh
APP__KERNEL_LOG__ACCEPT_USER_RECORDS=true hw-exporter &
echo '<3>NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.' > /dev/kmsg
curl -s localhost:8080/metrics | grep 'fault="gpu_lost"'
```

What programs wrote there before, since boot, is believed then as well.
Leave `state.dir` unset for a drill: its fault ends with the exporter then, else a day later.

With `state.dir` set, a restart within the same boot continues all counters and neither loses nor
repeats an event; without it the whole log is read again at each start.
Records that were overwritten before they could be read are counted in
`hw_kernel_log_overruns_total`, lines that the kernel itself left out in
`hw_kernel_log_suppressed_lines_total`; where one of them rises, the other numbers are lower bounds.

`hw_kernel_log_events_total{kind}` counts these kinds; a kind has a series from its first event on.
Lines that say that something is over (a link is up, a server answers, a processor is cool again)
are events for the rules, and are not counted.
"""


def kernel_log_page() -> str:
    """docs/kernel-log.md as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    yield "| kind | event type | meaning |"
    yield "| --- | --- | --- |"
    types = {row.name: row.type.value for row in KINDS if row.role is not Role.LOSS}
    for name in sorted(types):
        yield f"| `{name}` | {types[name]} | {MEANINGS[name]} |"
