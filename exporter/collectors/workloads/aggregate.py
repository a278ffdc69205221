"""Sums the processes on the GPUs up by workload, and keeps what counts over time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.collectors.workloads.attribution import ProcessTable, holder_of, uid_of_holder
from exporter.collectors.workloads.clients import clients_of, series_per_pid
from exporter.collectors.workloads.kubelet import Allocation, DeviceId
from exporter.collectors.workloads.processes import WAITING
from exporter.collectors.workloads.redaction import Redaction
from exporter.collectors.workloads.usage import (
    EnergyAttribution,
    EnergyShares,
    IdleTime,
    OrphanMemory,
    percents_of,
)
from exporter.collectors.workloads.values import (
    Allocated,
    GpuClient,
    GpuShare,
    GpuTotals,
    PodUid,
    ProcessUse,
    Workload,
    Workloads,
    WorkloadUse,
    sum_of_all,
    sum_of_known,
)
from exporter.record import dataclass, replace

MAX_ROWS = 256
"""Workloads times GPUs that get rows of their own; the rest of each GPU is summed."""

OTHER = Workload("", "", "other")


class Shares(Protocol):
    """How the GPUs of this node are shared now."""

    def shares_of(
        self,
        states: Sequence[GpuState],
        allocations: Iterable[Allocation],
        uuids: Mapping[DeviceId, str],
    ) -> tuple[GpuShare, ...]:
        """List how each GPU is shared; `uuids` says which GPU a device is, or is a part of."""
        ...

    def with_quota(
        self, use: WorkloadUse, state: GpuState, mps_pids: Collection[int]
    ) -> WorkloadUse:
        """Return the use with quotas; `mps_pids` are processes that are clients of MPS."""
        ...


@dataclass(slots=True)
class _Row:
    """One workload on one GPU while it is summed up."""

    processes: set[int] = field(default_factory=set)
    uses: list[ProcessUse] = field(default_factory=list)
    instances: set[tuple[int | None, int | None]] = field(default_factory=set)
    is_allocated: bool = False
    replicas: int = 0
    mps_pids: set[int] = field(default_factory=set)


_Rows = dict[tuple[str, Workload], _Row]
_Devices = Mapping[DeviceId, tuple[str, frozenset[tuple[int, int]]]]


class WorkloadAggregator:
    """From what the driver and the kernel said to one value; `top_n` is None without pids."""

    def __init__(self, top_n: int | None, redaction: Redaction, *, pod_uids: bool) -> None:
        self._top_n = top_n
        self.redaction = redaction
        self.with_pod_uids = pod_uids and not self.redaction.hides("pod")
        self._energy = EnergyAttribution()
        self._idle = IdleTime()
        self._waits_since: dict[int, float] = {}
        self._orphans = OrphanMemory()

    def update(
        self, gpus: Gpus, table: ProcessTable, boottime: float, sharing: Shares | None = None
    ) -> Workloads:
        """Sum the workloads up at this boot time in seconds."""
        states = [state for state in gpus.states if state.gpu.processes is not None]
        known = frozenset(state.gpu.uuid for state in gpus.states)
        self._energy.forget_all_but(known)
        self._orphans.forget_all_but(known)
        waiting = {pid for pid, it in table.processes.items() if it.state == WAITING}
        self._waits_since = {pid: self._waits_since.get(pid, boottime) for pid in waiting}
        seen = clients_of(states, table, self._waits_since)
        clients = tuple(map(self.redaction.client, seen))
        allocated = self._allocated(gpus.states, table)
        if table.scope.reason is not None or not states:
            reason = table.scope.reason or "no_process_list"
            by = "processes" if states else "utilization"
            ratio = 0.0 if clients else None
            return Workloads(reason, ratio, clients=clients, allocated=allocated, used_count_by=by)
        rows = _rows(clients, table)
        devices = _devices(states)
        self._add_holders(rows, devices, table)
        rows = _bounded(rows)
        uses = self._uses(states, rows, boottime, sharing)
        strangers = _uses_of_strangers(clients, table)
        energies = {state.gpu.uuid: self._shares(state, uses, strangers) for state in states}
        return Workloads(
            reason=_reason(clients, table),
            attribution_ratio=_ratio(clients),
            uses=tuple(_with_energy(use, energies[use.gpu_uuid]) for use in uses),
            clients=clients,
            per_pid=()
            if self._top_n is None
            else series_per_pid(clients, self._top_n, table.unread),
            pods=_pods(clients, table, devices) if self.with_pod_uids else (),
            jobs=table.jobs[:MAX_ROWS],
            totals=tuple(self._totals(state, table, energies[state.gpu.uuid]) for state in states),
            shares=()
            if sharing is None
            else sharing.shares_of(
                states, table.allocations, {it: gpu for it, (gpu, _) in devices.items()}
            ),
            allocated=allocated,
        )

    def _allocated(self, states: Iterable[GpuState], table: ProcessTable) -> tuple[Allocated, ...]:
        """List which workload was given which GPU; a GPU that is lost is still given."""
        devices = _devices(states)
        rows = {
            Allocated(devices[device][0], holder)
            for allocation, holder in self._holders(table)
            for device in allocation.devices
            if device in devices
        }
        return tuple(sorted(rows)[:MAX_ROWS])

    def _shares(
        self, state: GpuState, uses: Iterable[WorkloadUse], strangers: Iterable[ProcessUse]
    ) -> EnergyShares | None:
        """Share the energy of a GPU among workloads; a reading seen before changes nothing."""
        gpu = state.gpu
        if gpu.energy_joules_total is None:
            return None
        percents = percents_of(gpu, uses, strangers)
        return self._energy.update(gpu.uuid, gpu.energy_joules_total, percents)

    def _totals(
        self, state: GpuState, table: ProcessTable, energy: EnergyShares | None
    ) -> GpuTotals:
        return GpuTotals(
            gpu_uuid=state.gpu.uuid,
            orphan_memory_bytes=self._orphans.update(state, table),
            idle_energy_joules=None if energy is None else energy.idle,
            ended_energy_joules=None if energy is None else energy.ended,
        )

    def _add_holders(self, rows: _Rows, devices: _Devices, table: ProcessTable) -> None:
        """Mark the rows of those who were given a GPU, whether they use it or not."""
        for allocation, holder in self._holders(table):
            for device in allocation.devices:
                if device in devices:
                    uuid, instances = devices[device]
                    row = rows.setdefault((uuid, holder), _Row())
                    row.is_allocated = True
                    row.instances |= instances
            for held in allocation.replicas:
                if held.device in devices:
                    rows[devices[held.device][0], holder].replicas += held.count

    def _holders(self, table: ProcessTable) -> Iterator[tuple[Allocation, Workload]]:
        """Yield what the kubelet has given out, with the workload that holds it."""
        for allocation in table.allocations:
            holder = holder_of(allocation, table.names)
            if holder is not None:
                yield allocation, self.redaction.workload(holder)

    def _uses(
        self, states: Iterable[GpuState], rows: _Rows, boottime: float, sharing: Shares | None
    ) -> tuple[WorkloadUse, ...]:
        by_uuid = {state.gpu.uuid: state for state in states}
        self._idle.forget_all_but(frozenset(rows))
        crowded = _shared_gpus(rows)
        result = []
        for (uuid, workload), row in rows.items():
            state = by_uuid[uuid]
            use = _summed(uuid, workload, row)
            if sharing is not None:
                use = sharing.with_quota(use, state, row.mps_pids)
            is_active = _is_active(use, state, is_alone=uuid not in crowded)
            idle = self._idle.update(uuid, workload, is_active=is_active, boottime=boottime)
            result.append(replace(use, idle_allocated_secs=idle))
        return tuple(result)


def _uses_of_strangers(clients: Iterable[GpuClient], table: ProcessTable) -> list[ProcessUse]:
    """List what processes use whose workload is unknown; those not looked at are summed up."""
    strangers = (it for it in clients if it.workload is None and it.pid not in table.unread)
    return [use for client in strangers for use in client.uses]


def _with_energy(use: WorkloadUse, energy: EnergyShares | None) -> WorkloadUse:
    joules = None if energy is None else energy.workloads.get(use.workload)
    return replace(use, energy_joules=joules)


def _rows(clients: Iterable[GpuClient], table: ProcessTable) -> _Rows:
    rows: _Rows = {}
    for client in clients:
        workload = OTHER if client.pid in table.unread else client.workload
        if workload is None:
            continue
        for use in client.uses:
            row = rows.setdefault((use.gpu_uuid, workload), _Row())
            row.processes.add(client.pid)
            row.uses.append(use)
            if use.kind == "mps":
                row.mps_pids.add(client.pid)
            if use.gpu_instance is not None:
                row.instances.add((use.gpu_instance, use.compute_instance))
    return rows


def _devices(states: Iterable[GpuState]) -> _Devices:
    """Map every name that a device plugin may use to the GPU's UUID and its instance."""
    result: dict[DeviceId, tuple[str, frozenset[tuple[int, int]]]] = {}
    for state in states:
        gpu = state.gpu
        result[DeviceId(uuid=gpu.uuid)] = (gpu.uuid, frozenset())
        result[DeviceId(number=gpu.index)] = (gpu.uuid, frozenset())
        minor = gpu.index if gpu.minor_number is None else gpu.minor_number
        result[DeviceId(minor=minor)] = (gpu.uuid, frozenset())
        if gpu.pci_bus_id is not None:
            result[DeviceId(uuid=gpu.pci_bus_id)] = (gpu.uuid, frozenset())
        for mig in gpu.mig_instances or ():
            ids = frozenset({(mig.gpu_instance, mig.compute_instance)})
            if mig.mig_uuid:  # nvidia-smi does not always name it
                result[DeviceId(uuid=mig.mig_uuid)] = (gpu.uuid, ids)
    return result


