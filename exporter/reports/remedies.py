"""The fix for each reason why GPUs or processes cannot be read; docs/troubleshooting.md."""

from typing import NamedTuple


class Remedy(NamedTuple):
    """What a reason means, and the fix on the host and, where it is another one, in a container."""

    meaning: str
    host: str
    container: str = ""

    def fix(self, *, in_container: bool) -> str:
        """Return the fix for this place."""
        return self.container if in_container and self.container else self.host


_RUNTIME = (
    "run the container with the NVIDIA runtime (docker run --gpus all, runtimeClassName: nvidia)"
    " and NVIDIA_DRIVER_CAPABILITIES=utility"
)
_HANG = "the driver hangs: dmesg -T | grep NVRM, then drain and reboot the node"

NODE_REASONS = {
    "no_driver": Remedy(
        "no GPU driver is loaded: none of gpu.driver_markers exists",
        "on a node with GPUs load it: modprobe nvidia",
        "on a node with GPUs load it on the host (modprobe nvidia) and mount the host's"
        " /proc/driver at /host/proc/driver",
    ),
    "no_library": Remedy(
        "the driver is loaded, but libnvidia-ml.so.1 was not found",
        "install the library of the driver's version (package libnvidia-compute)",
        _RUNTIME,
    ),
    "version_mismatch": Remedy(
        "libnvidia-ml.so.1 and the loaded driver have different versions: the driver was"
        " upgraded without a reload",
        "load the new driver (stop GPU programs, rmmod nvidia_uvm nvidia, modprobe nvidia) or"
        " reboot",
    ),
    "driver_not_loaded": Remedy(
        "the library exists but finds no driver", "modprobe nvidia, then check dmesg"
    ),
    "no_permission": Remedy(
        "the exporter may not open the device files /dev/nvidia*",
        "chmod 0666 /dev/nvidiactl /dev/nvidia[0-9]*, or run as a user of their group",
        f"{_RUNTIME}; the devices must be on the container's device list",
    ),
    "access_lost": Remedy(
        "the driver works, but this container may no longer use the devices (typically after"
        " systemctl daemon-reload)",
        "restart the exporter",
        "restart the container, and create the device symlinks that the container toolkit"
        " documents",
    ),
    "blocked_by_system": Remedy(
        "the operating system denies access to the GPUs",
        "look for a security module (dmesg | grep -i denied), a sandbox or a hypervisor that"
        " uses them",
    ),
    "timeout": Remedy(
        "a reading took longer than gpu.timeout_secs",
        "enable persistence mode (nvidia-smi -pm 1); if it persists, check dmesg for Xids",
    ),
    "stuck": Remedy("a reading was killed but does not exit: it is in D state", _HANG),
    "crashed": Remedy(
        "the library crashed the probe process", "update the driver; the log has the call"
    ),
    "crashes": Remedy("a call crashed three times", "update the driver; the log has the call"),
    "released": Remedy(
        "GPUs were released on request",
        "curl -X POST localhost:8080/-/resume, or wait for gpu.release_secs",
    ),
    "no_devices": Remedy("the driver has no GPU", "lspci -d 10de:, then dmesg -T | grep NVRM"),
    "no_program": Remedy(
        "nvidia-smi is at none of gpu.smi_paths",
        "set its path in gpu.smi_paths, and make sure that only root can write it",
    ),
    "garbage": Remedy(
        "the output could not be parsed", "run nvidia-smi manually and check its output"
    ),
    "flood": Remedy(
        "nvidia-smi printed more than 4 MiB", "run nvidia-smi manually and check its output"
    ),
    "insufficient_power": Remedy("the power cables of a GPU are not connected", "connect them"),
    "irq_issue": Remedy(
        "the kernel does not deliver the GPU's interrupts", "dmesg; update the BIOS"
    ),
    "no_memory": Remedy("the driver could not allocate memory", "free memory on the node"),
}

GPU_REASONS = {
    "gpu_lost": Remedy(
        "it has fallen off the bus", "drain and reboot the node, then follow the runbook"
    ),
    "reset_required": Remedy("it requires a reset", "drain it, then nvidia-smi --gpu-reset"),
    "not_listed": Remedy("the driver no longer lists it", "lspci -d 10de:, then dmesg"),
    "not_found": Remedy("the driver counts it but cannot open it", "dmesg -T | grep NVRM"),
    "unknown_error": Remedy("the driver reported an unknown error", "dmesg -T | grep NVRM"),
    "corrupted_inforom": Remedy("its InfoROM is corrupted", "return the GPU (RMA)"),
    "hung": Remedy("driver calls for it hang", "dmesg -T | grep NVRM, then drain and reset it"),
    "in_use": Remedy("another process uses it exclusively", "wait until that process ends"),
    "crashes": Remedy("driver calls for it crash", "update the driver; the log has the call"),
    "no_identity": Remedy("it does not report its UUID", "dmesg -T | grep NVRM"),
    "duplicate_uuid": Remedy("another GPU has the same UUID", "update the firmware of both"),
    "no_devices": NODE_REASONS["no_devices"],
    "insufficient_power": Remedy("its power cables are not connected", "connect them"),
    "irq_issue": Remedy("the kernel does not deliver its interrupts", "dmesg; update the BIOS"),
    "insufficient_resources": Remedy("it or its driver ran out of a resource", "dmesg -T"),
    "expired": Remedy("it was not read for longer than gpu.cache_ttl_secs", "hw-exporter doctor"),
}
GPU_REASONS["gpu_not_found"] = GPU_REASONS["not_found"]


