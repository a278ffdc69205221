"""Whose process an event names: the job it worked for on a GPU, kept also after its end."""

from dataclasses import dataclass, field, replace
from types import MappingProxyType

from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.model.workload import GpuClient, Workloads

MAX_REMEMBERED = 5_000
"""Processes whose job is remembered; the one not seen for longest goes first."""

CRASHES = frozenset({"segfault", "process_trap"})


@dataclass(slots=True)
class GpuJobs:
    """Remembers the job of each process on a GPU, by pid."""

    _jobs: dict[str, str] = field(default_factory=dict)

    def see(self, snapshot: Snapshot) -> None:
        """Take in who is on the GPUs now."""
        workloads = snapshot.reading(Workloads)
        for client in workloads.clients if workloads else ():
            self._jobs.pop(str(client.pid), None)
            self._jobs[str(client.pid)] = _job_of(client)
        while len(self._jobs) > MAX_REMEMBERED:
            del self._jobs[next(iter(self._jobs))]

    def named(self, event: Event) -> Event:
        """Return the event with the `job` of its process; a crash also with `on_gpu`."""
        added: dict[str, str] = {}
        pid = event.fields.get("pid", "")
        if event.kind == "xid" and pid.isdigit():
            job = self._jobs.get(pid) or event.fields.get("name", "")
            added = {"job": job} if job else {}
        elif event.kind in CRASHES:
            is_on_gpu = pid in self._jobs or event.fields.get("gpu_library") == "yes"
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
