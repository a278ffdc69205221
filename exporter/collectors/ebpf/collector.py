"""The collector of what eBPF traces."""

from pathlib import Path

from exporter.collector import Collector, SourceRow
from exporter.collectors.ebpf.entities import COMMUNICATOR
from exporter.collectors.ebpf.families import FAMILIES
from exporter.collectors.ebpf.traced_calls import TracedCallsSource
from exporter.collectors.ebpf.traced_events import TracedEventsSource
from exporter.collectors.ebpf.traced_functions import TracedFunctionsSource
from exporter.collectors.ebpf.values import TracedCalls
from exporter.config import Config
from exporter.exposition.family import experimental
from exporter.faults.subject import CollectorSubject


def _traces_calls(config: Config) -> bool:
    return config.ebpf.enabled and bool(config.ebpf.layers)


def _traces_kernel(config: Config) -> bool:
    return config.ebpf.enabled and bool(config.ebpf.kernel_events)


def _traces_functions(config: Config) -> bool:
    return config.ebpf.enabled and bool(config.ebpf.torch_operators or config.ebpf.python_functions)


COLLECTOR = Collector(
    "ebpf",
    sources=(
        SourceRow("ebpf", "probes", TracedCallsSource, is_asked_for=_traces_calls),
        SourceRow("ebpf_kernel", "probes", TracedEventsSource, is_asked_for=_traces_kernel),
        SourceRow(
            "ebpf_functions", "probes", TracedFunctionsSource, is_asked_for=_traces_functions
        ),
    ),
    values=(TracedCalls,),
    families=experimental(FAMILIES),
    subject=CollectorSubject(kinds=(COMMUNICATOR,)),
    rules=Path(__file__).parent / "rules",
)
