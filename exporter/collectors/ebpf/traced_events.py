"""TCP retransmits by workload and latency of disks, counted in the kernel (docs/ebpf.md)."""

import os
import re
import time
from collections.abc import Collection
from dataclasses import field
from functools import partial
from pathlib import Path

from exporter.collectors.ebpf.batch import BatchReader
from exporter.collectors.ebpf.kernel_program import (
    LATENCY,
    RETRANSMIT_FORMAT,
    RETRANSMITS,
    count_events,
    not_countable,
)
from exporter.collectors.ebpf.kernel_totals import UNKNOWN, KernelTotals, Opener, User
from exporter.collectors.ebpf.program import MAX_KEYS
from exporter.collectors.ebpf.trace_loop import TraceLoop, require_tracing
from exporter.collectors.ebpf.tracer import Script, Tracing, Trial
from exporter.collectors.ebpf.values import TracedEvents
from exporter.collectors.workloads.attribution import ProcessTable, workload_of
from exporter.collectors.workloads.cgroup_ids import CgroupPaths
from exporter.collectors.workloads.kubelet import KubeletDevices
from exporter.collectors.workloads.processes import ProcessFacts, ProcessReader
from exporter.collectors.workloads.redaction import Redaction
from exporter.collectors.workloads.source import NodeFiles
from exporter.model.label import clean_text
from exporter.model.reading import Missing, Reading
from exporter.reading.cgroup import NOBODY
from exporter.reading.context import SourceContext
from exporter.reading.device_filter import shown
from exporter.reading.files import read_text
from exporter.reading.source import SourceAbsent, SourceFailed
from exporter.record import dataclass

MAX_NAMED = 1024
TRACEPOINTS = Path("/sys/kernel/tracing/events")
BTF = Path("/sys/kernel/btf/vmlinux")
_NVME_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)")


@dataclass(frozen=True, slots=True)
class _Owners:
    """The owners of sockets, and the names of the disks, by their numbers."""

    users: dict[Opener, User] = field(default_factory=dict)
    disks: dict[int, str] = field(default_factory=dict)


class TracedEventsSource:
    """Runs bpftrace from its first reading on, and finds out whose events they are."""

    name = "ebpf_kernel"
    deadline_secs = 1.0

    def __init__(self, ctx: SourceContext, tracepoints: Path = TRACEPOINTS) -> None:
        self._ctx = ctx
        self._owners = EventOwners(ctx)
        self._tracepoints = tracepoints
        self._clock = time.monotonic
        self._totals = KernelTotals()
        self._disks: dict[int, str] = {}
        self._tracing = Tracing(ctx.children)
        self._script: Script | None = None
        self._missing: tuple[Missing, ...] = ()
        self._loop = TraceLoop(self._settle, "looking for the owners of sockets")
        self._trial = Trial(ctx.children)

    async def read(self) -> Reading[TracedEvents]:
        """Return what was counted; raise SourceAbsent where nothing can be."""
        if self._script is None:
            reader = BatchReader(self._totals.take)
            program = self._program(self._countable())
            self._script = Script(program, reader.take, max_keys=MAX_KEYS)
            self._tracing.start(self._script)
            self._loop.start()
            self._trial.start()
        self._loop.check()
        # The trial says why in better words: it needs no headers of the kernel.
        failure = self._trial.problem or self._tracing.failure
        if failure and not self._tracing.is_attached:
            raise SourceFailed(failure)  # nothing is counted: what was is old
        return Reading(
            TracedEvents(self._totals.retransmits(), self._totals.latencies(self._disks)),
            self._missing,
        )

    async def close(self) -> None:
        """Detach from the kernel."""
        await self._loop.close()
        self._trial.kill()
        self._tracing.kill()

    def _countable(self) -> tuple[str, ...]:
        """Return the kinds of events that this node can count; note why not the others."""
        require_tracing(self._ctx, needs_pids=False)
        reasons = {
            kind: not_countable(kind, self._tracepoints, BTF)
            for kind in (RETRANSMITS, LATENCY)
            if kind in self._ctx.config.ebpf.kernel_events
        }
        self._missing = tuple(Missing(kind, why) for kind, why in reasons.items() if why)
        kinds = tuple(kind for kind, why in reasons.items() if why is None)
        if not kinds:
            raise SourceAbsent("; ".join(missing.reason for missing in self._missing))
        return kinds

    def _program(self, kinds: tuple[str, ...]) -> str:
        try:
            fields = read_text(self._tracepoints / RETRANSMIT_FORMAT)
        except (SourceAbsent, SourceFailed):
            fields = ""  # then the tracepoint is not counted either
        return count_events(kinds, reports_failures=" err;" in fields)

    async def _settle(self) -> None:
        """Keep bpftrace running, and find out whose the new events are."""
        if self._script and not self._tracing.is_running and not self._tracing.is_pausing:
            self._tracing.start(self._script)
        openers, disks = self._totals.openers, self._totals.disks
        look = await self._ctx.call(partial(self._owners.look, openers, disks))
        self._disks = look.disks
        self._totals.settle(look.users, self._clock())


