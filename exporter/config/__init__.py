"""All settings: one frozen tree with defaults, bounds and descriptions.

`config/default.toml` and `docs/CONFIG.md` are generated from this package.
"""

from collections.abc import Mapping
from dataclasses import field

from exporter.config.defaults import (
    CONTAINER_MOUNTPOINTS,
    DRIVER_MARKERS,
    KERNEL_FILESYSTEMS,
    MPS_CONTROL_PATHS,
    SERVICES,
    SMI_PATHS,
    VIRTUAL_DISKS,
    VIRTUAL_INTERFACES,
)
from exporter.config.ebpf import Ebpf
from exporter.config.enabled import Enabled
from exporter.config.expect import Expect
from exporter.config.otlp import Otlp
from exporter.config.server import ServerConfig
from exporter.config.setting import section, setting
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Metrics:
    """What is collected, and how often."""

    collect_interval_secs: float = setting(
        15.0, "Seconds from the start of one collection to the start of the next.", at_least=0.1
    )
    allow: tuple[str, ...] = setting(
        (),
        "Patterns of metric families to export, besides hw_exporter_*; empty: all.",
        are_patterns=True,
    )
    deny: tuple[str, ...] = setting(
        (),
        "Patterns of metric families not to export; hw_exporter_* only if a pattern begins so.",
        are_patterns=True,
    )
    enabled: Enabled = section(Enabled)


@dataclass(frozen=True, slots=True)
class GpuConfig:
    """How GPUs are read."""

    backend: str = setting(
        "auto",
        "Backend; auto uses NVML, else nvidia-smi, and also reads GPUs of other vendors.",
        one_of=("auto", "nvml", "nvidia-smi", "demo", "off"),
    )
    driver_markers: tuple[str, ...] = setting(
        DRIVER_MARKERS, "GPUs are read once one of these paths exists."
    )
    redetect_secs: float = setting(
        10.0, "Seconds between checks whether a driver was loaded or unloaded.", at_least=0.1
    )
    late_driver_exit_secs: float = setting(
        0.0,
        "Exit a container after these seconds if a driver was installed after its start and"
        " its library is missing, so that a restart mounts it; 0 never exits.",
        at_least=0,
    )
    timeout_secs: float = setting(
        5.0,
        "Timeout in seconds for one reading of all GPUs with NVML, or one run of nvidia-smi.",
        at_least=0.1,
    )
    cache_ttl_secs: float = setting(
        300.0,
        "Seconds the last good reading of a GPU is served, marked as stale.",
        at_least=0,
        at_most=300,
    )
    dynamic_ttl_secs: float = setting(
        300.0,
        "The same for values that change; 45 (three intervals) avoids flat lines in graphs.",
        at_least=0,
        at_most=300,
    )
    smi_paths: tuple[str, ...] = setting(
        SMI_PATHS,
        "Paths where nvidia-smi is searched, in this order, before the directories of PATH.",
    )
    mps_control_paths: tuple[str, ...] = setting(
        MPS_CONTROL_PATHS,
        "Paths of the CUDA MPS control program, in this order; empty: never query MPS limits.",
    )
    release_secs: float = setting(
        300.0, "Seconds for which GPUs stay released after a request to release them.", at_least=1
    )
    profiling: bool = setting(
        True, "GPM activity of GPU units, if NVML supports it (Hopper and newer)."
    )
    nvlink_per_link: bool = setting(
        False, "State and errors of each NVLink as series, in addition to those of the GPU."
    )
    thermal_margin_thresholds: bool = setting(
        False, "Thresholds of the thermal margin (T.Limit) as series: up to four for each GPU."
    )
    ecc_locations: bool = setting(False, "ECC errors by location on the GPU.")
    pcie_throughput: bool = setting(
        False, "PCIe throughput; each reading blocks the driver for 40 ms per GPU."
    )


