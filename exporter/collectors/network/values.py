"""Values of network interfaces, the TCP/IP stack and InfiniBand ports."""

from typing import Any, ClassVar, TypeAlias

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
    device_kind: ClassVar[str] = "interface"


MAX_WITH_ZEROS = 8
"""With more interfaces than this, errors and drops of zero are left out."""

Counts: TypeAlias = tuple[tuple[str, int], ...]
"""Numbers by label."""


def _counted(help_text: str, name: str) -> Any:
    return metric(help_text, name=name, max_with_zeros=MAX_WITH_ZEROS)


@dataclass(frozen=True, slots=True)
class NicCounters:
    """What the driver of one interface counts, of which every driver has a part only.

    PFC frames are by priority; `None` and no rows are what the driver does not count.
    """

    device: str
    receive_pfc_frames: Counts = ()
    transmit_pfc_frames: Counts = ()
    receive_pause_frames: int | None = _counted(
        "Pause frames (IEEE 802.3x) received: the link partner asks to stop.",
        "receive_pause_frames_total",
    )
    transmit_pause_frames: int | None = _counted(
        "Pause frames (IEEE 802.3x) sent: the adapter asks the link partner to stop.",
        "transmit_pause_frames_total",
    )
    receive_pause_seconds: float | None = _counted(
        "Time for which received pauses, PFC or IEEE 802.3x, stopped the transmission; the sum of"
        " the priorities.",
        "receive_pause_seconds_total",
    )
    pause_storms: int | None = _counted(
        "How often the adapter sent pauses for so long that it was made to stop sending them.",
        "pause_storms_total",
    )
    receive_discards: int | None = _counted(
        "Packets that the adapter discarded because its own receive buffer was full.",
        "receive_discards_total",
    )
    receive_no_buffer: int | None = _counted(
        "Packets that the adapter discarded because the host gave it no free receive buffer.",
        "receive_no_buffer_total",
    )
    transmit_discards: int | None = _counted(
        "Packets that the adapter discarded before it transmitted them.",
        "transmit_discards_total",
    )
    fec_corrected_bits: int | None = _counted(
        "Bits that forward error correction (FEC) has corrected; some are normal on fast links.",
        "fec_corrected_bit_errors_total",
    )
    fec_uncorrectable_blocks: int | None = _counted(
        "Blocks that forward error correction (FEC) could not correct: their packets are lost.",
        "fec_uncorrectable_blocks_total",
    )
    symbol_errors: int | None = _counted(
        "Symbol errors on the line that no error correction repaired.", "symbol_errors_total"
    )
    receive_crc_errors: int | None = _counted(
        "Packets received with a wrong checksum (CRC, FCS).", "receive_crc_errors_total"
    )
    allowance_exceeded: Counts = ()

    @property
    def pauses_received(self) -> int | None:
        """Pause frames received, PFC of all priorities and IEEE 802.3x; None if not counted."""
        return _sum_of(self.receive_pfc_frames, self.receive_pause_frames)

    @property
    def pauses_sent(self) -> int | None:
        """Pause frames sent, PFC of all priorities and IEEE 802.3x; None if not counted."""
        return _sum_of(self.transmit_pfc_frames, self.transmit_pause_frames)


def _sum_of(by_label: Counts, further: int | None) -> int | None:
    numbers = [number for _, number in by_label]
    return sum((*numbers, further or 0)) if numbers or further is not None else None


@dataclass(frozen=True, slots=True)
class DriverCounters:
    """The interfaces whose drivers count something that is exported, ordered by name."""

    nics: tuple[NicCounters, ...]


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
    conntrack_drops: int | None = None  # packets, because the table was full or busy


@dataclass(frozen=True, slots=True)
class InfinibandPort:
    """One port; counters run since the driver was loaded, with the names of the kernel."""

    device: str
    port: str
    state: str | None = None  # active, init, down, …
    phys_state: str | None = None  # linkup, polling, disabled, …
    link_layer: str | None = None  # InfiniBand, Ethernet
    rate_bytes_per_second: float | None = None  # absent while there is no link
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
    def rdma_events(self) -> Labeled:
        """The RDMA counters, under their name in rules."""
        return self.events

    @property
    def up(self) -> bool | None:
        """Whether the port is active; None if the state is unknown."""
        return None if self.state is None else self.state == "active"


@dataclass(frozen=True, slots=True)
class Infiniband:
    """The ports, ordered by device and number."""

    ports: tuple[InfinibandPort, ...]
    truncated: int = 0  # ports beyond the maximum
    device_kind: ClassVar[str] = "infiniband_port"
