"""GPU processes from the driver, joined with their data from the kernel."""

from collections.abc import Iterable, Mapping, Sequence

from exporter.collectors.gpu.values import GpuProcess, GpuState
from exporter.collectors.workloads.attribution import ProcessTable, workload_of
from exporter.collectors.workloads.processes import ProcessFacts
from exporter.collectors.workloads.values import (
    GpuClient,
    PidUse,
    ProcessUse,
    sum_of_all,
    sum_of_known,
)

OTHER = "other"


def pids_on(states: Iterable[GpuState]) -> tuple[int, ...]:
    """List all process ids on these GPUs, those that hold most memory first."""
    held: dict[int, int] = {}
    for state in states:
        for process in state.gpu.processes or ():
            held[process.pid] = held.get(process.pid, 0) + (process.used_memory_bytes or 0)
    return tuple(sorted(held, key=lambda pid: (-held[pid], pid)))


def is_meant(facts: ProcessFacts | None, state: GpuState) -> bool:
    """Tell whether this is the process the driver saw, not a later one with the same pid."""
    return facts is not None and facts.started_boottime <= state.read_boottime


def clients_of(
    states: Sequence[GpuState], table: ProcessTable, waits_since: Mapping[int, float]
) -> tuple[GpuClient, ...]:
    """List every process on the GPUs; without names where it cannot be seen or is another."""
    uses: dict[tuple[int, bool], list[ProcessUse]] = {}
    for state in states:
        for process in state.gpu.processes or ():
            seen = is_meant(table.processes.get(process.pid), state)
            uses.setdefault((process.pid, seen), []).append(_use(state.gpu.uuid, process))
    return tuple(
        _client(table.processes[pid], tuple(result), table, waits_since.get(pid))
        if seen
        else GpuClient(pid, tuple(result))
        for (pid, seen), result in sorted(uses.items())
    )


def _use(gpu_uuid: str, process: GpuProcess) -> ProcessUse:
    return ProcessUse(
        gpu_uuid=gpu_uuid,
        kind=process.kind,
        memory_used_bytes=process.used_memory_bytes,
        sm_utilization_percent=process.sm_utilization_percent,
        memory_utilization_percent=process.memory_utilization_percent,
        encoder_utilization_percent=process.encoder_utilization_percent,
        decoder_utilization_percent=process.decoder_utilization_percent,
        gpu_instance=process.gpu_instance,
        compute_instance=process.compute_instance,
    )


def _client(
    facts: ProcessFacts,
    uses: tuple[ProcessUse, ...],
    table: ProcessTable,
    waits_since: float | None,
) -> GpuClient:
    uid = facts.uid
    return GpuClient(
        pid=facts.pid,
        uses=uses,
        name=facts.name,
        state=facts.state,
        started_boottime=facts.started_boottime,
        waits_since_boottime=waits_since,
        wait_channel=facts.wait_channel,
        user=None if uid is None else table.users.get(uid, str(uid)),
        pod_uid=facts.owner.pod_uid,
        workload=workload_of(facts, table),
    )


def series_per_pid(
    clients: Iterable[GpuClient], top_n: int, unread: frozenset[int]
) -> tuple[PidUse, ...]:
    """List the largest processes one by one, the rest of each GPU in sum under `other`."""
    named = [client for client in clients if client.name is not None]
    ranked = sorted(named, key=lambda client: (-(client.memory_used_bytes or 0), client.pid))
    unnamed = [client for client in clients if client.pid in unread]
    rows = [
        row
        for client in ranked[:top_n]
        for row in _rows(str(client.pid), client.name or "", client.uses)
    ]
    rest = [use for client in (*ranked[top_n:], *unnamed) for use in client.uses]
    return (*rows, *_rows(OTHER, OTHER, sorted(rest, key=lambda use: use.gpu_uuid)))


def _rows(pid: str, process: str, uses: Iterable[ProcessUse]) -> list[PidUse]:
    """List what these uses are in sum on each GPU."""
    by_gpu: dict[str, list[ProcessUse]] = {}
    for use in uses:
        by_gpu.setdefault(use.gpu_uuid, []).append(use)
    return [_summed(uuid, pid, process, some) for uuid, some in by_gpu.items()]


def _summed(gpu_uuid: str, pid: str, process: str, uses: Sequence[ProcessUse]) -> PidUse:
    return PidUse(
        gpu_uuid=gpu_uuid,
        pid=pid,
        process=process,
        memory_used_bytes=sum_of_all(use.memory_used_bytes for use in uses),
        sm_utilization_percent=sum_of_known(use.sm_utilization_percent for use in uses),
        memory_utilization_percent=sum_of_known(use.memory_utilization_percent for use in uses),
        encoder_utilization_percent=sum_of_known(use.encoder_utilization_percent for use in uses),
        decoder_utilization_percent=sum_of_known(use.decoder_utilization_percent for use in uses),
    )