@dataclass(frozen=True, slots=True)
class Sources:
    """Root directories of the files that are read, and sources that are on or off."""

    proc_root: str = setting(
        "/proc", "The proc filesystem; with this default, /host/proc is used if it is mounted."
    )
    sys_root: str = setting(
        "/sys", "The sys filesystem; with this default, /host/sys is used if it is mounted."
    )
    host_root: str = setting(
        "/", "The root of the node; with this default, /host is used if it is mounted."
    )
    cpu_model_probe: bool = setting(
        True, "Read the CPU model name with py-cpuinfo, once, in a short-lived child process."
    )
    enabled: tuple[str, ...] = setting(
        (),
        "Opt-in sources to turn on: nvme_health, process_states, kernel_files, imex,"
        " xid_tracepoint.",
    )
    disabled: tuple[str, ...] = setting((), "Sources to turn off.")
    services: tuple[str, ...] = setting(
        SERVICES,
        "Services of systemd to export where they are installed, without .service.",
        each_like=(r"[\w.@:\\-]{1,100}", "the name of a service such as 'containerd'"),
    )


@dataclass(frozen=True, slots=True)
class Devices:
    """Device filters; in patterns * is any text, ? one character, [ab] one of these."""

    network_exclude: tuple[str, ...] = setting(
        VIRTUAL_INTERFACES, "Interfaces to exclude: virtual ones.", are_patterns=True
    )
    network_include: tuple[str, ...] = setting(
        (), "Interfaces to include even if excluded.", are_patterns=True
    )
    disk_exclude: tuple[str, ...] = setting(
        VIRTUAL_DISKS,
        "Disks to exclude: virtual ones. Partitions and unnamed dm-* are always excluded.",
        are_patterns=True,
    )
    disk_include: tuple[str, ...] = setting(
        (), "Disks to include even if excluded.", are_patterns=True
    )
    filesystem_type_exclude: tuple[str, ...] = setting(
        KERNEL_FILESYSTEMS, "Filesystem types to exclude: those without data.", are_patterns=True
    )
    filesystem_type_include: tuple[str, ...] = setting(
        (), "Filesystem types to include even if excluded.", are_patterns=True
    )
    mountpoint_exclude: tuple[str, ...] = setting(
        CONTAINER_MOUNTPOINTS,
        "Mount points to exclude: those of the system and of containers.",
        are_patterns=True,
    )
    mountpoint_include: tuple[str, ...] = setting(
        (), "Mount points to include even if excluded.", are_patterns=True
    )
    max_per_kind: int = setting(
        16,
        "Maximum of interfaces, disks, filesystems, InfiniBand ports each; hardware first, then by"
        " name.",
        at_least=1,
        at_most=1000,
    )


@dataclass(frozen=True, slots=True)
class Processes:
    """Processes on GPUs."""

    per_pid: bool = setting(False, "Series per process, in addition to those per workload.")
    pod_uids: bool = setting(False, "Series with the UIDs of pods on GPUs.")
    slurm_jobs: bool = setting(
        False, "Series with array task, account and user of Slurm jobs that are on GPUs."
    )
    users: bool = setting(False, "Show user names on /processes.")
    redact: tuple[str, ...] = setting(
        (), "Names to replace by a hash.", one_of=("process", "namespace", "pod", "container")
    )
    redact_salt: str = setting(
        "", "Secret salt of the hashes, the same on all nodes to join series; default: random."
    )
    top_n: int = setting(
        50, "Processes with their own series; the rest is summed.", at_least=1, at_most=1000
    )


@dataclass(frozen=True, slots=True)
class KernelLogConfig:
    """The kernel log."""

    enabled: bool = setting(True, "Follow the kernel log.")
    path: str = setting("/dev/kmsg", "The device to follow.")
    accept_user_records: bool = setting(
        False, "Accept records written by user space; only for drills and tests."
    )
    patterns_dirs: tuple[str, ...] = setting(
        (), "Files and directories with additional kernel log lines."
    )


@dataclass(frozen=True, slots=True)
class Faults:
    """Fault rules."""

    enabled: bool = setting(True, "Evaluate the rules after every collection.")
    rules_dirs: tuple[str, ...] = setting((), "Files and directories with additional rules.")
    strict: bool = setting(False, "Do not start if a rule file has an error.")
    severity: Mapping[str, str] = setting(
        {},
        "Severities of rules (not escalated) and Xids (xid_63) at this site, by name.",
        one_of=("critical", "warning", "info"),
    )
    silences_dirs: tuple[str, ...] = setting(
        (), "Files and directories with silences; read again when they change."
    )
    off: tuple[str, ...] = setting((), "Rules and Xids (xid_63) that are switched off.")


