"""Which right which feature needs in Kubernetes, and what is lost without it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Right:
    """One right of a pod, and exactly what is lost without it.

    `name` is how the manifest says it. `absent` are patterns of families that have no sample
    without it, except for those that `stay`; `differ` are families with other or fewer samples,
    `sources` what is not read any more. All are empty where the loss is not on `/metrics`.
    """

    name: str
    granted_by: str
    feature: str
    loss: str
    absent: tuple[str, ...] = ()
    stay: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


GPU_FAMILIES = ("hw_gpu_*", "hw_exporter_attribution_*")
NVME_HEALTH = (
    "hw_nvme_available_spare_ratio",
    "hw_nvme_critical_warning",
    "hw_nvme_media_errors_total",
    "hw_nvme_percentage_used_ratio",
    "hw_nvme_temperature_celsius",
    "hw_nvme_unsafe_shutdowns_total",
)
KERNEL_LOG = ("hw_kernel_log_*",)
IDLE_HOLDERS = (
    "hw_gpu_idle_allocated_seconds",
    "hw_gpu_workload_energy_joules_total",
    "hw_gpu_workload_info",
    "hw_gpu_workload_processes",
)
CONTAINERS = (
    *IDLE_HOLDERS,
    "hw_gpu_workload_memory_used_bytes",
    "hw_gpu_workload_sm_utilization_percent",
)
NETWORK = ("hw_network_*", "hw_tcp_*", "hw_softnet_*", "hw_conntrack_*")
WORKLOADS = (
    "hw_gpu_workload_*",
    "hw_gpu_idle_*",
    "hw_gpu_orphan_*",
    "hw_gpu_ended_*",
)

RIGHTS = (
    Right(
        "volume os-release",
        "base",
        "name and version of the node's operating system",
        "those of the image are shown",
        differ=("hw_node_info",),
    ),
    Right(
        "volume driver",
        "base",
        "noticing that a GPU driver is loaded, where the container runtime hides `/proc/driver`",
        "GPUs are not looked for: the reason is `no_driver`",
        absent=GPU_FAMILIES,
        differ=("hw_gpu_backend_info",),
        sources=("workloads",),
    ),
    Right(
        "variable NVIDIA_VISIBLE_DEVICES",
        "base",
        "the driver's library and devices, which the NVIDIA runtime brings in for it",
        "where it is `void`, no GPU can be read: the reason is `no_library`",
        absent=GPU_FAMILIES,
        stay=("hw_gpu_nvml_up",),
        differ=("hw_gpu_backend_info",),
        sources=("workloads",),
    ),
    Right(
        "volume sys",
        "base",
        "InfiniBand ports and network interfaces, of which a pod's own `/sys` shows only its own",
        "ports are not seen, or the pod's own are",
        absent=("hw_infiniband_*", "hw_rdma_*"),
        sources=("infiniband",),
    ),
    Right(
        "hostPID",
        "overlays/full",
        "the processes behind the numbers of GPUs; the node's network counters by `/proc/1/net`",
        "GPU processes are attributed to nobody: the reason is `no_host_pids`; the network of the"
        " node is not read: its scope is `pod`",
        absent=(*WORKLOADS, *NETWORK),
        differ=("hw_exporter_attribution_info", "hw_exporter_network_namespace_info"),
        sources=("network_stack",),
    ),
    Right(
        "capability SYSLOG",
        "overlays/full",
        "the kernel log: Xid errors, machine checks, errors of disks and links, out of memory",
        "no events, and no faults that rest on them; the reason is `no_permission`",
        absent=KERNEL_LOG,
        differ=("hw_kernel_log_source_info",),
        sources=("kernel_log",),
    ),
    Right(
        "volume device-plugins",
        "overlays/full",
        "which pod holds which GPU while no process runs on it",
        "pods that hold a GPU and do not compute are not shown",
        differ=IDLE_HOLDERS,
    ),
    Right(
        "volume pod-resources",
        "overlays/full",
        "the same by the kubelet's socket, for kubelets whose checkpoint cannot be understood",
        "nothing where the checkpoint can be read; else as for device-plugins",
        differ=IDLE_HOLDERS,
    ),
    Right(
        "volume pod-logs",
        "overlays/full",
        "names of namespaces and pods",
        "idle holders of a GPU are not shown; processes have names only where container-logs tells",
        differ=IDLE_HOLDERS,
    ),
    Right(
        "volume container-logs",
        "overlays/full",
        "names of containers in pods that have several",
        "the beginning of the container's id stands in the place of its name",
        differ=CONTAINERS,
    ),
    Right(
        "volume state",
        "overlays/full",
        "the place in the kernel log and open faults over a restart of the pod",
        "after a restart, events since boot are read anew and faults begin anew",
    ),
    Right(
        "user root",
        "overlays/full",
        "the energy meters of the processors (RAPL), the files of the kubelet, the state;"
        " capabilities reach root alone",
        "as without capability SYSLOG, device-plugins, pod-resources and state; no energy meters",
        absent=(*KERNEL_LOG, "hw_energy_joules_total"),
        differ=(*IDLE_HOLDERS, "hw_kernel_log_source_info"),
        sources=("kernel_log", "rapl"),
    ),
    Right(
        "privileged",
        "overlays/privileged",
        "device files that the device rules of the node refuse; admin commands to NVMe disks",
        "wear and spare of NVMe disks; the kernel log, because this overlay names no capability",
        absent=(*KERNEL_LOG, *NVME_HEALTH),
        differ=("hw_kernel_log_source_info",),
        sources=("kernel_log", "nvme_health"),
    ),
    Right(
        "volume dev",
        "overlays/privileged",
        "the device files of NVMe disks",
        "wear and spare of NVMe disks",
        absent=NVME_HEALTH,
        sources=("nvme_health",),
    ),
    Right(
        "volume root",
        "components/filesystems",
        "room in the node's filesystems",
        "no filesystem is seen",
        absent=("hw_filesystem_*",),
        sources=("filesystem",),
    ),
    Right(
        "patch nodes/status",
        "components/node-conditions",
        "the conditions GPUHealthy and HardwareHealthy of the own node",
        "no conditions; the log says what the API refused",
    ),
    Right(
        "volume passwd",
        "a patch of your own",
        "names of users whose processes compute outside pods, with `processes.users`; mount the"
        " node's `/etc/passwd` at `/host/etc/passwd`",
        "`/processes` shows their numbers",
    ),
)


def rights_page() -> str:
    """`docs/RIGHTS.md`: what each right is for, and to the letter what is lost without it."""
    lines = [
        "# Rights",
        "",
        "Generated from `tools/rights.py`; a test runs the pod without each right and compares.",
        "GPUs need no more than the base: the device files are open to everybody by default, and",
        "the NVIDIA runtime brings the library in.",
        "`hw_exporter_source_outcome` says at any time which source is not read.",
        "",
        "| right | granted by | what needs it | what is lost without |",
        "|---|---|---|---|",
        *(f"| {it.name} | `{it.granted_by}` | {it.feature} | {it.loss} |" for it in RIGHTS),
        "",
        "## On /metrics",
        "",
        "What a right less changes, and nothing else; what rests on it goes with it:",
        "`hw_events_total`, `hw_fault_*`, `hw_status` and `hw_causal_*`.",
        "",
        "| without | absent | other or fewer samples | sources not read |",
        "|---|---|---|---|",
        *(_row(right) for right in RIGHTS if right.absent or right.differ),
    ]
    return "\n".join(lines) + "\n"


def _row(right: Right) -> str:
    absent = _names(right.absent) + (f" but {_names(right.stay)}" if right.stay else "")
    return f"| {right.name} | {absent} | {_names(right.differ)} | {_names(right.sources)} |"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
