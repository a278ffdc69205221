"""The collector of shared GPUs: parts and quotas, beside what workloads use."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.collector import Collector
from exporter.collectors.workloads.late import LateWorkloads
from exporter.reading.context import SourceContext
from exporter.reading.source import AnySource

if TYPE_CHECKING:
    from exporter.collectors.workloads.source import Sharing


def with_sharing(workloads: AnySource, ctx: SourceContext) -> AnySource:
    """Let the source of workloads read how GPUs are shared, from the first GPU on."""
    if isinstance(workloads, LateWorkloads):
        workloads.build_sharing = partial(_build, ctx)
    return workloads


def _build(ctx: SourceContext, root: Path) -> "Sharing":
    from exporter.collectors.sharing import mps, schedulers  # noqa: PLC0415 - not without a GPU

    return schedulers.Schedulers(root, mps.MpsControl(ctx), ctx.call)


COLLECTOR = Collector("sharing", extends={"workloads": with_sharing})
