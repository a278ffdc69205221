"""Families of the network."""

from exporter.exposition.rows import Items, Row, each, families, info, reading
from exporter.model.network import Interface, Network

MAX_WITH_ZEROS = 8
"""With more interfaces than this only errors and drops that occurred are shown."""

ALL = each(Network, lambda network: network.interfaces, Interface, "device")
USED: Items = each(
    Network,
    lambda network: (nic for nic in network.interfaces if not nic.is_unused),
    Interface,
    "device",
)
"""The interfaces that have ever carried a packet, or could now."""

FAMILIES = (
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
