"""The collector of the kernel log."""

from functools import partial

from exporter.collector import Collector, SourceRow
from exporter.collectors.kernel_log.events import (
    KernelLines,
    event_kinds,
    feed,
    gpus_at_addresses,
    line_of,
)
from exporter.collectors.kernel_log.families import FAMILIES
from exporter.collectors.kernel_log.pattern_file import Lines, shipped_lines
from exporter.collectors.kernel_log.source import KernelLogSource
from exporter.collectors.kernel_log.values import KERNEL_LOG, KernelLog
from exporter.config import Config
from exporter.faults.entities.node import NodeFields
from exporter.faults.replay.snapshots import RecordedEvents
from exporter.faults.rules.schema import Mistake
from exporter.faults.subject import CollectorSubject


def collector_of(lines: Lines, mistakes: tuple[Mistake, ...] = ()) -> Collector:
    """Return the collector that knows these lines; `mistakes` are those in files of lines."""
    return Collector(
        "kernel_log",
        sources=(
            SourceRow(
                "kernel_log",
                "kernel_log",
                partial(KernelLogSource, lines),
                is_asked_for=lambda config: config.kernel_log.enabled,
            ),
        ),
        values=(KernelLog,),
        recorded=RecordedEvents("kernel", KernelLog, lambda: KernelLines(lines).events, line_of),
        mistakes=mistakes,
        configured=configured,
        families=FAMILIES,
        subject=CollectorSubject(
            node=NodeFields(readings=(("kernel_log_", KernelLog),)),
            feeds=(feed,),
            event_kinds=event_kinds(lines),
            counts_events=frozenset({KERNEL_LOG}),
            names=gpus_at_addresses,
        ),
    )


def configured(config: Config) -> Collector:
    """Return the collector with the lines of `kernel_log.patterns_dirs`."""
    if not config.kernel_log.patterns_dirs:
        return COLLECTOR
    from exporter.collectors.kernel_log.pattern_checks import lines_with  # noqa: PLC0415 - only for files of the operator

    return collector_of(*lines_with(config.kernel_log.patterns_dirs))


COLLECTOR = collector_of(shipped_lines())
