"""The collector of the kernel log."""

from exporter.collector import Collector, SourceRow
from exporter.collectors.kernel_log.events import EVENT_KINDS, feed, gpus_at_addresses
from exporter.collectors.kernel_log.families import FAMILIES
from exporter.collectors.kernel_log.recorded import KernelLines
from exporter.collectors.kernel_log.source import build_kernel_log
from exporter.collectors.kernel_log.values import KERNEL_LOG, KernelLog
from exporter.faults.entities.node import NodeFields
from exporter.faults.replay.snapshots import RecordedEvents
from exporter.faults.subject import Subject

COLLECTOR = Collector(
    "kernel_log",
    sources=(
        SourceRow(
            "kernel_log",
            "kernel_log",
            build_kernel_log,
            is_asked_for=lambda config: config.kernel_log.enabled,
        ),
    ),
    values=(KernelLog,),
    recorded=RecordedEvents("kernel", KernelLog, KernelLines),
    families=FAMILIES,
    subject=Subject(
        node=NodeFields(readings=(("kernel_log_", KernelLog),)),
        feeds=(feed,),
        event_kinds=EVENT_KINDS,
        counts_events=frozenset({KERNEL_LOG}),
        names=gpus_at_addresses,
    ),
)
