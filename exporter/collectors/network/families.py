"""Metric families of network interfaces, the TCP/IP stack and InfiniBand ports."""

from collections.abc import Iterable

from exporter.collectors.gpu.labels import GPU_LABELS, gpu_label_values
from exporter.collectors.network.affinity import nearest_nics
from exporter.collectors.network.values import (
    MAX_WITH_ZEROS,
    DriverCounters,
    Infiniband,
    InfinibandPort,
    Interface,
    Network,
    NetworkStack,
    NicCounters,
)
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Items, Row, each, families, info, reading, rows_of
from exporter.model.snapshot import Snapshot

ALL = each(Network, lambda network: network.interfaces, Interface, "device")

USED: Items = each(
    Network,
    lambda network: (nic for nic in network.interfaces if not nic.is_unused),
    Interface,
    "device",
)
"""The interfaces that are up or have ever carried a packet."""

NETWORK_FAMILIES = (
    *families(
        "hw_network_",
        USED,
        Row("receive_bytes_total", "Bytes received by the network interface."),
        Row("transmit_bytes_total", "Bytes transmitted by the network interface."),
        Row("receive_packets_total", "Packets received by the network interface."),
        Row("transmit_packets_total", "Packets transmitted by the network interface."),
        Row(
            "receive_errors_total",
            "Packets that the interface received with an error.",
            max_with_zeros=MAX_WITH_ZEROS,
        ),
        Row(
            "transmit_errors_total",
            "Packets that the interface could not transmit because of an error.",
            max_with_zeros=MAX_WITH_ZEROS,
        ),
        Row(
            "receive_drops_total",
            "Received packets that the kernel or the interface dropped.",
            max_with_zeros=MAX_WITH_ZEROS,
        ),
        Row(
            "transmit_drops_total",
            "Packets dropped by the interface before they were transmitted.",
            max_with_zeros=MAX_WITH_ZEROS,
        ),
    ),
    *families("hw_network_", ALL, Row("up", "Whether the link is up (operstate).")),
    *families(
        "hw_network_",
        USED,
        Row("speed_bytes_per_second", "Link speed in one direction; absent if unknown."),
        Row("carrier_changes_total", "Carrier changes: how often the link went up or down."),
    ),
    info(
        "hw_network_info",
        "Driver, PCI bus id, NUMA node, MTU and operstate of the interface; always 1.",
        ALL,
        ("driver", "pci_bus_id", "numa_node", "mtu", "operstate"),
    ),
    info(
        "hw_exporter_network_namespace_info",
        "Network namespace that is read: host, or pod if only the pod's own is visible; always 1.",
        reading(Network),
        ("scope",),
        ("namespace",),
    ),
)


COUNTED = each(DriverCounters, lambda found: found.nics, NicCounters, "device")

DRIVER_FAMILIES = families(
    "hw_network_",
    COUNTED,
    Row(
        "receive_pfc_frames_total",
        "Priority flow control (PFC) pause frames received, of priorities that have any.",
        labels=("priority",),
        max_with_zeros=0,
    ),
    Row(
        "transmit_pfc_frames_total",
        "Priority flow control (PFC) pause frames sent, of priorities that have any.",
        labels=("priority",),
        max_with_zeros=0,
    ),
    *rows_of(NicCounters),
    Row(
        "allowance_exceeded_total",
        "Packets that AWS queued or dropped because the instance exceeded an allowance: bandwidth"
        " in and out, packets per second, tracked connections, link-local services.",
        labels=("allowance",),
    ),
)


def _affinity(snapshot: Snapshot) -> Iterable[Sample]:
    for near in nearest_nics(snapshot):
        labels = (near.device or "", near.rdma_device or "", near.path)
        yield (*gpu_label_values(near.gpu), *labels), 1


AFFINITY = family(
    "hw_gpu_nic_affinity_info",
    "Network adapters nearest to the GPU in the PCIe topology: PIX (one switch), PXB (several), PHB"
    " (one host bridge), NODE (one NUMA node), SYS (another NUMA node); always 1.",
    _affinity,
    *(*GPU_LABELS, "device", "rdma_device", "path"),
)


def _segments(snapshot: Snapshot) -> Iterable[Sample]:
    stack = snapshot.reading(NetworkStack)
    if stack is not None:
        yield from one(stack.tcp_segments_received, "receive")
        yield from one(stack.tcp_segments_sent, "transmit")


NETWORK_STACK_FAMILIES = (
    family(
        "hw_tcp_segments_total",
        "TCP segments that the node has received and sent.",
        _segments,
        "direction",
    ),
    *families(
        "hw_",
        reading(NetworkStack),
        *rows_of(NetworkStack),
        Row("softnet_dropped_total", "Packets dropped because a softnet backlog was full."),
        Row("softnet_squeezed_total", "Softnet rounds that ran out of budget with packets left."),
        Row("conntrack_entries", "Connections that the kernel tracks now (conntrack)."),
        Row("conntrack_limit", "Maximum number of connections that the kernel tracks (conntrack)."),
        Row("conntrack_drops_total", "Packets dropped because conntrack could not track them."),
    ),
)


MAX_PORTS_WITH_ZEROS = 32

PORTS = each(Infiniband, lambda found: found.ports, InfinibandPort, "device", "port")

INFINIBAND_FAMILIES = (
    *families(
        "hw_infiniband_port_",
        PORTS,
        Row("up", "Whether the InfiniBand or RoCE port is active."),
        Row("state", "State of the InfiniBand or RoCE port; always 1.", labels=("state",)),
        Row(
            "rate_bytes_per_second", "Data rate of the port in one direction; absent if it is down."
        ),
        Row("receive_bytes_total", "Bytes received by the InfiniBand port."),
        Row("transmit_bytes_total", "Bytes transmitted by the InfiniBand port."),
        Row(
            "errors_total",
            "Port errors by the kernel's counter name; with many ports, only errors that occurred.",
            labels=("error",),
            max_with_zeros=MAX_PORTS_WITH_ZEROS,
        ),
        Row("all_errors_total", "Port errors of all kinds, including zero.", "error_count"),
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
            max_with_zeros=MAX_PORTS_WITH_ZEROS,
        ),
    ),
)


FAMILIES = (
    *NETWORK_FAMILIES,
    *DRIVER_FAMILIES,
    *NETWORK_STACK_FAMILIES,
    *INFINIBAND_FAMILIES,
    AFFINITY,
)