@dataclass(frozen=True, slots=True)
class DetectorsConfig:
    """Detectors of unusual GPUs: docs/detectors.md."""

    siblings: bool = setting(False, "Compare GPUs of one model that run the same workload.")
    anomaly: bool = setting(False, "Compare the readings of a GPU with the past of its model.")


@dataclass(frozen=True, slots=True)
class State:
    """State that survives a restart."""

    dir: str = setting("", "Directory for small state files; if empty, state is lost at a restart.")


@dataclass(frozen=True, slots=True)
class NodeConditions:
    """What is written about the exporter's Kubernetes node: conditions, Events, labels."""

    enabled: bool = setting(False, "Set the conditions of the node.")
    events: bool = setting(
        False, "Write an Event on the node for each fault that begins, and when it ends."
    )
    labels_dir: str = setting(
        "",
        "Directory of node-feature-discovery (features.d) for a file with the conditions as labels;"
        " if empty, none is written.",
    )
    dry_run: bool = setting(True, "Only log what would be written.")
    api_server: str = setting(
        "https://kubernetes.default.svc", "Address of the Kubernetes API server."
    )
    token_file: str = setting(
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "File with the service account token.",
    )
    ca_file: str = setting(
        "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
        "PEM file with the CA of the API server.",
    )
    interval_secs: float = setting(10.0, "Seconds between checks of the faults.", at_least=1)
    heartbeat_secs: float = setting(
        300.0,
        "Seconds after which unchanged conditions are written again (heartbeat).",
        at_least=10,
    )
    settle_secs: float = setting(
        180.0,
        "Seconds after startup for which a False condition stays False until faults are detected.",
        at_least=0,
    )


@dataclass(frozen=True, slots=True)
class ProbeCommand:
    """An external probe: a program that prints one JSON object per line."""

    name: str = setting("", "Name, unique among the probes.")
    command: tuple[str, ...] = setting((), "Program and arguments; no shell.")
    mode: str = setting("stream", "How it runs.", one_of=("stream", "interval"))
    every: str = setting("30s", "Time between starts in interval mode.", is_duration=True)
    deadline: str = setting(
        "10s", "Without output for this long, its values are dropped.", is_duration=True
    )


@dataclass(frozen=True, slots=True)
class Demo:
    """The simulated node of gpu.backend = "demo"."""

    gpus: int = setting(8, "Number of simulated GPUs.", at_least=1, at_most=16)
    seed: int = setting(1, "Random seed; the same seed gives the same node.", at_least=0)
    speed: float = setting(1.0, "Script seconds per real second.", at_least=0.1, at_most=1000)
    start: int = setting(0, "Second of the script to start at.", at_least=0, at_most=86400)
    whole_node: bool = setting(False, "Also simulate CPU, memory, disks, network and kernel log.")
    healthy: bool = setting(False, "No incidents.")
    folder: str = setting(
        "", "Directory for the files of the simulated node; the demo command creates one."
    )


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration."""

    server: ServerConfig = section(ServerConfig)
    metrics: Metrics = section(Metrics)
    gpu: GpuConfig = section(GpuConfig)
    sources: Sources = section(Sources)
    devices: Devices = section(Devices)
    processes: Processes = section(Processes)
    kernel_log: KernelLogConfig = section(KernelLogConfig)
    faults: Faults = section(Faults)
    detectors: DetectorsConfig = section(DetectorsConfig)
    state: State = section(State)
    demo: Demo = section(Demo)
    ebpf: Ebpf = section(Ebpf)
    expect: Expect = section(Expect)
    node_conditions: NodeConditions = section(NodeConditions)
    otlp: Otlp = section(Otlp)
    probes: tuple[ProbeCommand, ...] = field(
        default=(), metadata={"doc": "External probes, one [[probes]] table each: docs/probes.md."}
    )

    def families_off(self) -> frozenset[str]:
        """Return the names of the families that are read but not exported."""
        off = self.metrics.enabled.families_off()
        options = {
            "hw_gpu_nvlink_up": self.gpu.nvlink_per_link,
            "hw_gpu_thermal_margin_threshold_celsius": self.gpu.thermal_margin_thresholds,
        }
        return off | {name for name, is_on in options.items() if not is_on}
