"""Resource usage of the exporter, from psutil (https://psutil.readthedocs.io/#process-class)."""

import psutil

from exporter.collectors.exporter.values import OurProcesses
from exporter.model.reading import Reading
from exporter.probes.child import Children


class OurProcessesReader:
    """Sums over this process and all children; processor time of ended children stays in."""

    def __init__(self, families: tuple[Children, ...]) -> None:
        self._families = families
        self._main = psutil.Process()

    def read(self) -> Reading[OurProcesses]:
        """Read the totals now; a child that ends meanwhile is left out."""
        processes = [self._main]
        for pid in (pid for family in self._families for pid in family.pids):
            try:
                processes.append(psutil.Process(pid))
            except psutil.NoSuchProcess:
                continue  # it ended since it was listed
        totals = [total for total in map(_use, processes) if total is not None]
        ended = self._main.cpu_times()
        return Reading(
            OurProcesses(
                count=len(totals),
                resident_memory_bytes=sum(total[0] for total in totals),
                cpu_seconds=sum(total[1] for total in totals)
                + ended.children_user
                + ended.children_system,
                open_descriptors=sum(total[2] for total in totals),
                threads=sum(total[3] for total in totals),
                started_at=self._main.create_time(),
                abandoned_children=sum(family.abandoned_count for family in self._families),
            )
        )


def _use(process: psutil.Process) -> tuple[int, float, int, int] | None:
    """Resident bytes, processor seconds, descriptors and threads; None when it has ended."""
    try:
        with process.oneshot():
            times = process.cpu_times()
            return (
                process.memory_info().rss,
                times.user + times.system,
                process.num_fds(),
                process.num_threads(),
            )
    except psutil.Error:
        return None  # it ended, or it is a child whose numbers we may not see
