"""The processes whose calls are counted: their workloads, parents, states and activity."""

import os
from collections.abc import Collection, Mapping

from exporter.collectors.ebpf.collectives.communicators import RankProcesses
from exporter.collectors.ebpf.libraries import User
from exporter.collectors.workloads.activity import Activity
from exporter.collectors.workloads.attribution import workload_of
from exporter.collectors.workloads.kubelet import KubeletDevices
from exporter.collectors.workloads.processes import ProcessReader
from exporter.collectors.workloads.redaction import Redaction
from exporter.collectors.workloads.source import NodeFiles
from exporter.collectors.workloads.values import Workload
from exporter.reading.context import SourceContext

FORGET_SECS = 15.0
"""Counts of a process are printed a few seconds after its end."""

UNKNOWN = Workload("", "", "unknown")


class TracedProcesses:
    """Asks each process for its workload once, and ranks for what they do at every look."""

    def __init__(self, ctx: SourceContext) -> None:
        settings = ctx.config.processes
        reader = ProcessReader(ctx.proc, os.sysconf("SC_CLK_TCK"))
        self._files = NodeFiles(reader, ctx.proc, ctx.root)
        self._activity = Activity(ctx.proc)
        self._redaction = Redaction(settings.redact, settings.redact_salt)
        self._last_seen: dict[int, float] = {}
        self._workloads: dict[int, Workload] = {}
        self.known = RankProcesses({}, {})

    def look(
        self,
        users: Mapping[int, User],
        now: float,
        counted: Collection[int],
        ranks: Collection[int] = (),
    ) -> None:
        """Look at processes that use libraries, counted processes and ranks; blocks."""
        self._last_seen.update(dict.fromkeys(users, now))
        for pid, seen in tuple(self._last_seen.items()):
            if now - seen > FORGET_SECS:
                del self._last_seen[pid]
                self._workloads.pop(pid, None)
        new = {*users, *counted} - self._workloads.keys()
        table = self._files.read(tuple({*new, *ranks}), KubeletDevices())
        states = {pid: facts.state for pid, facts in table.processes.items()}
        for pid in new & table.processes.keys():
            found = workload_of(table.processes[pid], table) or UNKNOWN
            self._workloads[pid] = self._redaction.workload(found)
            self._last_seen[pid] = now
        parents = {pid: user.parent for pid, user in users.items()}
        found_ranks = [table.processes[pid] for pid in ranks if pid in table.processes]
        busy = self._activity.look(found_ranks, now)
        self.known = RankProcesses(dict(self._workloads), parents, states, busy)
