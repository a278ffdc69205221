"""What helps against each reason why GPUs or processes cannot be read; docs/troubleshooting.md."""

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
        "the driver is loaded, libnvidia-ml.so.1 is not found",
        "install the library of the driver's version (package libnvidia-compute-VERSION)",
        _RUNTIME,
    ),
    "version_mismatch": Remedy(
        "libnvidia-ml.so.1 is of another version than the loaded driver: it was upgraded without"
        " a reload",
        "load the new driver (stop GPU programs, rmmod nvidia_uvm nvidia, modprobe nvidia) or"
        " reboot",
    ),
    "driver_not_loaded": Remedy(
        "the library is there and finds no driver", "modprobe nvidia, then look at dmesg"
    ),
    "no_permission": Remedy(
        "the device files /dev/nvidia* may not be opened",
        "chmod 0666 /dev/nvidiactl /dev/nvidia[0-9]*, or run as a user of their group",
        f"{_RUNTIME}; the devices must be on the container's device list",
    ),
    "access_lost": Remedy(
        "the driver works, but this container may no longer use the devices (typically after"
        " systemctl daemon-reload)",
        "restart the exporter",
        "restart the container, and create the device symlinks that the container toolkit asks for",
    ),
    "blocked_by_system": Remedy(
        "the operating system refuses access to the GPUs",
        "look for a security module (dmesg | grep -i denied), a sandbox or a hypervisor that holds"
        " them",
    ),
    "timeout": Remedy(
        "a reading took longer than gpu.timeout_secs",
        "turn persistence mode on (nvidia-smi -pm 1); if it lasts, look at dmesg for Xids",
    ),
    "stuck": Remedy("a reading was ended and does not die: it sleeps in the kernel", _HANG),
    "crashed": Remedy(
        "the library crashed the process that reads it", "update the driver; the log has the call"
    ),
    "crashes": Remedy("a call crashed three times", "update the driver; the log has the call"),
    "released": Remedy(
        "GPUs were let go of on request",
        "curl -X POST localhost:8080/-/resume, or wait for gpu.release_secs",
    ),
    "no_devices": Remedy("the driver has no GPU", "lspci -d 10de:, then dmesg -T | grep NVRM"),
    "no_program": Remedy(
        "nvidia-smi is at none of gpu.smi_paths",
        "name its path in gpu.smi_paths, and see that only root may write it",
    ),
    "garbage": Remedy("the answer cannot be understood", "run nvidia-smi by hand and look"),
    "flood": Remedy("nvidia-smi printed more than 4 MiB", "run nvidia-smi by hand and look"),
    "insufficient_power": Remedy("a board's power cables are not connected", "connect them"),
    "irq_issue": Remedy(
        "the kernel does not deliver the GPU's interrupts", "dmesg; update the BIOS"
    ),
    "no_memory": Remedy("the driver could not allocate memory", "free memory on the node"),
}

GPU_REASONS = {
    "gpu_lost": Remedy(
        "it has fallen off the bus", "drain the node and reboot it; then the runbook"
    ),
    "reset_required": Remedy("it asks to be reset", "drain it, then nvidia-smi --gpu-reset -i N"),
    "not_listed": Remedy("the driver does not list it any more", "lspci -d 10de:, then dmesg"),
    "not_found": Remedy("the driver counts it and cannot hand it out", "dmesg -T | grep NVRM"),
    "unknown_error": Remedy("the driver failed without a reason", "dmesg -T | grep NVRM"),
    "corrupted_inforom": Remedy("the board's own memory is damaged", "return the board"),
    "in_use": Remedy("somebody else holds it exclusively", "wait until it is let go of"),
}

