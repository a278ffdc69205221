"""Families of InfiniBand and RoCE ports."""

from exporter.exposition.rows import Row, each, families
from exporter.model.infiniband import Infiniband, InfinibandPort

MAX_WITH_ZEROS = 32

PORTS = each(Infiniband, lambda found: found.ports, InfinibandPort, "device", "port")

FAMILIES = (
    *families(
        "hw_infiniband_port_",
        PORTS,
        Row("up", "Whether the InfiniBand or RoCE port is active."),
        Row("state", "State of the InfiniBand or RoCE port; always 1.", labels=("state",)),
        Row("rate_bytes_per_second", "Data rate of the port in one direction."),
        Row("receive_bytes_total", "Bytes received by the InfiniBand port."),
        Row("transmit_bytes_total", "Bytes transmitted by the InfiniBand port."),
        Row(
            "errors_total",
            "Port errors by the kernel's counter name; with many ports, only errors that occurred.",
            labels=("error",),
            max_with_zeros=MAX_WITH_ZEROS,
        ),
        Row("wait_total", "Transmit wait: ticks in which data waited for flow control credits."),
    ),
    *families(
        "hw_rdma_",
        PORTS,
        Row(
            "events_total",
            "RDMA retransmissions, timeouts and congestion marks by the kernel's counter"
            " name; with many ports, only those that occurred.",
            labels=("event",),
            max_with_zeros=MAX_WITH_ZEROS,
        ),
    ),
)
