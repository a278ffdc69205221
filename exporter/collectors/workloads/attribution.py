"""Attribution of a process to its workload: a pure function of readings."""

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from exporter.collectors.workloads.kubelet import Allocation, Replicas
from exporter.collectors.workloads.pod_logs import PodNames
from exporter.collectors.workloads.processes import PidScope, ProcessFacts
from exporter.collectors.workloads.values import PodUid, SlurmJob, Workload
from exporter.model.reading import Missing
from exporter.reading.cgroup import SHORT_ID_CHARS
from exporter.record import dataclass

_LOOKS_OWNED = re.compile(r"/|\.(?:service|scope|slice)$|^[0-9a-f]{12}|^lxc\.|^other$")
"""Like a job, a unit, a user, a container, or the sum of all others."""


@dataclass(frozen=True, slots=True)
class ProcessTable:
    """What one look at the node's files saw.

    `unread` are pids that were not looked at because there are too many; `containers_by_pod`
    names the containers in the log folders of the pods that were asked for; `checkpoint` has the
    allocations with UIDs, where they are wanted and the kubelet's file can be read. `registered`
    are the replicas that device plugins have in all, `missing` is what could not be read.
    """

    scope: PidScope
    processes: Mapping[int, ProcessFacts] = field(default_factory=lambda: MappingProxyType({}))
    unread: frozenset[int] = frozenset()
    names: PodNames = field(default_factory=PodNames)
    containers_by_pod: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    allocations: tuple[Allocation, ...] = ()
    checkpoint: tuple[Allocation, ...] = ()
    users: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    jobs: tuple[SlurmJob, ...] = ()
    registered: tuple[Replicas, ...] = ()
    missing: tuple[Missing, ...] = ()


def workload_of(facts: ProcessFacts, table: ProcessTable) -> Workload | None:
    """Find the workload of a process; None when it is in a pod whose name cannot be found."""
    owner = facts.owner
    if owner.pod_uid is not None:
        return _by_pod(owner.pod_uid, owner.container_id, table)
    if owner.container_id is not None:
        return Workload("", "", owner.container_id[:SHORT_ID_CHARS])
    # A name that a process gave itself is in brackets where it reads like an owner's.
    own_name = f"({facts.name})" if _LOOKS_OWNED.search(facts.name) else facts.name
    return Workload("", "", owner.unit or own_name)


def is_of_gone_pod(facts: ProcessFacts, table: ProcessTable) -> bool:
    """Tell whether the process is in a pod that the kubelet no longer knows."""
    uid = facts.owner.pod_uid
    return uid is not None and bool(table.names.pods) and uid not in table.names.pods


def holder_of(allocation: Allocation, names: PodNames) -> Workload | None:
    """Find the workload a device is given to; None when its pod is gone or its name unknown."""
    if allocation.pod is not None:
        return Workload(allocation.namespace or "", allocation.pod, allocation.container)
    pod = names.pods.get(allocation.pod_uid or "")
    return None if pod is None else Workload(pod.namespace, pod.pod, allocation.container)


def uid_of_holder(entry: Allocation, table: ProcessTable) -> PodUid | None:
    """Return the pod of an entry of the checkpoint; None if it does not hold the devices now.

    The kubelet's socket has names only, and pods of one name follow each other: container and
    device must be those of the entry. Without the socket, the entries are the allocations.
    """
    pod = table.names.pods.get(entry.pod_uid or "")
    if pod is None:
        return None
    holds = any(
        (it.pod_uid, it.namespace, it.pod)
        in ((entry.pod_uid, None, None), (None, pod.namespace, pod.pod))
        and it.container == entry.container
        and not set(it.devices).isdisjoint(entry.devices)
        for it in table.allocations
    )
    return pod if holds else None


def _by_pod(uid: str, container_id: str | None, table: ProcessTable) -> Workload | None:
    """Find the pod by its uid; its container by its id, or where only one can be meant."""
    pod = table.names.pods.get(uid)
    named = table.names.containers.get(container_id or "")
    if pod is None or (
        named is not None and (named.namespace, named.pod) == (pod.namespace, pod.pod)
    ):
        return named
    with_gpu = {
        entry.container
        for entry in table.allocations
        if entry.pod_uid == uid or (entry.namespace, entry.pod) == (pod.namespace, pod.pod)
    }
    for candidates in (table.containers_by_pod.get(uid, ()), with_gpu):
        if len(candidates) == 1:
            return Workload(pod.namespace, pod.pod, *candidates)
    return Workload(pod.namespace, pod.pod, (container_id or "")[:SHORT_ID_CHARS])
