"""Lines of the kernel log that several recordings need, and what a repair changes on a node."""

from tests.corpus.machines import trainer
from tests.corpus.story import Story

FELL = "GPU has fallen off the bus."
GSP = "Timeout after 6s of waiting for RPC response from GPU1 GSP! Expected function 76"
RESET = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
REBOOT = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
NOTHING = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
DOUBLE_BIT = "An uncorrectable double bit error (DBE) has been detected on GPU."
LOADS = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.124.06"
GPU_AFTER = (
    *("gpu_count_low", "gpu_recovery_required", "gpu_idle_allocated", "gpu_allocated_unused"),
    *("nvlink_down", "telemetry_stale", "gpu_memory_orphan", "backend_stuck", "gpu_app_fault"),
)
STARVED = (
    *("io_stall", "disk_slow", "disk_stalled", "process_waits_for_storage", "hung_task"),
    *("gpu_busy_without_work", "gpu_idle_allocated", "filesystem_stuck"),
)


def aer(device: str, severity: str, bit: str = "[14] CmpltTO") -> str:
    """The kernel's words for an error that a device sent itself, in one message."""
    return (
        f"pcieport 0000:3a:00.0: AER: {severity} error message received from {device}\n"
        f"nvidia {device}: PCIe Bus Error: severity={severity}, type=Transaction Layer, "
        "(Requester ID)\n"
        f"nvidia {device}:   device [10de:2330] error status/mask=00004000/00400000\n"
        f"nvidia {device}:    {bit}                (First)"
    )


def write_failed(disk: str, sector: int = 499204104) -> str:
    """A write that a disk refused."""
    return (
        f"I/O error, dev {disk}, sector {sector} op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2"
    )


def driver_loads_again(node: Story) -> None:
    """The module is unloaded and loaded: all cards vanish, then answer with fresh counters."""
    node.put("Gpus", backend={"backend": "none", "reason": "no_driver", "nvml_up": None})
    node.put("Gpus", states=dict.fromkeys(node.bus_addresses))
    node.wait(15)
    node.log(LOADS)
    node.wait(15)
    node.put(Gpus=trainer()["Gpus"])
    node.wait(30)


def goes_down(node: Story, name: str = "eth0") -> None:
    """An interface loses its link."""
    node.log(f"mlx5_core 0000:5c:00.0 {name}: Link down")
    node.put("Network", "interfaces", name, up=False, operstate="down")
    node.put("Network", "interfaces", name, carrier_changes=3)


def comes_up(node: Story, name: str = "eth0") -> None:
    """An interface has its link again."""
    node.log(f"mlx5_core 0000:5c:00.0 {name}: Link up")
    node.put("Network", "interfaces", name, up=True, operstate="up")
    node.put("Network", "interfaces", name, carrier_changes=4)
