"""Permissions of the Kubernetes pod: which feature needs each, and what is lost without it."""

from dataclasses import dataclass

from tools.tables import row, with_tables


@dataclass(frozen=True, slots=True)
class Right:
    """One permission of a pod, and exactly what is lost without it.

    `name` is as in the manifest; `risk` is what an attacker who controls the pod gains by it.
    Without it, the families that match `absent` have no samples, except those in `stay`; those in
    `differ` have different or fewer samples, and `sources` are not read. All are empty if the loss
    is not visible on `/metrics`.
    """

    name: str
    granted_by: str
    feature: str
    loss: str
    risk: str
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
        "minimal",
        "name and version of the node's operating system",
        "those of the image are exported",
        "nothing: everybody can read the file",
        differ=("hw_node_info",),
    ),
    Right(
        "volume driver",
        "minimal",
        "detection of the GPU driver, if the container runtime hides `/proc/driver`",
        "GPUs are not read; the reason is `no_driver`",
        "nothing: everybody can read the files",
        absent=GPU_FAMILIES,
        differ=("hw_gpu_backend_info",),
        sources=("workloads",),
    ),
    Right(
        "variable NVIDIA_VISIBLE_DEVICES",
        "minimal",
        "the driver's library and devices, which the NVIDIA runtime mounts",
        "if it is `void`, no GPU can be read; the reason is `no_library`",
        "use every GPU of the node, and use up its memory",
        absent=GPU_FAMILIES,
        stay=("hw_gpu_nvml_up",),
        differ=("hw_gpu_backend_info",),
        sources=("workloads",),
    ),
    Right(
        "volume sys",
        "minimal",
        "InfiniBand ports and network interfaces; a pod's own `/sys` shows only those of the pod",
        "no ports, or only those of the pod",
        "read hardware information of the node, read-only; see below for runtimes without"
        " recursive read-only mounts",
        absent=("hw_infiniband_*", "hw_rdma_*", "hw_gpu_nic_affinity_info"),
        sources=("infiniband",),
    ),
    Right(
        "hostPID",
        "standard",
        "attribution of GPU processes; the node's network counters from `/proc/1/net`",
        "GPU processes are not attributed (reason `no_host_pids`), and the node's network is"
        " not read (scope `pod`); nor is `pid_max` on Linux 6.14 and newer",
        "see every process of the node; as root, kill root's processes, and read environment and"
        " files of those without capabilities: of pods that run as root with `drop: [ALL]`, their"
        " tokens and secrets included",
        absent=(*WORKLOADS, *NETWORK, "hw_processes_limit"),
        differ=(
            "hw_exporter_attribution_info",
            "hw_exporter_network_namespace_info",
            "hw_gpu_processes",
        ),
        sources=("network_stack",),
    ),
    Right(
        "capability SYSLOG",
        "standard",
        "the kernel log: Xid errors, machine checks, disk and link errors, out of memory",
        "no events, and no faults that need them; the reason is `no_permission`",
        "read the kernel log, with addresses that help to attack the kernel, and clear it",
        absent=KERNEL_LOG,
        differ=("hw_kernel_log_source_info",),
        sources=("kernel_log",),
    ),
    Right(
        "volume pod-resources",
        "standard",
        "pods that hold a GPU without a process on it, from the kubelet's read-only API",
        "pods that hold a GPU without using it are missing",
        "read which pod has which devices; the API cannot change anything",
        differ=IDLE_HOLDERS,
    ),
    Right(
        "volume container-logs",
        "standard",
        "names of namespace, pod and container of GPU processes",
        "processes are attributed to pod and container IDs instead of names",
        "read the names of pods; the linked logs are not mounted",
        differ=(*CONTAINERS, "hw_exporter_attribution_info"),
    ),
    Right(
        "volume state",
        "standard",
        "kernel log position and open faults survive a restart of the pod",
        "after a restart, all events since boot are read again and faults start again",
        "change the saved state of the exporter",
    ),
    Right(
        "user root",
        "standard",
        "CPU energy (RAPL), the kubelet's API, the state; Kubernetes grants capabilities to"
        " root only",
        "as without capability SYSLOG, pod-resources and state; no CPU energy",
        "with hostPID, kill root's processes and so take the node out of service; it cannot"
        " write to the root file system, which is read-only",
        absent=(*KERNEL_LOG, "hw_energy_joules_total"),
        differ=(*IDLE_HOLDERS, "hw_kernel_log_source_info"),
        sources=("kernel_log", "rapl"),
    ),
    Right(
        "privileged",
        "full",
        "device files that the node's device rules block; NVMe admin commands",
        "wear and spare of NVMe disks; the kernel log, because this profile lists no capability",
        "everything: full control of the node",
        absent=(*KERNEL_LOG, *NVME_HEALTH),
        differ=("hw_kernel_log_source_info",),
        sources=("kernel_log", "nvme_health"),
    ),
    Right(
        "volume dev",
        "full",
        "the device files of NVMe disks",
        "wear and spare of NVMe disks",
        "with `privileged`, read and write every disk of the node",
        absent=NVME_HEALTH,
        sources=("nvme_health",),
    ),
    Right(
        "volume root",
        "full",
        "space in the node's filesystems",
        "no filesystems",
        "as root, read every file of the node, including secrets of other pods",
        absent=("hw_filesystem_*",),
        sources=("filesystem",),
    ),
    Right(
        "patch nodes/status",
        "components/node-conditions",
        "the conditions GPUHealthy and HardwareHealthy of the pod's own node",
        "no conditions; the log has the API server's error",
        "set GPUHealthy and HardwareHealthy of the pod's own node; without the admission"
        " policy, the whole status of any node",
    ),
    Right(
        "create events",
        "components/node-events",
        "an Event on the pod's own node for each fault that begins, and when it ends",
        "no Events; the log has the API server's error",
        "write Events about the pod's own node; without the admission policy, any Event in the"
        " namespace default",
    ),
    Right(
        "volume features",
        "components/node-labels",
        "a file with labels of the node for node-feature-discovery; writable, no right in the API",
        "no labels; the log says which directory cannot be written",
        "write feature files: set any label on the pod's own node that node-feature-discovery"
        " allows",
    ),
    Right(
        "volume dbus",
        "components/services",
        "services of systemd on the node, and units that failed (services.md)",
        "the source `services` is absent",
        "call every service on the system bus: as root, start and stop services of the node",
    ),
    Right(
        "volume hami",
        "components/gpu-sharing",
        "quotas of containers on GPUs shared with HAMi",
        "no HAMi quotas, and HAMi sharing is not detected",
        "read the quotas of all containers",
    ),
    Right(
        "volume pod-logs",
        "components/gpu-sharing",
        "the pods of HAMi quotas: directory names contain pod name and UID",
        "no HAMi quotas, and HAMi sharing is not detected",
        "read the logs of all pods",
    ),
    Right(
        "volume mps",
        "components/gpu-sharing",
        "quotas of CUDA MPS clients, if NVIDIA's device plugin runs the control daemon",
        "no CUDA MPS quotas",
        "become an MPS client, and change MPS limits",
    ),
    Right(
        "variable NVIDIA_DRIVER_CAPABILITIES=utility,compute",
        "components/gpu-sharing",
        "`nvidia-cuda-mps-control`, which the NVIDIA runtime mounts",
        "no CUDA MPS quotas",
        "compute on GPUs with the mounted driver library",
    ),
    Right(
        "capability SYS_ADMIN",
        "components/ebpf",
        "eBPF: BPF programs, and uprobes that are removed when `bpftrace` exits; `BPF` and"
        " `PERFMON` are not enough (ebpf.md). The image has no `bpftrace` (kubernetes.md)",
        "the source `ebpf` is absent: «bpftrace needs CAP_PERFMON and CAP_BPF»; no `hw_call_*`,"
        " `hw_nccl_*`, `hw_tcp_retransmits_total` and `hw_disk_latency_seconds`",
        "everything: full control of the node",
    ),
    Right(
        "capability SYS_PTRACE",
        "components/ebpf",
        "libraries of processes in other containers, in `/proc/PID/root`",
        "the source `ebpf` is absent: «bpftrace needs CAP_SYS_PTRACE»",
        "with hostPID, read and write the memory of every process of the node",
    ),
    Right(
        "volume tracing",
        "components/ebpf",
        "the list of kernel events (tracefs)",
        "the source `ebpf` is absent: «tracefs is not mounted»",
        "read kernel traces of other programs",
    ),
    Right(
        "volume passwd",
        "your own patch",
        "user names of GPU processes outside pods, with `processes.users`; mount the node's"
        " `/etc/passwd` at `/host/etc/passwd`",
        "`/processes` shows user IDs",
        "read user names",
    ),
)


PROFILES = ("minimal", "standard", "full")


def rights_page() -> str:
    """Return `docs/RIGHTS.md` with its tables: purpose of each permission, risk, and loss."""
    changed = [right for right in RIGHTS if right.absent or right.differ]
    tables = {
        "# Permissions": (row(it.name, *_columns(it), it.feature, it.loss) for it in RIGHTS),
        "## Risks": (row(it.name, it.risk) for it in RIGHTS),
        "## Effect on /metrics": (
            row(it.name, _absent(it), _names(it.differ), _names(it.sources)) for it in changed
        ),
    }
    return with_tables("docs/RIGHTS.md", tables)


def _columns(right: Right) -> tuple[str, ...]:
    """Return one cell per profile, or what else grants the permission."""
    if right.granted_by not in PROFILES:
        return "", "", right.granted_by
    least = PROFILES.index(right.granted_by)
    return tuple("yes" if at >= least else "" for at in range(len(PROFILES)))


def _absent(right: Right) -> str:
    return _names(right.absent) + (f" but {_names(right.stay)}" if right.stay else "")


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
