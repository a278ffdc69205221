"""Usage of workloads over time: energy, idle allocation and orphan memory."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from exporter.collectors.gpu.values import Gpu, GpuProcess, GpuState
from exporter.collectors.workloads.attribution import ProcessTable, is_of_gone_pod
from exporter.collectors.workloads.clients import is_meant
from exporter.collectors.workloads.values import (
    ProcessUse,
    Workload,
    WorkloadUse,
    sum_of_all,
    sum_of_known,
)
from exporter.record import dataclass, replace

WHOLE = 100.0


@dataclass(slots=True)
class EnergyShares:
    """Joules of one GPU since its counter began; their sum is at most the counter.

    `idle` are those of nobody, and all from before we looked; `ended` of workloads that are gone.
    """

    counter: float
    idle: float
    ended: float = 0.0
    workloads: dict[Workload, float] = field(default_factory=dict)


def percents_of(
    gpu: Gpu, uses: Iterable[WorkloadUse], strangers: Iterable[ProcessUse]
) -> dict[Workload | None, float | None]:
    """Return each workload's share of the GPU's time, 0 to 100; None where it is not known.

    The key None is there for processes whose workload is unknown. What the driver does not say of a
    process is 0 on a GPU that is idle.
    """
    unsaid = 0.0 if gpu.utilization_percent == 0 else None
    percents: dict[Workload | None, float | None] = {
        use.workload: 0.0 if not use.processes else _or(use.sm_utilization_percent, unsaid)
        for use in uses
        if use.gpu_uuid == gpu.uuid
    }
    unknown = [it.sm_utilization_percent for it in strangers if it.gpu_uuid == gpu.uuid]
    if unknown:
        percents[None] = _or(sum_of_known(unknown), unsaid)
    return percents


def _or(percent: float | None, unsaid: float | None) -> float | None:
    return unsaid if percent is None else percent


class EnergyAttribution:
    """Splits each increase of a GPU's energy counter by the utilization during it.

    A workload that ran kernels 30 % of the time gets 30 % of the energy, the rest is idle; where
    the shares add up to more than 100 % they are scaled to it. While the share of one is unknown,
    what the others did not use is not shared: it may be idle or not.
    """

    def __init__(self) -> None:
        self._accounts: dict[str, EnergyShares] = {}

    def update(
        self, gpu_uuid: str, counter_joules: float, percents: Mapping[Workload | None, float | None]
    ) -> EnergyShares:
        """Share what the counter rose since the last reading by the workloads' utilization.

        The key None stands for the processes whose workload is unknown.
        """
        account = self._accounts.get(gpu_uuid)
        if account is None or counter_joules < account.counter:
            # A counter that begins anew takes the shares of the old one with it.
            account = self._accounts[gpu_uuid] = EnergyShares(counter_joules, counter_joules)
        for gone in account.workloads.keys() - percents.keys():
            account.ended += account.workloads.pop(gone)
        increase = counter_joules - account.counter
        account.counter = counter_joules
        whole = max(WHOLE, sum(percent or 0.0 for percent in percents.values()))
        given = 0.0
        for workload, percent in percents.items():
            share = increase * (percent or 0.0) / whole
            given += share
            if workload is not None and (percent is not None or workload in account.workloads):
                account.workloads[workload] = account.workloads.get(workload, 0.0) + share
        if None not in percents.values():
            account.idle += increase - given
        return replace(account, workloads=dict(account.workloads))

    def forget_all_but(self, gpu_uuids: frozenset[str]) -> None:
        """Drop the accounts of GPUs that are no longer known."""
        for gone in self._accounts.keys() - gpu_uuids:
            del self._accounts[gone]


class IdleTime:
    """Remembers the last sign of activity of each workload on each GPU."""

    def __init__(self) -> None:
        self._active_at: dict[tuple[str, Workload], float] = {}

    def update(
        self, gpu_uuid: str, workload: Workload, *, is_active: bool | None, boottime: float
    ) -> float | None:
        """Return seconds without activity; None while unknown, which begins the count anew."""
        key = (gpu_uuid, workload)
        if is_active is None:
            self._active_at.pop(key, None)
            return None
        if is_active or key not in self._active_at:
            self._active_at[key] = boottime
        return max(0.0, boottime - self._active_at[key])

    def forget_all_but(self, held: frozenset[tuple[str, Workload]]) -> None:
        """Drop what is no longer held, so that its next holding begins at zero."""
        for gone in self._active_at.keys() - held:
            del self._active_at[gone]


class OrphanMemory:
    """Remembers which processes were missed in the pass before: one that just ends is no orphan."""

    def __init__(self) -> None:
        self._missed_since: dict[str, dict[int, float]] = {}

    def update(self, state: GpuState, table: ProcessTable) -> int | None:
        """Return bytes of processes that two passes found and the table lacks; None if unknown."""
        if state.stale or not (table.scope.is_certain or table.processes):
            return None
        now = state.read_boottime
        before = self._missed_since.get(state.gpu.uuid, {})
        missed = tuple(_missed(state, table))
        since = {process.pid: before.get(process.pid, now) for process in missed}
        self._missed_since[state.gpu.uuid] = since
        return sum_of_all(
            process.used_memory_bytes for process in missed if since[process.pid] < now
        )

    def forget_all_but(self, gpu_uuids: frozenset[str]) -> None:
        """Drop what is remembered of GPUs that are no longer known."""
        for gone in self._missed_since.keys() - gpu_uuids:
            del self._missed_since[gone]


def _missed(state: GpuState, table: ProcessTable) -> Iterator[GpuProcess]:
    for process in state.gpu.processes or ():
        facts = table.processes.get(process.pid)
        is_here = facts is not None and is_meant(facts, state)
        if facts is not None and is_here and not is_of_gone_pod(facts, table):
            continue
        if process.pid not in table.unread:
            yield process
