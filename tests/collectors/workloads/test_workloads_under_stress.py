"""Workloads where processes come and go, files hang, and tenants choose their names."""

import asyncio
import threading
import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter.blocking import CallBlocking, DaemonThreads
from exporter.collectors.gpu.values import Gpu, GpuBackend, GpuProcess, Gpus, GpuState
from exporter.collectors.workloads.families import FAMILIES
from exporter.collectors.workloads.source import WorkloadSource
from exporter.collectors.workloads.values import Workloads
from exporter.config import Config, Processes
from exporter.exposition.render import Format, render
from exporter.loop import Clocks, CollectionLoop
from exporter.model.reading import Reading
from exporter.model.snapshot import Outcome, Snapshot
from tests.collectors.node_tree import NodeTree
from tests.fakes.fuse import StuckFiles
from tests.fakes.source_context import source_context

READ_AT = 1000.0


class GpusOfTest:
    """A source that sees what the test put there."""

    name = "gpu"
    deadline_secs = 2.0

    def __init__(self, *processes: GpuProcess) -> None:
        gpu = Gpu(0, "GPU-0", "H100", processes=processes)
        self._gpus = Gpus(GpuBackend("nvml", "ok"), (GpuState(gpu, READ_AT),))

    async def read(self) -> Reading[object]:
        return Reading(self._gpus)

    async def close(self) -> None:
        """Nothing is held."""


def _source(tree: NodeTree, call: CallBlocking, deadline_secs: float = 2.0) -> WorkloadSource:
    config = Config(sources=tree.sources, processes=Processes(per_pid=True))
    source = WorkloadSource(source_context(config, call=call, boottime=lambda: READ_AT))
    source.deadline_secs = deadline_secs
    return source


def _collector(*sources: GpusOfTest | WorkloadSource) -> CollectionLoop:
    clocks = Clocks(lambda: 1e9, lambda: READ_AT)
    return CollectionLoop("n", sources, interval_secs=1, clocks=clocks, publish=lambda _: None)


@pytest.mark.system
async def test_a_process_whose_file_hangs_costs_only_the_workloads(
    tmp_path: Path, stuck_files: StuckFiles
) -> None:
    """The workloads are stuck, once; what the driver says of the GPU is shown as ever."""
    tree = NodeTree(tmp_path)
    tree.process(10, "0::/")
    (tree.proc / "10/cgroup").unlink()
    (tree.proc / "10/cgroup").symlink_to(stuck_files.hang("cgroup"))
    source = _source(tree, DaemonThreads(), deadline_secs=0.3)
    collector = _collector(GpusOfTest(GpuProcess(10, "compute")), source)
    threads = threading.active_count()
    for _ in range(4):
        snapshot = await collector.collect()
    outcomes = {report.source: report.outcome for report in snapshot.reports}
    assert outcomes == {"gpu": Outcome.OK, "workloads": Outcome.STUCK}
    assert snapshot.reading(Gpus) is not None
    assert snapshot.reading(Workloads) is None
    assert threading.active_count() <= threads + 2
    stuck_files.release("cgroup")


async def test_processes_that_come_and_go_are_no_errors(tmp_path: Path) -> None:
    """While 200 processes begin and end all the time, every look succeeds and none is wrong."""
    tree = NodeTree(tmp_path)
    pids = range(100, 300)
    is_over = threading.Event()

    def churn() -> None:
        while not is_over.is_set():
            for pid in pids:
                tree.process(pid, f"0::/system.slice/job{pid}.service")
            for pid in pids:
                tree.ends(pid)

    churning = threading.Thread(target=churn)
    churning.start()
    collector = _collector(
        GpusOfTest(*(GpuProcess(pid, "compute", 1) for pid in pids)),
        _source(tree, DaemonThreads()),
    )
    try:
        began = time.monotonic()
        while time.monotonic() - began < 1:
            snapshot = await collector.collect()
            workloads = snapshot.reading(Workloads)
            assert workloads is not None
            for client in workloads.clients:
                if client.workload is not None:
                    assert client.workload.container in ("python3", f"job{client.pid}.service")
            await asyncio.sleep(0)
    finally:
        is_over.set()
        churning.join()


async def test_names_that_tenants_choose_stay_in_their_label(tmp_path: Path) -> None:
    """Quotes, newlines, bytes that are no text: the page parses and has as many series."""
    tree = NodeTree(tmp_path)
    wild = ['"} 1', "a\nhw_x 1", "\\", "é\x7f", "x" * 900, 'b{c="d"}', ") R 1 2 (", "\t", "{}", "#"]
    for place, name in enumerate(wild):
        tree.process(10 + place, "0::/", name=name)
        tree.process(30 + place, f"0::/system.slice/{name.replace('/', '')}.service")
    pids = [*range(10, 10 + len(wild)), *range(30, 30 + len(wild))]
    collector = _collector(
        GpusOfTest(*(GpuProcess(pid, "compute", pid) for pid in pids)),
        _source(tree, DaemonThreads()),
    )
    snapshot: Snapshot = await collector.collect()
    page = render(FAMILIES, snapshot, Format.TEXT).body.decode()
    families = {family.name: family for family in text_string_to_metric_families(page)}
    samples = families["hw_gpu_process_memory_used_bytes"].samples
    assert {int(sample.labels["pid"]): sample.value for sample in samples} == {
        pid: float(pid) for pid in pids
    }
    memory = families["hw_gpu_workload_memory_used_bytes"].samples
    assert sum(sample.value for sample in memory) == sum(pids)
    assert all(len(sample.labels["container"]) <= 256 for sample in memory)
