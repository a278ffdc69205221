"""How GPUs are shared, and the quota of each workload."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from exporter.collectors.gpu.values import GpuState
from exporter.collectors.sharing.hami import HamiLimit
from exporter.collectors.sharing.mps import MpsServer
from exporter.collectors.workloads.kubelet import Allocation, DeviceId, Replicas
from exporter.collectors.workloads.values import GpuShare, Workload, WorkloadUse
from exporter.record import dataclass, replace

CONTEXT_BYTES = 512 * 1024 * 1024
"""What CUDA may hold for one process beside what it allocates, and some limits do not count."""

WHOLE_PERCENT = 100.0

KINDS = {"nvshare.com/gpu": "nvshare", "xpushare.com/gpu": "xpushare"}
"""How the replicas of a resource share; those of others are time slices, or clients of MPS."""


@dataclass(frozen=True, slots=True)
class NodeSharing:
    """What is known of sharing on this node beside what the kubelet has given away.

    `mps_resources` are resources of the device plugin that have an MPS control daemon.
    """

    registered: tuple[Replicas, ...] = ()
    mps_resources: frozenset[str] = frozenset()
    mps_servers: tuple[MpsServer, ...] = ()
    hami: Mapping[tuple[str, Workload], HamiLimit] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def kind_of(self, resource: str, *, has_clients: bool) -> str:
        """Tell how replicas of this resource share a GPU that has clients of MPS or not."""
        is_mps = has_clients or resource in self.mps_resources
        return KINDS.get(resource, "mps" if is_mps else "time_slicing")

    def server_of(self, pid: int) -> MpsServer | None:
        """Find the MPS server of a client; where there is only one it is everybody's."""
        if len(self.mps_servers) == 1:
            return self.mps_servers[0]
        return next((server for server in self.mps_servers if pid in server.clients), None)

    def shares_of(
        self,
        states: Sequence[GpuState],
        allocations: Iterable[Allocation],
        uuids: Mapping[DeviceId, str],
    ) -> tuple[GpuShare, ...]:
        """List how each GPU is shared; `uuids` says which GPU a device is, or is a part of."""
        limited = {uuid for uuid, _ in self.hami}
        kinds = {state.gpu.uuid: set(_kinds(state, self, limited)) for state in states}

        def key_of(it: Replicas) -> tuple[str, str]:
            uuid = uuids[it.device]
            return uuid, self.kind_of(it.resource, has_clients="mps" in kinds[uuid])

        found: dict[tuple[str, str], int | None] = {
            key_of(it): None
            for allocation in allocations
            for it in allocation.replicas
            if it.device in uuids
        }
        for it in self.registered:
            if it.device in uuids:
                found[key_of(it)] = (found.get(key_of(it)) or 0) + it.count
        for uuid, running in kinds.items():
            found.update({(uuid, kind): None for kind in running if (uuid, kind) not in found})
        return tuple(GpuShare(uuid, kind, count) for (uuid, kind), count in sorted(found.items()))

    def with_quota(
        self, use: WorkloadUse, state: GpuState, mps_pids: Collection[int]
    ) -> WorkloadUse:
        """Add what the workload may use of the GPU, and how much more it uses.

        `mps_pids` are those of its processes that are clients of MPS.
        """
        hami = self.hami.get((use.gpu_uuid, use.workload))
        if hami is not None:
            return _by_hami(use, hami)
        servers = [self.server_of(pid) for pid in sorted(mps_pids)]
        if servers:
            return _by_mps(use, state, [server for server in servers if server is not None])
        return replace(use, quota_memory_bytes=_of_instances(use, state))


def _kinds(state: GpuState, sharing: NodeSharing, limited: Collection[str]) -> Iterator[str]:
    """Yield how a GPU is shared beside replicas; `limited` are those that HAMi gives parts of."""
    servers = {server.pid for server in sharing.mps_servers}
    processes = state.gpu.processes or ()
    if any(process.kind == "mps" or process.pid in servers for process in processes):
        yield "mps"
    if state.gpu.mig_instances:
        yield "mig"
    if state.gpu.uuid in limited:
        yield "hami"


def _by_hami(use: WorkloadUse, limit: HamiLimit) -> WorkloadUse:
    """HAMi throttles by the share of time in which kernels ran: what the driver reports too."""
    used, percent = use.sm_utilization_percent, limit.sm_percent
    return replace(
        use,
        quota_memory_bytes=limit.memory_bytes,
        quota_sm_percent=percent,
        quota_memory_excess_bytes=_excess(use, limit.memory_bytes),
        quota_sm_excess_percent=None if used is None or percent is None else used - percent,
    )


def _by_mps(use: WorkloadUse, state: GpuState, servers: Sequence[MpsServer]) -> WorkloadUse:
    """MPS limits each client: a workload may use what its processes may together, if all are.

    Its percentage is one of SMs, not of time: utilization says nothing about it.
    """
    if len(servers) != use.processes:
        return use
    limits = [server.memory_limit(use.gpu_uuid) for server in servers]
    known = [limit for limit in limits if limit is not None]
    memory = at_most = None
    if len(known) == len(limits):
        memory, at_most = sum(it.bytes for it in known), sum(it.at_most_bytes for it in known)
    total = state.gpu.memory_total_bytes
    percents = [server.thread_percent for server in servers]
    given = [percent for percent in percents if percent is not None]
    return replace(
        use,
        quota_memory_bytes=memory if memory is None or total is None else min(memory, total),
        quota_sm_percent=min(WHOLE_PERCENT, sum(given)) if len(given) == len(percents) else None,
        quota_memory_excess_bytes=_excess(use, at_most),
    )


def _excess(use: WorkloadUse, at_most: int | None) -> int | None:
    """Return what the workload holds beyond its quota and the contexts of its processes."""
    if at_most is None or use.memory_used_bytes is None:
        return None
    return use.memory_used_bytes - at_most - use.processes * CONTEXT_BYTES


def _of_instances(use: WorkloadUse, state: GpuState) -> int | None:
    """Return the memory of its MIG instances; compute instances of one share it."""
    numbers = {number for number, _ in use.instances}
    sizes = {
        mig.gpu_instance: mig.memory_total_bytes
        for mig in state.gpu.mig_instances or ()
        if mig.gpu_instance in numbers and mig.memory_total_bytes is not None
    }
    return sum(sizes.values()) if sizes and len(sizes) == len(numbers) else None
