"""Families of the network."""

from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample
from exporter.exposition.samples import Samples, of_each, without_zeros
from exporter.model.network import Interface, Network
from exporter.model.snapshot import Snapshot


def _used(network: Network) -> Iterable[Interface]:
    """The interfaces that have ever carried a packet, or could now."""
    return (interface for interface in network.interfaces if not interface.is_unused)


def _all(network: Network) -> Iterable[Interface]:
    return network.interfaces


def _label(interface: Interface) -> tuple[str, ...]:
    return (interface.device,)


def _of_used(value: Callable[[Interface], float | None]) -> Samples:
    return of_each(Network, _used, _label, value)


def _counter(
    name: str, help_text: str, value: Callable[[Interface], float | None], *, is_trouble: bool
) -> Family:
    samples = _of_used(value)
    return Family(
        f"hw_network_{name}_total",
        help_text,
        Kind.COUNTER,
        ("device",),
        without_zeros(samples) if is_trouble else samples,
    )


def _info(snapshot: Snapshot) -> Iterable[Sample]:
    network = snapshot.reading(Network)
    for interface in network.interfaces if network else ():
        words = (
            interface.driver,
            interface.pci_bus_id,
            interface.numa_node,
            interface.mtu,
            interface.operstate,
        )
        yield (interface.device, *("" if word is None else str(word) for word in words)), 1


def _namespace(snapshot: Snapshot) -> Iterable[Sample]:
    network = snapshot.reading(Network)
    return () if network is None else (((network.namespace,), 1),)


FAMILIES = (
    _counter("receive_bytes", "Bytes received.", lambda nic: nic.receive_bytes, is_trouble=False),
    _counter("transmit_bytes", "Bytes sent.", lambda nic: nic.transmit_bytes, is_trouble=False),
    _counter(
        "receive_packets", "Packets received.", lambda nic: nic.receive_packets, is_trouble=False
    ),
    _counter(
        "transmit_packets", "Packets sent.", lambda nic: nic.transmit_packets, is_trouble=False
    ),
    _counter(
        "receive_errors",
        "Damaged packets received.",
        lambda nic: nic.receive_errors,
        is_trouble=True,
    ),
    _counter(
        "transmit_errors",
        "Packets that could not be sent.",
        lambda nic: nic.transmit_errors,
        is_trouble=True,
    ),
    _counter(
        "receive_drops",
        "Packets received and dropped for lack of room.",
        lambda nic: nic.receive_drops,
        is_trouble=True,
    ),
    _counter(
        "transmit_drops",
        "Packets to send that were dropped.",
        lambda nic: nic.transmit_drops,
        is_trouble=True,
    ),
    Family(
        "hw_network_up",
        "Whether the interface can carry traffic.",
        Kind.GAUGE,
        ("device",),
        of_each(Network, _all, _label, lambda nic: nic.up),
    ),
    Family(
        "hw_network_speed_bytes_per_second",
        "Speed of the link in one direction; absent while it is down or not said.",
        Kind.GAUGE,
        ("device",),
        _of_used(lambda nic: nic.speed_bytes_per_second),
    ),
    _counter(
        "carrier_changes",
        "How often the link went up or down.",
        lambda nic: nic.carrier_changes,
        is_trouble=False,
    ),
    Family(
        "hw_network_info",
        "What the interface is; always 1.",
        Kind.GAUGE,
        ("device", "driver", "pci_bus_id", "numa_node", "mtu", "operstate"),
        _info,
    ),
    Family(
        "hw_exporter_network_namespace_info",
        "Whose network is shown: host, or pod where only our own could be seen; always 1.",
        Kind.GAUGE,
        ("scope",),
        _namespace,
    ),
)
