"""The workload source: reads the processes that the GPU source has just reported."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from exporter.collectors.gpu.values import Gpus
from exporter.collectors.workloads.aggregate import Shares, WorkloadAggregator
from exporter.collectors.workloads.attribution import ProcessTable
from exporter.collectors.workloads.clients import pids_on
from exporter.collectors.workloads.kubelet import (
    KubeletDevices,
    PodResources,
    Replicas,
    read_checkpoint,
)
from exporter.collectors.workloads.pod_logs import PodNameReader, PodNames
from exporter.collectors.workloads.processes import (
    ProcessFacts,
    ProcessReader,
    pid_scope,
    read_users,
)
from exporter.collectors.workloads.redaction import Redaction
from exporter.collectors.workloads.values import Workloads
from exporter.model.reading import Missing, Reading
from exporter.model.snapshot import Snapshot
from exporter.reading.context import SourceContext
from exporter.reading.files import FILE_DEADLINE_SECS
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.record import replace

if TYPE_CHECKING:
    from exporter.collectors.workloads.slurm import SlurmJobs

NO_PROCESSES: Mapping[int, ProcessFacts] = MappingProxyType({})
MAX_PROCESSES = 2000
"""Processes looked at in one collection; those that hold least memory are left out."""

KEPT_SECS = 300.0
"""A kubelet that does not answer gives no devices out: its last answer holds for so long."""


class NodeFiles:
    """Reads what the node's files say about processes, pods and devices; blocks while it does."""

    def __init__(self, processes: ProcessReader, proc_root: Path, host_root: Path) -> None:
        self._processes = processes
        self._proc = proc_root
        self._root = host_root
        self._names = PodNameReader(host_root)

    def read(
        self,
        pids: tuple[int, ...],
        given: KubeletDevices | None = None,
        others: Mapping[int, ProcessFacts] = NO_PROCESSES,
        *,
        last: KubeletDevices | None = None,
        needs_names: bool = False,
        needs_uids: bool = False,
    ) -> ProcessTable:
        """Read everything about these processes; those that have ended are left out.

        `given` are the kubelet's devices where they are known from elsewhere, `last` those that
        were given before, for a checkpoint that cannot be read; `others` are in the table as they
        are; names of pods are read where something names one. With `needs_uids` the
        UIDs of pods that hold devices are read too.
        """
        scope = pid_scope(self._proc)
        if scope.reason is not None:
            return ProcessTable(scope, allocations=() if given is None else given.allocations)
        result = {pid: self._processes.read(pid) for pid in pids[:MAX_PROCESSES]}
        found = {pid: facts for pid, facts in result.items() if facts is not None}
        processes = {**others, **found}
        devices, missing = self._devices() if given is None else (given, ())
        devices = last if missing and last is not None else devices
        named = devices
        if needs_uids and given is not None and given.allocations:
            named, unread = self._devices()
            missing = tuple(Missing("pod_uids", it.reason) for it in unread)
        names = PodNames()
        if needs_names or devices.allocations or _are_in_pods(processes.values()):
            names = self._names.read()
        has_uids = any(facts.uid is not None for facts in processes.values())
        return ProcessTable(
            scope=scope,
            processes=processes,
            unread=frozenset(pids[MAX_PROCESSES:]),
            names=names,
            containers_by_pod=self._containers_by_pod(processes.values(), names),
            allocations=devices.allocations,
            checkpoint=named.allocations if needs_uids else (),
            users=read_users(self._root) if has_uids else {},
            registered=devices.registered,
            missing=missing,
        )

    def _devices(self) -> tuple[KubeletDevices, tuple[Missing, ...]]:
        try:
            return read_checkpoint(self._root), ()
        except (SourceAbsent, SourceFailed) as reason:
            return KubeletDevices(), (Missing("allocations", str(reason)),)

    def _containers_by_pod(
        self, processes: Iterable[ProcessFacts], names: PodNames
    ) -> dict[str, tuple[str, ...]]:
        """List the containers of the pods whose processes no container's id can name."""
        unnamed = {
            facts.owner.pod_uid or ""
            for facts in processes
            if facts.owner.container_id not in names.containers
        }
        pods = [names.pods[uid] for uid in sorted(unnamed) if uid in names.pods]
        return {pod.pod_uid: self._names.containers_of(pod) for pod in pods}


def _are_in_pods(processes: Iterable[ProcessFacts]) -> bool:
    owners = (facts.owner for facts in processes)
    return any(owner.pod_uid or owner.container_id for owner in owners)


