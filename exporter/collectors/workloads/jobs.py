"""Remembers the job of each process on a GPU, to name the job in events about the process."""

import re
from dataclasses import field
from types import MappingProxyType

from exporter.collectors.workloads.values import GpuClient, Workloads
from exporter.model.event import Event
from exporter.model.snapshot import Snapshot
from exporter.record import dataclass, replace

MAX_REMEMBERED = 5_000
"""Processes whose job is remembered; the one first seen goes first."""
KEPT_PID_SECS = 3600.0
"""How long an ended process is known by its pid, which the kernel gives to another one."""

CRASHES = frozenset({"segfault", "process_trap"})
_POD_OF_MANY = re.compile(r"(?:-[0-9a-f]{8,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}$")
"""What a Deployment, a DaemonSet or a Job adds to the name of each pod that it makes."""
_CONTAINER_ID = re.compile(r"[0-9a-f]{12}")
_GPU_LIBRARY = re.compile(r"lib(?:nccl|cuda|cudart|cublas|cudnn)")


@dataclass(slots=True)
class GpuJobs:
    """Remembers the job of each process on a GPU, by pid, also for an hour after its end.

    A process that ended before it was seen is of the job that has or had a process of its name: a
    program that fails at each start is no second job.
    """

    _clients: dict[int, GpuClient] = field(default_factory=dict)
    _seen: dict[int, float] = field(default_factory=dict)  # boot time of the last look, by pid
    _reading: Workloads | None = None  # of the last look
    _looked: float = 0.0
    _jobs: dict[str, str] = field(default_factory=dict)  # by the name in an Xid, of a thread too

    def see(self, snapshot: Snapshot) -> None:
        """Take in who is on the GPUs now."""
        workloads = snapshot.reading(Workloads)
        if workloads is self._reading:
            self._looked = snapshot.taken_boottime
            return
        self._note_seen()
        self._reading, self._looked = workloads, snapshot.taken_boottime
        for client in workloads.clients if workloads else ():
            self._clients[client.pid] = client
        self._note_seen()
        while len(self._clients) > MAX_REMEMBERED:
            forgotten = next(iter(self._clients))
            del self._clients[forgotten], self._seen[forgotten]

    def _note_seen(self) -> None:
        clients = self._reading.clients if self._reading else ()
        known = [client.pid for client in clients if client.pid in self._clients]
        self._seen.update(dict.fromkeys(known, self._looked))

    def interpret(self, event: Event) -> Event:
        """Return the event with the `job` of its process; a crash also with `on_gpu`."""
        added: dict[str, str] = {}
        if event.kind != "xid" and event.kind not in CRASHES:
            return event
        pid = event.fields.get("pid", "")
        client = self._of_pid(int(pid), event.boottime) if pid.isdecimal() else None
        if event.kind == "xid" and pid.isdecimal():
            name = event.fields.get("name", "")
            client = client or self._namesake(name)
            job = _job_of(client) if client else self._jobs.get(name, name)
            self._remember(name, job)
            added = {"job": job} if job else {}
        elif event.kind in CRASHES:
            uses = bool(_GPU_LIBRARY.search(event.fields.get("library", "")))
            is_on_gpu = client is not None or uses
            added = {
                "gpu_library": "yes" if uses else "no",
                "on_gpu": "yes" if is_on_gpu else "no",
            }
        if not added:
            return event
        return replace(event, fields=MappingProxyType({**event.fields, **added}))

    def _of_pid(self, pid: int, boottime: float) -> GpuClient | None:
        """Return the process that had this pid at this boot time; None without one."""
        self._note_seen()
        is_late = boottime - self._seen.get(pid, 0.0) > KEPT_PID_SECS
        return None if is_late else self._clients.get(pid)

    def _namesake(self, name: str) -> GpuClient | None:
        """Return the newest known process of this name; None without one or a name."""
        known = reversed(self._clients.values())
        return next((client for client in known if name and client.name == name), None)

    def _remember(self, name: str, job: str) -> None:
        if not name:
            return
        self._jobs.pop(name, None)
        self._jobs[name] = job
        if len(self._jobs) > MAX_REMEMBERED:
            del self._jobs[next(iter(self._jobs))]


def _job_of(client: GpuClient) -> str:
    """Return what stays the same when the job starts a process, container or pod of it again."""
    job = client.workload
    if job is None:
        return client.pod_uid or client.name or str(client.pid)
    if not job.pod and _CONTAINER_ID.fullmatch(job.container):
        return client.name or job.name
    return replace(job, pod=_POD_OF_MANY.sub("", job.pod)).name