class EventOwners:
    """Finds the workloads of sockets and the names of disks; blocks while it does."""

    def __init__(self, ctx: SourceContext) -> None:
        settings = ctx.config.processes
        self._devices = ctx.sys / "dev/block"
        self._cgroups = CgroupPaths(ctx.sys)
        self._processes = ProcessReader(ctx.proc, os.sysconf("SC_CLK_TCK"))
        self._files = NodeFiles(self._processes, ctx.proc, ctx.root)
        self._redaction = Redaction(settings.redact, settings.redact_salt)
        self._is_disk_shown = shown(ctx.devices.disk_exclude, ctx.devices.disk_include)
        self._named: dict[Opener, User] = {}

    def look(self, openers: Collection[Opener], disks: Collection[int]) -> _Owners:
        """Look at the files of the node."""
        return _Owners(
            self._users(openers) if openers else {},
            {number: name for number in disks if (name := self._disk(number)) is not None},
        )

    def _users(self, openers: Collection[Opener]) -> dict[Opener, User]:
        cgroups = {cgroup for cgroup, _ in openers if cgroup}
        sockets = {
            -cgroup: ProcessFacts(-cgroup, "", "", 0.0, self._processes.owner_of(path))
            for cgroup, path in self._cgroups.paths_of(cgroups).items()
        }
        pids = tuple({pid for _, pid in openers if pid})
        table = self._files.read(pids, KubeletDevices(), sockets)
        found = {opener: self._user(opener, table) for opener in openers}
        for opener, user in found.items():
            if user[1]:
                self._named[opener] = user  # its last counts come when it has ended
        while len(self._named) > MAX_NAMED:
            del self._named[next(iter(self._named))]
        return {
            opener: user if user[1] else self._named.get(opener, user)
            for opener, user in found.items()
        }

    def _user(self, opener: Opener, table: ProcessTable) -> User:
        """By the cgroup of the socket; by the process that opened it where that says nothing."""
        cgroup, pid = opener
        socket, process = table.processes.get(-cgroup), table.processes.get(pid)
        facts = process
        if socket is not None and socket.owner != NOBODY:
            facts = socket
            if process is not None and process.owner != socket.owner:
                process = None  # another process has the number now
        workload = None if facts is None else workload_of(facts, table)
        if workload is None:
            return UNKNOWN
        name = self._redaction.process(process.name) if process is not None else ""
        return self._redaction.workload(workload), name

    def _disk(self, number: int) -> str | None:
        """Name a disk; of the paths to an NVMe namespace the one that stands for all of them."""
        try:
            target = (self._devices / f"{number >> 20}:{number & 0xFFFFF}").readlink()
        except OSError:
            return None  # it was removed
        name = _NVME_PATH.sub(r"\1\2", clean_text(target.name))
        return name if self._is_disk_shown(name) else None