def gpu_meaning(reason: str | None) -> str:
    """Say in words why a GPU has no current values; empty where no reason is known."""
    remedy = GPU_REASONS.get(reason or "")
    return remedy.meaning if remedy else (reason or "").replace("_", " ")


VENDOR_REASONS = {
    "unknown_error": Remedy(
        "reading its GPUs failed", "report a bug with the output of hw-exporter doctor"
    ),
    "timeout": Remedy(
        "reading its files or running its program took longer than gpu.timeout_secs",
        "the driver hangs: dmesg -T, then drain and reboot the node",
    ),
    "stuck": Remedy(
        "its program was killed but does not exit: it is in D state",
        "the driver hangs: dmesg -T, then drain and reboot the node",
    ),
    "no_program": Remedy(
        "npu-smi is in no directory of PATH, or users other than root can write it",
        "install the driver's tools",
        "mount npu-smi and /usr/local/Ascend/driver into the container",
    ),
    "driver_not_loaded": Remedy(
        "npu-smi cannot communicate with the driver",
        "reboot after an upgrade of driver or firmware; run the exporter as a user who can"
        " open /dev/davinci_manager",
        "add /dev/davinci_manager, /dev/devmm_svm and /dev/hisi_hdc to the container",
    ),
    "no_devices": Remedy(
        "npu-smi failed without a message", "run npu-smi info manually and check its output"
    ),
    "garbage": Remedy(
        "its output could not be parsed", "run npu-smi info manually and check its output"
    ),
    "flood": Remedy(
        "npu-smi printed more than 1 MiB", "run npu-smi info manually and check its output"
    ),
}

EBPF_REASONS = {
    "bpftrace is not installed": Remedy(
        "calls and events are counted with bpftrace, which is not installed",
        "apt-get install bpftrace (dnf install bpftrace), or ebpf.enabled = false",
        "use an image with bpftrace, or ebpf.enabled = false",
    ),
    "bpftrace needs root": Remedy(
        "bpftrace needs user ID 0 to attach to functions",
        "add deploy/systemd/ebpf.conf to the service (docs/systemd.md), or run as root with"
        " CAP_SYS_ADMIN and CAP_SYS_PTRACE",
        "securityContext.runAsUser: 0 with capabilities.add: [SYS_ADMIN, SYS_PTRACE]",
    ),
    "bpftrace needs CAP_": Remedy(
        "capabilities for bpftrace are missing",
        "add deploy/systemd/ebpf.conf to the service (docs/systemd.md), or CAP_SYS_ADMIN and"
        " CAP_SYS_PTRACE to AmbientCapabilities and CapabilityBoundingSet",
        "securityContext.capabilities.add: [SYS_ADMIN, SYS_PTRACE]",
    ),
    "this kernel has no": Remedy(
        "the kernel lacks the features that bpftrace needs",
        "boot a distribution kernel (CONFIG_UPROBE_EVENTS, CONFIG_BPF_EVENTS), or"
        " ebpf.enabled = false",
    ),
    "the processes of the node are not seen": Remedy(
        "the kernel counts by PIDs of the node, which are not valid in a PID namespace",
        "run outside the PID namespace, or set sources.proc_root to the host's /proc",
        "set hostPID: true (docker run --pid=host)",
    ),
    "tracefs is not mounted": Remedy(
        "the kernel's trace events are not visible",
        "mount -t tracefs nodev /sys/kernel/tracing",
        "mount the host's /sys/kernel/tracing at the same path",
    ),
}
"""By how the reason of a source begins."""

ATTRIBUTION_REASONS = {
    "no_host_pids": Remedy(
        "the exporter runs in its own PID namespace, where the driver's PIDs are not valid",
        "run outside the PID namespace, or set sources.proc_root to the host's /proc",
        "set hostPID: true (docker run --pid=host)",
    ),
    "proc_hidden": Remedy(
        "/proc shows only the exporter's own processes",
        "mount /proc without hidepid, or run in the group of its gid= option",
    ),
    "pids_not_found": Remedy(
        "none of the processes that the driver lists exists here",
        "run outside the PID namespace, or set sources.proc_root to the host's /proc",
        "set hostPID: true (docker run --pid=host)",
    ),
    "no_pod_names": Remedy(
        "processes run in pods, but the kubelet's files cannot be read",
        "let this user read /var/log/pods and /var/log/containers",
        "mount the host's /var/log/pods and /var/log/containers read-only below /host",
    ),
    "no_process_list": Remedy(
        "the driver reported no process list",
        'see the check "GPU library"',
    ),
}
