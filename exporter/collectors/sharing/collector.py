"""The collector of shared GPUs: parts and quotas, beside what workloads use."""

from pathlib import Path

from exporter.collector import Collector
from exporter.collectors.workloads.source import Sharing, WorkloadSource
from exporter.reading.context import SourceContext
from exporter.reading.source import AnySource


def with_sharing(workloads: AnySource, ctx: SourceContext) -> AnySource:
    """Let the source of workloads read how GPUs are shared, from the first GPU on."""
    if isinstance(workloads, WorkloadSource):
        workloads.build_sharing = lambda: _build(ctx, workloads.root)
    return workloads


def _build(ctx: SourceContext, root: Path) -> Sharing:
    from exporter.collectors.sharing import schedulers  # noqa: PLC0415 - not without a GPU

    return schedulers.build_schedulers(ctx, root)


COLLECTOR = Collector("sharing", extends={"workloads": with_sharing})
