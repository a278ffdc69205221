"""The source of workloads on a node that may have no GPU: imported when the first GPU is known."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.collectors.gpu.values import Gpus
from exporter.collectors.workloads.values import Workloads
from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot
from exporter.reading.context import SourceContext
from exporter.reading.files import FILE_DEADLINE_SECS
from exporter.reading.source import SourceAbsent

if TYPE_CHECKING:
    from exporter.collectors.workloads.source import Sharing, WorkloadSource


class LateWorkloads:
    """Builds a WorkloadSource when the first GPU is known, and reads it from then on.

    `build_sharing` is an argument of the WorkloadSource.
    """

    name = "workloads"
    follows = Gpus
    deadline_secs = FILE_DEADLINE_SECS

    def __init__(self, ctx: SourceContext) -> None:
        self._ctx = ctx
        self.build_sharing: Callable[[Path], Sharing] | None = None
        self._source: WorkloadSource | None = None

    async def read_after(self, seen: Snapshot) -> Reading[Workloads]:
        """Sum up the workloads on the GPUs of this snapshot; raise SourceAbsent without GPUs."""
        gpus = seen.reading(Gpus)
        if self._source is None and gpus is not None and gpus.states:
            from exporter.collectors.workloads import source  # noqa: PLC0415 - not without a GPU

            self._source = source.WorkloadSource(self._ctx, self.build_sharing)
        if self._source is None:
            raise SourceAbsent("no GPU is known")
        return await self._source.read_after(seen)

    async def close(self) -> None:
        """Stop the requests about sharing and Slurm jobs that are still running."""
        if self._source is not None:
            await self._source.close()
