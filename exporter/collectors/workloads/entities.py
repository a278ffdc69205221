"""Processes on GPUs and the workloads they belong to as entities; both end."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from exporter.collectors.workloads.values import GpuClient, Workload, Workloads, WorkloadUse
from exporter.faults.entities.kind import FieldsOf, Getter, Kind, getters_of, names_of
from exporter.faults.values import Address, Entity, FieldType, Type, Value
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge, Naming
from exporter.record import dataclass, replace

REMEMBERED = 1024
"""Processes of which it is kept what they use: it seldom changes."""

EXCESSES = ("quota_memory_excess_bytes", "quota_sm_excess_percent")

_CLIENT_GETTERS = getters_of(GpuClient)
_USE_GETTERS = getters_of(WorkloadUse)

EXACT_SECS, MINUTE_SECS = 120.0, 60.0


@lru_cache(maxsize=REMEMBERED)
def workload_id(workload: Workload) -> str:
    """Return the stable id of a workload: namespace, pod and container, or what stands for them."""
    return workload.name


def _waiting_secs(since: float, now: float) -> float:
    """Return how long a process has slept uninterruptibly, after two minutes in whole minutes.

    Seconds that nobody reads would make another fault of each sleeper at each evaluation.
    """
    secs = max(0.0, now - since)
    return secs if secs < EXACT_SECS else secs // MINUTE_SECS * MINUTE_SECS


def _not_waiting(client: Any) -> Value:
    """Return how long a process without a time of falling asleep sleeps; None if not known."""
    return None if client.state is None else 0.0


_AWAKE_GETTERS: Mapping[str, Getter] = {**_CLIENT_GETTERS, "waiting_secs": _not_waiting}


class _WorkloadFields(FieldsOf):
    """A workload on its first GPU; what it uses beyond a quota is said of the worst of its GPUs."""

    __slots__ = ("_uses",)

    def __init__(self, uses: Sequence[WorkloadUse]) -> None:
        super().__init__(uses[0], _USE_GETTERS)
        self._uses = uses

    def get(self, name: str, /) -> Value:
        """Return the value of the field, or None when it was not said."""
        if name not in EXCESSES:
            return super().get(name)
        known = (getattr(use, name) for use in self._uses)
        return max((excess for excess in known if excess is not None), default=None)


@dataclass(slots=True)
class _Last:
    """The processes of the last snapshot; those `asleep` have other fields as time goes on."""

    clients: tuple[GpuClient, ...] = ()
    entities: Sequence[Entity] = ()
    asleep: Sequence[int] = ()


_last = _Last()


def _processes(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(Workloads)
    clients = reading.clients if reading else ()
    if clients is not _last.clients:
        rows = zip(_last.clients, _last.entities, strict=True)
        known = {client.pid: (client, entity) for client, entity in rows}
        _last.entities = [_kept(it, known.get(it.pid)) for it in clients]
        _last.asleep = [at for at, it in enumerate(clients) if it.waits_since_boottime is not None]
        _last.clients = clients
    if not _last.asleep:
        return _last.entities
    now = snapshot.taken_boottime
    found = _last.entities = [*_last.entities]
    for at in _last.asleep:
        secs = _waiting_secs(clients[at].waits_since_boottime or 0.0, now)
        if secs != found[at].fields.get("waiting_secs"):
            getters = {**_CLIENT_GETTERS, "waiting_secs": _always(secs)}
            found[at] = replace(found[at], fields=FieldsOf(clients[at], getters))
    return found


def _kept(client: GpuClient, known: tuple[GpuClient, Entity] | None) -> Entity:
    """Return the entity of the last snapshot if the process is as it was then, else a new one."""
    return known[1] if known and known[0] == client else _process(client)


def _always(secs: float) -> Getter:
    return lambda _: secs


def _process(client: GpuClient) -> Entity:
    """Make the entity of one process that is not asleep."""
    pid = str(client.pid)
    key = ("process", pid)
    name = f"{client.name} ({pid})" if client.name else pid
    return Entity(key, name, FieldsOf(client, _AWAKE_GETTERS), (key,))


def _workloads(snapshot: Snapshot) -> Iterable[Entity]:
    reading = snapshot.reading(Workloads)
    if reading is None:
        return
    uids: dict[Workload, set[str]] = {use.workload: set() for use in reading.uses}
    # By texts: to compare workloads of a thousand processes takes longer than all else here.
    found = {
        (*_parts(each.workload), each.pod_uid): each.workload
        for each in reading.clients
        if each.workload is not None
    }
    for (*_, uid), workload in found.items():
        uids.setdefault(workload, set()).update([uid] if uid else [])
    uses: dict[Workload, list[WorkloadUse]] = {}
    for each in reading.allocated:
        uids.setdefault(each.workload, set())
    for use in reading.uses:
        uses.setdefault(use.workload, []).append(use)
    for workload, pods in uids.items():
        key = ("workload", workload_id(workload))
        addresses: list[Address] = [key, *(("workload", uid) for uid in sorted(pods))]
        known = uses.get(workload)
        fields = _WorkloadFields(known) if known else FieldsOf(workload, {})
        yield Entity(key, key[1], fields, tuple(addresses))


def _uses(snapshot: Snapshot) -> Iterable[Edge]:
    reading = snapshot.reading(Workloads)
    return chain.from_iterable(
        _uses_of(
            client.pid,
            tuple([use.gpu_uuid for use in client.uses]),
            None if client.workload is None else _parts(client.workload),
        )
        for client in (reading.clients if reading else ())
    )


def _allocations(snapshot: Snapshot) -> Iterable[Edge]:
    """Yield which GPU the kubelet gave to which workload: it holds when no process runs there."""
    reading = snapshot.reading(Workloads)
    for each in reading.allocated if reading else ():
        holder = ("workload", workload_id(each.workload))
        yield Edge("consumes", holder, ("gpu", each.gpu_uuid), "allocated by the kubelet")


def _parts(workload: Workload) -> tuple[str, str, str]:
    return workload.namespace, workload.pod, workload.container


@lru_cache(maxsize=REMEMBERED)
def _uses_of(
    pid: int, gpu_uuids: tuple[str, ...], workload: tuple[str, str, str] | None
) -> tuple[Edge, ...]:
    """Which GPUs one process uses, and which workload it runs in."""
    key = ("process", str(pid))
    uses = [Edge("consumes", key, ("gpu", gpu_uuid)) for gpu_uuid in dict.fromkeys(gpu_uuids)]
    if workload is not None:
        uses.append(Edge("runs_in", key, ("workload", workload_id(Workload(*workload)))))
    return tuple(uses)


PROCESS = Kind(
    "process",
    "process",
    names_of(GpuClient) | {"waiting_secs": FieldType(Type.NUMBER)},
    _processes,
    Workloads,
    related={"node": "node", "workload": "workload"},
    relate=_uses,
    ends=True,
    naming=Naming(is_alone=True),
)
WORKLOAD = Kind(
    "workload",
    "workload",
    {name: found for name, found in names_of(WorkloadUse).items() if name != "gpu_uuid"},
    _workloads,
    Workloads,
    relate=_allocations,
    ends=True,
    naming=Naming(is_alone=True),
)
