"""The collector of shared GPUs: parts and quotas, beside what workloads use."""

from pathlib import Path

from exporter.collector import Collector
from exporter.collectors.sharing.mps import MpsControl
from exporter.collectors.sharing.schedulers import Schedulers
from exporter.collectors.workloads.source import WorkloadSource
from exporter.reading.context import SourceContext
from exporter.reading.source import AnySource


def with_sharing(workloads: AnySource, ctx: SourceContext) -> AnySource:
    """Let the source of workloads read how GPUs are shared."""
    mps = MpsControl(
        ctx.children,
        ctx.child_environment,
        tuple(map(Path, ctx.config.gpu.mps_control_paths)),
        call=ctx.call,
        boottime=ctx.boottime,
    )
    if isinstance(workloads, WorkloadSource):
        workloads.sharing = Schedulers(workloads.root, mps, ctx.call)
    return workloads


COLLECTOR = Collector("sharing", extends={"workloads": with_sharing})
