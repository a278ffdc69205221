"""Values of network interfaces, the TCP/IP stack and InfiniBand ports."""

from exporter.exposition.rows import metric
from exporter.model.reading import Labeled
from exporter.record import dataclass


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface; counters run since its creation, `None` was not reported."""

    device: str
    receive_bytes: int | None = None
    receive_packets: int | None = None
    receive_errors: int | None = None
    receive_drops: int | None = None
    transmit_bytes: int | None = None
    transmit_packets: int | None = None
    transmit_errors: int | None = None
    transmit_drops: int | None = None
    up: bool | None = None  # carries traffic now
    admin_up: bool | None = None  # switched on by an administrator (IFF_UP)
    speed_bytes_per_second: float | None = None  # one direction; absent while there is no link
    carrier_changes: int | None = None
    carrier_up_count: int | None = None  # times the link came up since creation
    link_was_up: bool | None = None  # now or ever before, as far as remembered
    peers_up: int | None = None  # other interfaces of the same driver that are up
    driver: str | None = None
    pci_bus_id: str | None = None
    numa_node: int | None = None
    mtu: int | None = None
    operstate: str | None = None

    @property
    def is_unused(self) -> bool:
        """Whether the interface is down and has never carried a packet."""
        return self.up is False and not self.receive_packets and not self.transmit_packets


@dataclass(frozen=True, slots=True)
class Network:
    """The interfaces by name, and their network namespace.

    `namespace` is `host` for the node's, or `pod` if only a pod's own is visible; then `interfaces`
    is empty.
    """

    namespace: str
    interfaces: tuple[Interface, ...] = ()
    truncated: int = 0  # interfaces beyond the maximum

    def device_kind(self) -> str:
        """Return the name of the devices that `truncated` counts."""
        return "interface"


@dataclass(frozen=True, slots=True)
class NetworkStack:
    """Counters of TCP, the receive queues and connection tracking since boot."""

    tcp_segments_received: int | None = None
    tcp_segments_sent: int | None = None
    tcp_retransmitted_segments: int | None = metric(
        "TCP segments that were retransmitted because no acknowledgement came.",
        "Tcp:RetransSegs",
        name="tcp_retransmitted_segments_total",
    )
    tcp_resets: int | None = metric(
        "TCP resets (RST) that the node has sent.", "Tcp:OutRsts", name="tcp_resets_total"
    )
    tcp_listen_drops: int | None = metric(
        "TCP connections dropped because a listen queue was full.",
        "TcpExt:ListenDrops",
        name="tcp_listen_drops_total",
    )
    softnet_dropped: int | None = None
    softnet_squeezed: int | None = None
    conntrack_entries: int | None = None
    conntrack_limit: int | None = None
    conntrack_drops: int | None = None  # packets lost because the table was full or busy


@dataclass(frozen=True, slots=True)
class InfinibandPort:
    """One port; counters run since the driver was loaded, with the names of the kernel."""

    device: str
    port: str
    state: str | None = None  # active, init, down, …
    phys_state: str | None = None  # linkup, polling, disabled, …
    link_layer: str | None = None  # InfiniBand, Ethernet
    rate_bytes_per_second: float | None = None
    receive_bytes: int | None = None
    transmit_bytes: int | None = None
    wait: int | None = None  # ticks in which data waited for credits of the peer
    errors: Labeled = ()
    events: Labeled = ()  # RDMA counters: out_of_sequence, np_cnp_sent, …
    pci_bus_id: str | None = None
    link_was_up: bool | None = None  # now or ever before, as far as remembered
    peers_up: int | None = None  # other ports of the same link layer that are active

    @property
    def error_count(self) -> int | None:
        """Sum of the port's error counters; None where the kernel has none."""
        return sum(int(count) for _, count in self.errors) if self.errors else None

    @property
    def up(self) -> bool | None:
        """Whether the port is active; None if the state is unknown."""
        return None if self.state is None else self.state == "active"


@dataclass(frozen=True, slots=True)
class Infiniband:
    """The ports, ordered by device and number."""

    ports: tuple[InfinibandPort, ...]
    truncated: int = 0  # ports beyond the maximum

    def device_kind(self) -> str:
        """Return the name of the devices that `truncated` counts."""
        return "infiniband_port"
