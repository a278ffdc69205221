"""Puts the workload source together from its surroundings."""

import os
from pathlib import Path

from exporter.sources.context import Surroundings
from exporter.sources.workloads.aggregate import WorkloadAccounts
from exporter.sources.workloads.pod_resources import PodResources
from exporter.sources.workloads.processes import ProcessReader
from exporter.sources.workloads.redaction import Redaction
from exporter.sources.workloads.source import NodeFiles, WorkloadSource


def build_workloads(around: Surroundings) -> WorkloadSource:
    """The workload source with what the configuration wants of it."""
    wanted = around.config.processes
    proc, root = around.proc, around.root
    if around.config.gpu.backend == "demo":
        # Simulated processes are not those that have their numbers here.
        folder = Path(around.config.demo.folder or os.devnull)
        proc, root = folder / "proc", folder / "root"
    ticks_per_sec = os.sysconf("SC_CLK_TCK")
    reader = ProcessReader(proc, ticks_per_sec, with_users=wanted.users)
    return WorkloadSource(
        NodeFiles(reader, proc, root),
        WorkloadAccounts(wanted.top_n if wanted.per_pid else None, Redaction(wanted.redact)),
        PodResources(root, around.call),
        call=around.call,
        boottime=around.boottime,
    )
