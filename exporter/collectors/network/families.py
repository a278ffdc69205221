"""Metric families of network interfaces, the TCP/IP stack and InfiniBand ports."""

from collections.abc import Iterable

from exporter.collectors.network.values import (
    Infiniband,
    InfinibandPort,
    Interface,
    Network,
    NetworkStack,
)
from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Items, Row, each, families, info, reading, rows_of
from exporter.model.snapshot import Snapshot

MAX_WITH_ZEROS = 8
"""With more interfaces than this, errors and drops of zero are left out."""

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
        Row("rate_bytes_per_second", "Data rate of the port in one direction."),
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


FAMILIES = (*NETWORK_FAMILIES, *NETWORK_STACK_FAMILIES, *INFINIBAND_FAMILIES)
