"""Settings of the eBPF counters."""

from exporter.config.setting import setting
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Ebpf:
    """Calls and events counted in the kernel with bpftrace (eBPF)."""

    enabled: bool = setting(
        False,
        "Count calls and events; requires root, bpftrace and a kernel with uprobes: docs/ebpf.md.",
    )
    layers: tuple[str, ...] = setting(
        ("cuda", "nccl"), "Libraries whose calls are counted.", one_of=("cuda", "nccl")
    )
    kernel_events: tuple[str, ...] = setting(
        (),
        "Kernel events to count: TCP retransmits per workload, latency per disk.",
        one_of=("tcp_retransmits", "disk_latency"),
    )
    torch_operators: tuple[str, ...] = setting(
        (),
        "PyTorch operators to count, such as mm or add.Tensor.",
        each_like=(r"[A-Za-z_]\w{0,60}(\.\w{1,60})?", "an operator such as add.Tensor"),
    )
    python_functions: tuple[str, ...] = setting(
        (),
        "Python functions to count, such as train_step or Trainer.step.",
        each_like=(r"[A-Za-z_][\w.]{0,60}", "a function such as Trainer.step"),
    )
    skipped_calls: tuple[str, ...] = setting(
        (),
        "Functions not to count, such as cudaLaunchKernel if it is called too often.",
        one_of=(
            *("cudaLaunchKernel", "cudaMalloc", "cudaFree", "cudaMemcpy", "cudaMemcpyAsync"),
            *("cuLaunchKernel", "cuMemAlloc_v2", "cuMemFree_v2"),
            *("ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclAllGather"),
            *("ncclReduceScatter", "ncclSend", "ncclRecv", "ncclGroupEnd"),
        ),
    )
