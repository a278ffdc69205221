"""Families of InfiniBand and RoCE ports."""

from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample
from exporter.exposition.samples import Samples, of_each, without_zeros
from exporter.model.infiniband import Infiniband, InfinibandPort
from exporter.model.reading import Labeled
from exporter.model.snapshot import Snapshot

MAX_WITH_ZEROS = 32


def _of(value: Callable[[InfinibandPort], float | None]) -> Samples:
    return of_each(
        Infiniband, lambda found: found.ports, lambda port: (port.device, port.port), value
    )


def _by_name(values: Callable[[InfinibandPort], Labeled]) -> Samples:
    def samples(snapshot: Snapshot) -> Iterable[Sample]:
        infiniband = snapshot.reading(Infiniband)
        for port in infiniband.ports if infiniband else ():
            for name, count in values(port):
                yield (port.device, port.port, name), count

    return without_zeros(samples, MAX_WITH_ZEROS)


def _state(snapshot: Snapshot) -> Iterable[Sample]:
    infiniband = snapshot.reading(Infiniband)
    for port in infiniband.ports if infiniband else ():
        if port.state is not None:
            yield (port.device, port.port, port.state), 1


PORT = ("device", "port")

FAMILIES = (
    Family(
        "hw_infiniband_port_up",
        "Whether the port is active.",
        Kind.GAUGE,
        PORT,
        _of(lambda port: port.up),
    ),
    Family(
        "hw_infiniband_port_state",
        "The state the port is in; always 1.",
        Kind.GAUGE,
        (*PORT, "state"),
        _state,
    ),
    Family(
        "hw_infiniband_port_rate_bytes_per_second",
        "Speed of the port in one direction.",
        Kind.GAUGE,
        PORT,
        _of(lambda port: port.rate_bytes_per_second),
    ),
    Family(
        "hw_infiniband_port_receive_bytes_total",
        "Bytes received.",
        Kind.COUNTER,
        PORT,
        _of(lambda port: port.receive_bytes),
    ),
    Family(
        "hw_infiniband_port_transmit_bytes_total",
        "Bytes sent.",
        Kind.COUNTER,
        PORT,
        _of(lambda port: port.transmit_bytes),
    ),
    Family(
        "hw_infiniband_port_errors_total",
        "Errors by the kernel's names; many ports show only those that occurred.",
        Kind.COUNTER,
        (*PORT, "error"),
        _by_name(lambda port: port.errors),
    ),
    Family(
        "hw_infiniband_port_wait_total",
        "Ticks in which data waited for room at the other end.",
        Kind.COUNTER,
        PORT,
        _of(lambda port: port.wait),
    ),
    Family(
        "hw_rdma_events_total",
        "Repeats, time-outs and congestion marks by the kernel's names; many ports show only "
        "those that occurred.",
        Kind.COUNTER,
        (*PORT, "event"),
        _by_name(lambda port: port.events),
    ),
)