VENDOR_REASONS = {
    "unknown_error": Remedy(
        "reading its GPUs broke", "report it with the output of hw-exporter doctor"
    ),
    "timeout": Remedy(
        "its files or its program took longer than gpu.timeout_secs",
        "the driver hangs: dmesg -T, then drain and reboot the node",
    ),
    "stuck": Remedy(
        "its program was killed and does not die: it sleeps in the kernel",
        "the driver hangs: dmesg -T, then drain and reboot the node",
    ),
    "no_program": Remedy(
        "npu-smi is in no directory of the PATH, or others than root may write it",
        "install the driver's tools",
        "bring npu-smi and /usr/local/Ascend/driver into the container",
    ),
    "driver_not_loaded": Remedy(
        "npu-smi cannot talk to the driver",
        "reboot after an upgrade of driver or firmware; run the exporter as a user who may open"
        " /dev/davinci_manager",
        "bring /dev/davinci_manager, /dev/devmm_svm and /dev/hisi_hdc into the container",
    ),
    "no_devices": Remedy("npu-smi failed without a word", "run npu-smi info by hand and look"),
    "garbage": Remedy("its answer cannot be understood", "run npu-smi info by hand and look"),
    "flood": Remedy("npu-smi printed more than 1 MiB", "run npu-smi info by hand and look"),
}

EBPF_REASONS = {
    "bpftrace is not installed": Remedy(
        "calls and events are counted by bpftrace, which is not here",
        "apt-get install bpftrace (dnf install bpftrace), or ebpf.enabled = false",
        "use an image with bpftrace, or ebpf.enabled = false",
    ),
    "bpftrace needs root": Remedy(
        "only user id 0 may attach to functions with bpftrace",
        "add deploy/systemd/ebpf.conf to the service (docs/systemd.md), or run as root with"
        " CAP_SYS_ADMIN and CAP_SYS_PTRACE",
        "securityContext.runAsUser: 0 with capabilities.add: [SYS_ADMIN, SYS_PTRACE]",
    ),
    "we lack": Remedy(
        "capabilities for bpftrace are missing",
        "add deploy/systemd/ebpf.conf to the service (docs/systemd.md), or CAP_SYS_ADMIN and"
        " CAP_SYS_PTRACE to AmbientCapabilities and CapabilityBoundingSet",
        "securityContext.capabilities.add: [SYS_ADMIN, SYS_PTRACE]",
    ),
    "this kernel has no": Remedy(
        "the kernel was built without what bpftrace attaches to",
        "boot a kernel of the distribution (CONFIG_UPROBE_EVENTS, CONFIG_BPF_EVENTS), or"
        " ebpf.enabled = false",
    ),
    "the processes of the node are not seen": Remedy(
        "the kernel counts by pids of the node, which mean nothing in a pid namespace",
        "run outside the pid namespace, or set sources.proc_root to the host's /proc",
        "set hostPID: true (docker run --pid=host)",
    ),
    "tracefs is not mounted": Remedy(
        "the kernel's trace events cannot be seen",
        "mount -t tracefs nodev /sys/kernel/tracing",
        "mount the host's /sys/kernel/tracing at the same place",
    ),
}
"""By how the reason of a source begins."""

ATTRIBUTION_REASONS = {
    "no_host_pids": Remedy(
        "this process is in a pid namespace of its own: the driver's pids mean nothing in it",
        "run outside the pid namespace, or set sources.proc_root to the host's /proc",
        "set hostPID: true (docker run --pid=host)",
    ),
    "proc_hidden": Remedy(
        "/proc shows no process but our own",
        "mount /proc without hidepid, or run in the group named by its gid= option",
    ),
    "pids_not_found": Remedy(
        "no process that the driver names exists here",
        "run outside the pid namespace, or set sources.proc_root to the host's /proc",
        "set hostPID: true (docker run --pid=host)",
    ),
    "no_pod_names": Remedy(
        "processes are in pods, and the kubelet's files cannot be read",
        "let this user read /var/log/pods and /var/log/containers",
        "mount the host's /var/log/pods and /var/log/containers read-only below /host",
    ),
    "no_process_list": Remedy(
        "the driver did not say which processes there are",
        "see the line about the GPU library",
    ),
}
