"""NCCL communicators as entities: which rank waits for which, and their GPUs."""

from collections.abc import Iterable, Iterator

from exporter.collectors.ebpf.values import Communicator, TracedCalls
from exporter.collectors.network.entities import adapters_near
from exporter.collectors.workloads.entities import workload_id
from exporter.collectors.workloads.values import Workloads
from exporter.faults.entities.kind import FieldsOf, Kind, getters_of, names_of
from exporter.faults.values import Entity
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Edge, Key, Naming

_GETTERS = getters_of(Communicator)


def _all(snapshot: Snapshot) -> tuple[Communicator, ...]:
    reading = snapshot.reading(TracedCalls)
    return () if reading is None else reading.communicators


def _communicators(snapshot: Snapshot) -> Iterable[Entity]:
    for one in _all(snapshot):
        key = ("communicator", one.id)
        name = f"{workload_id(one.workload) or 'job'} ({one.id})"
        yield Entity(key, name, FieldsOf(one, _GETTERS), (key,))


def _relations(snapshot: Snapshot) -> Iterator[Edge]:
    """Yield its users and their workload, who waits in it, and what it waits for itself."""
    communicators = _all(snapshot)
    if not communicators:
        return
    reading = snapshot.reading(Workloads)
    gpus = {
        client.pid: [use.gpu_uuid for use in client.uses]
        for client in (reading.clients if reading else ())
    }
    for one in communicators:
        key: Key = ("communicator", one.id)
        waited_for = {*one.missing_pids, *(() if one.late_pid is None else (one.late_pid,))}
        for pid in one.pids:
            process = ("process", str(pid))
            yield Edge("consumes", process, key)
            if one.waiting_ranks:
                yield Edge("waits_on", process, key, f"its ranks wait in {one.call}")
            yield Edge("runs_in", process, ("workload", workload_id(one.workload)))
        near = adapters_near(snapshot) if waited_for else {}
        for pid in sorted(waited_for):
            why = f"{one.missing or one.late} is waited for"
            yield Edge("waits_on", key, ("process", str(pid)), why)
            for uuid in gpus.get(pid, ()):
                yield Edge("waits_on", key, ("gpu", uuid), why)
                for adapter in near.get(uuid, ()):
                    yield Edge("waits_on", key, adapter, f"{why}, and is nearest to this adapter")


COMMUNICATOR = Kind(
    "communicator",
    "process",
    names_of(Communicator),
    _communicators,
    TracedCalls,
    relate=_relations,
    ends=True,
    naming=Naming(is_alone=True),
)
