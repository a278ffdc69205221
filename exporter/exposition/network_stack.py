"""Families of TCP, receive queues and connection tracking."""

from collections.abc import Iterable

from exporter.exposition.family import Sample, family, one
from exporter.exposition.rows import Row, families, reading
from exporter.model.network import NetworkStack
from exporter.model.snapshot import Snapshot


def _segments(snapshot: Snapshot) -> Iterable[Sample]:
    stack = snapshot.reading(NetworkStack)
    if stack is not None:
        yield from one(stack.tcp_segments_received, "receive")
        yield from one(stack.tcp_segments_sent, "transmit")


FAMILIES = (
    family(
        "hw_tcp_segments_total",
        "TCP segments that the node has received and sent.",
        _segments,
        "direction",
    ),
    *families(
        "hw_",
        reading(NetworkStack),
        Row(
            "tcp_retransmitted_segments_total",
            "TCP segments that were retransmitted because no acknowledgement came.",
        ),
        Row("tcp_resets_total", "TCP resets (RST) that the node has sent."),
        Row("tcp_listen_drops_total", "TCP connections dropped because a listen queue was full."),
        Row("softnet_dropped_total", "Packets dropped because a softnet backlog was full."),
        Row("softnet_squeezed_total", "Softnet rounds that ran out of budget with packets left."),
        Row("conntrack_entries", "Connections that the kernel tracks now (conntrack)."),
        Row("conntrack_limit", "Maximum number of connections that the kernel tracks (conntrack)."),
        Row("conntrack_drops_total", "Packets dropped because conntrack could not track them."),
    ),
)
