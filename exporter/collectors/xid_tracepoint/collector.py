"""The collector of Xids by the tracepoint of the NVIDIA driver; off by default."""

from exporter.collector import About, Collector, SourceRow
from exporter.collectors.kernel_log.counters import XID_KINDS
from exporter.collectors.kernel_log.events import KernelLines, line_of
from exporter.collectors.kernel_log.values import TRACEPOINT, TracedXids
from exporter.collectors.xid_tracepoint.source import XidTracepointSource, xid_lines
from exporter.faults.replay.snapshots import RecordedEvents
from exporter.faults.subject import CollectorSubject, NumberedEvents


def feed(_: bool) -> NumberedEvents:  # noqa: FBT001 - the type of a feed: Xids are numbered anew
    """Return the feed of the Xids of the tracepoint; none is kept over a restart."""
    return NumberedEvents(TRACEPOINT, TracedXids)


COLLECTOR = Collector(
    "xid_tracepoint",
    sources=(
        SourceRow(
            "xid_tracepoint",
            "gpu",
            XidTracepointSource,
            by_default=False,
            about=About(
                "the tracepoint `nvidia_dev_xid` in `/sys/kernel/tracing`",
                "`hw_gpu_xid*`",
                "root, tracefs that can be written, and an NVIDIA driver with the tracepoint",
                without="absent or failed, with the reason",
            ),
        ),
    ),
    values=(TracedXids,),
    recorded=RecordedEvents(
        "traced_xid", TracedXids, lambda: KernelLines(xid_lines(), TRACEPOINT).events, line_of
    ),
    subject=CollectorSubject(
        feeds=(feed,),
        event_kinds=dict.fromkeys(XID_KINDS, frozenset({TRACEPOINT})),
    ),
)