def _bounded(rows: _Rows) -> _Rows:
    """Keep the rows that hold most memory, and the rest of each GPU as one."""
    if len(rows) <= MAX_ROWS:
        return dict(sorted(rows.items()))
    ranked = sorted(rows, key=lambda key: (key[1] == OTHER, -_memory(rows[key]), key))
    kept = {key: rows[key] for key in sorted(ranked[:MAX_ROWS])}
    for uuid, workload in ranked[MAX_ROWS:]:
        rest = kept.setdefault((uuid, OTHER), _Row())
        rest.processes |= rows[uuid, workload].processes
        rest.uses += rows[uuid, workload].uses
    return kept


def _memory(row: _Row) -> int:
    return sum(use.memory_used_bytes or 0 for use in row.uses)


def _summed(uuid: str, workload: Workload, row: _Row) -> WorkloadUse:
    return WorkloadUse(
        gpu_uuid=uuid,
        workload=workload,
        processes=len(row.processes),
        memory_used_bytes=sum_of_all(u.memory_used_bytes for u in row.uses) if row.uses else None,
        sm_utilization_percent=sum_of_known(use.sm_utilization_percent for use in row.uses),
        is_allocated=row.is_allocated,
        instances=tuple(sorted(row.instances, key=str)),
        replicas=row.replicas or None,
    )


