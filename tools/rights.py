"""Which right which feature needs in Kubernetes, and what is lost without it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Right:
    """One right of a pod.

    `name` is how the manifest says it, `seen` a pattern that matches a line of /metrics with the
    right and none without it; empty where the loss is not on that page.
    """

    name: str
    granted_by: str
    feature: str
    loss: str
    seen: str = ""


RIGHTS = (
    Right(
        "volume os-release",
        "base",
        "name and version of the node's operating system",
        "`hw_node_info` shows those of the image",
        r'hw_node_info\{node="node-a",os="Ubuntu"',
    ),
    Right(
        "volume driver",
        "base",
        "noticing that a GPU driver is loaded, where the container runtime hides `/proc/driver`",
        "GPUs are not looked for: `hw_gpu_backend_info` says `no_driver`",
        r"hw_gpu_up\{",
    ),
    Right(
        "volume sys",
        "base",
        "the node's network interfaces, InfiniBand ports and what else sysfs shows per namespace",
        "`hw_network_info` and `hw_infiniband_*` are absent or show the pod's own",
        r'hw_infiniband_port_up\{node="node-a",device="mlx5_0"',
    ),
    Right(
        "hostPID",
        "overlays/full",
        "the processes behind the numbers of GPUs; the node's network counters by `/proc/1/net`",
        "GPU processes cannot be attributed (`hw_exporter_attribution_info`), and"
        ' `hw_exporter_network_namespace_info` says `scope="pod"`',
        r'hw_exporter_attribution_info\{node="node-a",reason="ok"',
    ),
    Right(
        "capability SYSLOG",
        "overlays/full",
        "the kernel log: Xid errors, machine checks, errors of disks and links, out of memory",
        "`hw_kernel_log_source_info` says why, no events, no faults that rest on them",
        r'hw_kernel_log_source_info\{node="node-a",source="syslog"',
    ),
    Right(
        "volume device-plugins",
        "overlays/full",
        "which pod holds which GPU while no process runs on it",
        "`hw_gpu_workload_info` and `hw_gpu_idle_allocated_seconds` lack pods that do not compute",
        r'hw_gpu_workload_info\{.*container="main"',
    ),
    Right(
        "volume pod-logs",
        "overlays/full",
        "names of namespaces and pods",
        "processes in pods have no `namespace` and no `pod`, idle holders of a GPU are not named",
        r'hw_gpu_workload_info\{.*namespace="ml",pod="train-0"',
    ),
    Right(
        "volume container-logs",
        "overlays/full",
        "names of containers whose pod's folder does not tell",
        "some workloads have no `container`",
    ),
    Right(
        "volume pod-resources",
        "overlays/full",
        "the same as device-plugins by the kubelet's socket, with names of pods and containers",
        "where the checkpoint cannot be read either, as for device-plugins",
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
        "the energy meters of the processors (RAPL), whose files are root's",
        "`hw_energy_joules_total` is absent",
    ),
    Right(
        "volume dev",
        "overlays/privileged",
        "wear and spare of NVMe disks (source `nvme_health`), together with being privileged",
        "`hw_nvme_percentage_used_ratio` and its siblings are absent",
    ),
    Right(
        "volume passwd",
        "a patch of your own",
        "names of users whose processes compute outside pods; mount it at `/host/etc/passwd`",
        "numbers are shown instead",
    ),
    Right(
        "volume root",
        "components/filesystems",
        "room in the node's filesystems",
        "`hw_filesystem_*` are absent",
    ),
    Right(
        "patch nodes/status",
        "components/node-conditions",
        "the conditions GPUHealthy and HardwareHealthy of the own node",
        "no conditions; the log says what the API refused",
    ),
)


def rights_page() -> str:
    """`docs/RIGHTS.md`: the table."""
    lines = [
        "# Rights",
        "",
        "Generated from `tools/rights.py`; a test takes each right away and looks at what is lost.",
        "Reading GPUs needs none of them: the device files are open to everybody by default, and",
        "the NVIDIA runtime brings the library in.",
        "The base has no more than its three read-only volumes.",
        "",
        "| right | granted by | what needs it | what is lost without |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {right.name} | `{right.granted_by}` | {right.feature} | {right.loss} |"
        for right in RIGHTS
    ]
    return "\n".join(lines) + "\n"
