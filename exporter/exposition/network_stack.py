"""Families of TCP, receive queues and connection tracking."""

from collections.abc import Callable, Iterable

from exporter.exposition.family import Family, Kind, Sample, one
from exporter.exposition.samples import of
from exporter.model.network import NetworkStack
from exporter.model.snapshot import Snapshot


def _of(
    name: str, help_text: str, value: Callable[[NetworkStack], float | None], kind: Kind
) -> Family:
    return Family(name, help_text, kind, (), of(NetworkStack, value))


def _segments(snapshot: Snapshot) -> Iterable[Sample]:
    stack = snapshot.reading(NetworkStack)
    if stack is not None:
        yield from one(stack.tcp_segments_received, "receive")
        yield from one(stack.tcp_segments_sent, "transmit")


FAMILIES = (
    Family(
        "hw_tcp_segments_total",
        "TCP segments received and sent.",
        Kind.COUNTER,
        ("direction",),
        _segments,
    ),
    _of(
        "hw_tcp_retransmitted_segments_total",
        "TCP segments sent again.",
        lambda stack: stack.tcp_retransmitted_segments,
        Kind.COUNTER,
    ),
    _of("hw_tcp_resets_total", "TCP resets sent.", lambda stack: stack.tcp_resets, Kind.COUNTER),
    _of(
        "hw_tcp_listen_drops_total",
        "Connections dropped because nobody accepted them in time.",
        lambda stack: stack.tcp_listen_drops,
        Kind.COUNTER,
    ),
    _of(
        "hw_softnet_dropped_total",
        "Packets dropped because a receive queue was full.",
        lambda stack: stack.softnet_dropped,
        Kind.COUNTER,
    ),
    _of(
        "hw_softnet_squeezed_total",
        "Rounds of receiving that were cut short with packets left.",
        lambda stack: stack.softnet_squeezed,
        Kind.COUNTER,
    ),
    _of(
        "hw_conntrack_entries",
        "Connections that are tracked.",
        lambda stack: stack.conntrack_entries,
        Kind.GAUGE,
    ),
    _of(
        "hw_conntrack_limit",
        "Connections that can be tracked.",
        lambda stack: stack.conntrack_limit,
        Kind.GAUGE,
    ),
)
