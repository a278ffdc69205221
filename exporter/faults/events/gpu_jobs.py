"""Whose process an event names: the job it worked for on a GPU, kept also after its end."""

from dataclasses import dataclass, field, replace
from types import MappingProxyType

from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.model.workload import GpuClient, Workloads

MAX_REMEMBERED = 5_000
"""Processes whose job is remembered; the one first seen goes first."""

CRASHES = frozenset({"segfault", "process_trap"})


@dataclass(slots=True)
class GpuJobs:
    """Remembers the job of each process on a GPU, by pid."""

    _clients: dict[int, GpuClient] = field(default_factory=dict)

    def see(self, snapshot: Snapshot) -> None:
        """Take in who is on the GPUs now."""
        workloads = snapshot.reading(Workloads)
        for client in workloads.clients if workloads else ():
            self._clients[client.pid] = client
        while len(self._clients) > MAX_REMEMBERED:
            del self._clients[next(iter(self._clients))]

    def named(self, event: Event) -> Event:
        """Return the event with the `job` of its process; a crash also with `on_gpu`."""
        added: dict[str, str] = {}
        if event.kind != "xid" and event.kind not in CRASHES:
            return event
        pid = event.fields.get("pid", "")
        client = self._clients.get(int(pid)) if pid.isdecimal() else None
        if event.kind == "xid" and pid.isdecimal():
            job = _job_of(client) if client else event.fields.get("name", "")
            added = {"job": job} if job else {}
        elif event.kind in CRASHES:
            is_on_gpu = client is not None or event.fields.get("gpu_library") == "yes"
            added = {"on_gpu": "yes" if is_on_gpu else "no"}
        if not added:
            return event
        return replace(event, fields=MappingProxyType({**event.fields, **added}))


def _job_of(client: GpuClient) -> str:
    """Return what stays the same when a process of the job is started again."""
    job = client.workload
    if job is not None:
        return f"{job.namespace}/{job.pod}/{job.container}"
    return client.pod_uid or client.name or str(client.pid)
