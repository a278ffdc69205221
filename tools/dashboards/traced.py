"""The row of what bpftrace counts in the kernel, where that is enabled (docs/ebpf.md)."""

from tools.dashboards.document import Row
from tools.dashboards.parts import highest, lines, rate

NOT_ENABLED = "not enabled: docs/ebpf.md"
WHO = "{{namespace}} {{pod}} {{container}}"


def _slowest(family: str, labels: str) -> str:
    """Return the 99th percentile of a histogram by these labels, the ten highest."""
    buckets = f"sum by ({labels}, le) ({rate(f'{family}_bucket')})"
    return highest(10, f"histogram_quantile(0.99, {buckets})", labels)


TRACED = Row(
    "Calls and events counted in the kernel",
    (
        lines(
            "Disk latency of the device, 99th percentile",
            "s",
            (
                _slowest("hw_disk_latency_seconds", "cluster, node, device, operation"),
                "{{device}} {{operation}}",
            ),
            empty=NOT_ENABLED,
        ),
        lines(
            "TCP retransmits by workload, ten highest",
            "pps",
            (
                highest(
                    10,
                    rate("hw_tcp_retransmits_total"),
                    "cluster, node, namespace, pod, container, process",
                ),
                f"{WHO} {{{{process}}}}",
            ),
            empty=NOT_ENABLED,
        ),
        lines(
            "Calls into CUDA and NCCL, 99th percentile, ten slowest",
            "s",
            (
                _slowest(
                    "hw_call_duration_seconds", "cluster, node, call, namespace, pod, container"
                ),
                f"{{{{call}}}} {WHO}",
            ),
            empty=NOT_ENABLED,
        ),
        lines(
            "Bytes given to NCCL by workload, ten highest",
            "Bps",
            (
                highest(
                    10,
                    "sum by (cluster, node, namespace, pod, container)"
                    f" ({rate('hw_nccl_bytes_total')})",
                    "cluster, node, namespace, pod, container",
                ),
                WHO,
            ),
            empty=NOT_ENABLED,
        ),
        lines(
            "Calls of chosen functions, ten most called",
            "ops",
            (
                highest(
                    10,
                    rate("hw_function_calls_total"),
                    "cluster, node, function, namespace, pod, container",
                ),
                f"{{{{function}}}} {WHO}",
            ),
            empty=NOT_ENABLED,
        ),
    ),
    is_folded=True,
)