def _shared_gpus(rows: _Rows) -> set[str]:
    """GPUs with processes of several workloads: what the GPU does cannot be told apart."""
    seen: set[str] = set()
    shared: set[str] = set()
    for (uuid, _), row in rows.items():
        if row.uses:
            (shared if uuid in seen else seen).add(uuid)
    return shared


def _is_active(use: WorkloadUse, state: GpuState, *, is_alone: bool) -> bool | None:
    """Tell whether the workload used the GPU in the last pass; None where that cannot be told."""
    if state.stale:
        return None
    if not use.processes:
        return False
    if use.sm_utilization_percent is not None:
        return use.sm_utilization_percent > 0
    whole = state.gpu.utilization_percent
    if whole is None:
        return None
    return whole > 0 if is_alone or whole == 0 else None


def _ratio(clients: tuple[GpuClient, ...]) -> float | None:
    if not clients:
        return None
    return sum(client.workload is not None for client in clients) / len(clients)


def _reason(clients: tuple[GpuClient, ...], table: ProcessTable) -> str:
    """Why not every process has a workload; ok when all have."""
    lost = [client for client in clients if client.workload is None]
    if not lost:
        return "ok"
    if all(client.name is None for client in clients):
        return "pids_not_found"
    if any(client.pod_uid is not None for client in lost):
        are_known = table.names.pods or table.names.containers
        return "pod_unknown" if are_known else "no_pod_names"
    return "processes_ended"


def _pods(
    clients: Iterable[GpuClient], table: ProcessTable, devices: _Devices
) -> tuple[PodUid, ...]:
    """List the UIDs of the pods that have a process on a GPU or hold one."""
    held = (entry for entry in table.checkpoint if not devices.keys().isdisjoint(entry.devices))
    found = {pod for entry in held if (pod := uid_of_holder(entry, table)) is not None}
    found |= {
        PodUid(client.workload.namespace, client.workload.pod, client.pod_uid)
        for client in clients
        if client.workload is not None and client.workload.pod and client.pod_uid
    }
    return tuple(sorted(found)[:MAX_ROWS])
