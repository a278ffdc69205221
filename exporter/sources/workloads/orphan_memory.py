"""Memory that is held on a GPU by processes that are gone, or whose pod is."""

from collections.abc import Iterator

from exporter.model.gpu import GpuProcess, GpuState
from exporter.model.workload import sum_of_all
from exporter.sources.workloads.attribution import NodeSight, is_of_gone_pod
from exporter.sources.workloads.clients import is_meant


class OrphanMemory:
    """Remembers which processes were missed in the pass before: one that just ends is no orphan."""

    def __init__(self) -> None:
        self._missed_since: dict[str, dict[int, float]] = {}

    def take(self, state: GpuState, sight: NodeSight) -> int | None:
        """Bytes held by what was missed in two passes; None where that cannot be judged."""
        if state.stale or not (sight.scope.is_certain or sight.processes):
            return None
        now = state.read_boottime
        before = self._missed_since.get(state.gpu.uuid, {})
        missed = tuple(_missed(state, sight))
        since = {process.pid: before.get(process.pid, now) for process in missed}
        self._missed_since[state.gpu.uuid] = since
        return sum_of_all(
            process.used_memory_bytes for process in missed if since[process.pid] < now
        )

    def forget_all_but(self, gpu_uuids: frozenset[str]) -> None:
        """Drop what is remembered of GPUs that are no longer known."""
        for gone in self._missed_since.keys() - gpu_uuids:
            del self._missed_since[gone]


def _missed(state: GpuState, sight: NodeSight) -> Iterator[GpuProcess]:
    for process in state.gpu.processes or ():
        facts = sight.processes.get(process.pid)
        is_here = facts is not None and is_meant(facts, state)
        if facts is not None and is_here and not is_of_gone_pod(facts, sight):
            continue
        if process.pid not in sight.unread:
            yield process