class SharingSeen(Protocol):
    """What is said of shared GPUs, before it is known whose the parts are."""

    @property
    def missing(self) -> tuple[Missing, ...]:
        """What could not be read."""
        ...

    @property
    def needs_names(self) -> bool:
        """Whether names of pods must be read."""
        ...

    def on_node(
        self, registered: tuple[Replicas, ...], names: PodNames, redaction: Redaction
    ) -> Shares:
        """Return how GPUs are shared by these pods and registered replicas."""
        ...


class Sharing(Protocol):
    """Reads how GPUs are shared, before processes are looked at."""

    async def read(self, gpu_uuids: tuple[str, ...]) -> SharingSeen:
        """Return what is said of these GPUs."""
        ...

    async def close(self) -> None:
        """End what is asked beside collections."""
        ...


class WorkloadSource:
    """Follows the GPU source: only processes that are on a GPU are looked at.

    They are looked at after the driver has named them, so that a process which began before the
    driver's answer and is still there is the one that the driver meant. What `build_sharing` makes
    of the root of the node's filesystem is read first, where a GPU is known.
    """

    name = "workloads"
    follows = Gpus
    deadline_secs = FILE_DEADLINE_SECS

    def __init__(
        self, ctx: SourceContext, build_sharing: Callable[[Path], Sharing] | None = None
    ) -> None:
        settings = ctx.config.processes
        proc, self._root = ctx.proc, ctx.root
        if ctx.config.gpu.backend == "demo":
            # Simulated processes are not those that have their numbers here.
            folder = Path(ctx.config.demo.folder or os.devnull)
            proc, self._root = folder / "proc", folder / "root"
        reader = ProcessReader(proc, os.sysconf("SC_CLK_TCK"), with_users=settings.users)
        redaction = Redaction(settings.redact, settings.redact_salt)
        self._files = NodeFiles(reader, proc, self._root)
        self._accounts = WorkloadAggregator(
            settings.top_n if settings.per_pid else None, redaction, pod_uids=settings.pod_uids
        )
        self._resources = PodResources(self._root, ctx.call)
        self._answer, self._answered_at = KubeletDevices(), -KEPT_SECS
        self._jobs: SlurmJobs | None = None
        if settings.slurm_jobs and not redaction.hides("container"):
            from exporter.collectors.workloads import slurm  # noqa: PLC0415 - where it is asked for

            self._jobs = slurm.SlurmJobs(reader, proc, self._root, ctx.call)
        self._build_sharing = build_sharing
        self._sharing: Sharing | None = None
        self._call = ctx.call
        self._boottime = ctx.boottime

    async def read_after(self, seen: Snapshot) -> Reading[Workloads]:
        """Sum up the workloads on the GPUs of this snapshot; raise SourceAbsent without GPUs."""
        gpus = seen.reading(Gpus)
        if gpus is None or not gpus.states:
            raise SourceAbsent("no GPU is known")
        missing: tuple[Missing, ...] = ()
        last = None
        try:
            given = await self._resources.read()
        except SourceFailed as failed:
            given, missing = None, (Missing("pod_resources", str(failed)),)
        if given is not None:
            self._answer, self._answered_at = given, self._boottime()
        elif self._boottime() - self._answered_at < KEPT_SECS:
            last = self._answer  # also while a kubelet that starts makes its socket anew
        sharing = None
        if self._build_sharing is not None:
            self._sharing = self._sharing or self._build_sharing(self._root)
            sharing = await self._sharing.read(tuple(state.gpu.uuid for state in gpus.states))
        needs_names = sharing is not None and sharing.needs_names
        pids = pids_on(gpus.states)
        needs_uids = self._accounts.with_pod_uids
        table = await self._call(
            lambda: self._files.read(
                pids, given, last=last, needs_names=needs_names, needs_uids=needs_uids
            )
        )
        if self._jobs is not None:
            jobs, unread = await self._jobs.read(table.processes.values())
            table = replace(table, jobs=jobs, missing=(*table.missing, *unread))
        workloads = await self._call(lambda: self._sum_up(gpus, table, sharing))
        more = () if sharing is None else sharing.missing
        return Reading(workloads, (*missing, *table.missing, *more))

    def _sum_up(self, gpus: Gpus, table: ProcessTable, sharing: SharingSeen | None) -> Workloads:
        shares = None
        if sharing is not None:
            shares = sharing.on_node(table.registered, table.names, self._accounts.redaction)
        return self._accounts.update(gpus, table, self._boottime(), shares)

    async def close(self) -> None:
        """End what is asked beside collections; nothing else is held between two looks."""
        if self._sharing is not None:
            await self._sharing.close()
        if self._jobs is not None:
            await self._jobs.close()
