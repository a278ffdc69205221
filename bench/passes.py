"""`python -m bench.passes FOLDER COUNT`: so many collections with fifty new processes each.

Prints resident bytes, threads and descriptors after a tenth of them and at the end.
"""

import asyncio
import gc
import json
import resource
import sys
import time
from pathlib import Path

from exporter.blocking import DaemonThreads
from exporter.collectors.everything import EVERYTHING
from exporter.collectors.gpu.values import Gpu, GpuBackend, GpuProcess, Gpus, GpuState
from exporter.collectors.workloads.source import WorkloadSource
from exporter.config import Config, Faults, Processes, Sources
from exporter.exposition.page import Moment, Pages
from exporter.exposition.render import Format
from exporter.loop import Clocks, CollectionLoop
from exporter.model.reading import Reading
from exporter.rule_runner import RuleRunner
from tests.collectors.whole_node import sources
from tests.fakes import host_proc
from tests.fakes.host_tree import gpu_node
from tests.fakes.source_context import source_context

NEW_PROCESSES = 50
LIVES = 2
"""A process is there for so many collections."""

INTERVAL_SECS = 15.0
READ = ("/stat", "/cgroup")


class Crowd:
    """Eight GPUs whose processes come and go; their files are in the tree."""

    name = "gpu"
    deadline_secs = 5.0

    def __init__(self, folder: Path) -> None:
        self.tree = gpu_node(folder)
        self.passes = 0
        self._pids: list[int] = []
        self._next = 100_000

    @property
    def now(self) -> float:
        """The time since boot goes on by one interval with each collection."""
        return 5000.0 + self.passes * INTERVAL_SECS

    async def read(self) -> Reading[object]:
        """Return what the driver would say now: fifty processes have ended, fifty are new."""
        self.passes += 1
        self._replace_some()
        states = []
        for index in range(8):
            mine = tuple(GpuProcess(pid, "compute", 2**20) for pid in self._pids[index::8])
            gpu = Gpu(index, f"GPU-{index}", "H100", temperature_celsius=40, processes=mine)
            states.append(GpuState(gpu, self.now))
        return Reading(Gpus(GpuBackend("nvml", "ok", nvml_up=True), tuple(states)))

    async def close(self) -> None:
        """Nothing is held."""

    def _replace_some(self) -> None:
        if len(self._pids) >= LIVES * NEW_PROCESSES:
            gone, self._pids = self._pids[:NEW_PROCESSES], self._pids[NEW_PROCESSES:]
            for pid in gone:
                folder = self.tree.proc / str(pid)
                for file in folder.iterdir():
                    file.unlink()
                folder.rmdir()
        for _ in range(NEW_PROCESSES):
            self._next += 1
            cgroup = f"/system.slice/job{self._next}.service"
            files = host_proc.process(self._next, f"job{self._next}", cgroup)
            self.tree.write({path: files[path] for path in files if path.endswith(READ)})
            self._pids.append(self._next)


def _use() -> dict[str, int]:
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    descriptors = sum(1 for _ in Path("/proc/self/fd").iterdir())
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    return {"resident": resident, "descriptors": descriptors, "threads": threads}


async def _run(folder: Path, count: int) -> None:
    call = DaemonThreads()
    crowd = Crowd(folder)
    tree = Sources(proc_root=str(crowd.tree.proc), host_root=str(crowd.tree.host))
    config = Config(sources=tree, processes=Processes(per_pid=True))
    ctx = source_context(config, call=call, boottime=lambda: crowd.now)
    workloads = WorkloadSource(ctx)
    pages = Pages(EVERYTHING, lambda: crowd.now, Moment)
    judging = RuleRunner(Config(faults=Faults()), EVERYTHING, call, time.perf_counter)
    collector = CollectionLoop(
        "n",
        [crowd, *sources(crowd.tree), workloads],
        interval_secs=INTERVAL_SECS,
        clocks=Clocks(lambda: 1.7e9 + crowd.now, lambda: crowd.now),
        publish=pages.publish,
        conclude=judging.conclude,
    )
    used = []
    for number in range(1, count + 1):
        await collector.collect()
        pages.body(Format.TEXT, gzipped=True)
        if number in (count // 10, count):
            used.append(_use())
    sys.stdout.write(json.dumps(used) + "\n")


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1]), int(sys.argv[2])))
