"""A node whose hours pass at once: the real collector, sources and rules in virtual time."""

import asyncio
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType

from exporter.collectors import chosen
from exporter.collectors.clock import Adjtimex, ClockReader
from exporter.collectors.demo.files import NodeFolder
from exporter.collectors.demo.node import DemoNode, event
from exporter.collectors.demo.script import DemoIncident
from exporter.collectors.everything import KINDS, NAMES, families_of, live_families
from exporter.collectors.gpu.backend import BackendError, Backends, GpuAnswer
from exporter.collectors.gpu.nvml import parse_answer
from exporter.collectors.gpu.source import GpuSource
from exporter.collectors.gpu.xids.nvml_events import GpuEvents
from exporter.commands.demo import INTERVAL_SECS, simulated
from exporter.config import Config
from exporter.config.file import Layer, load
from exporter.exposition.page import Moment
from exporter.exposition.render import Format, render
from exporter.faults.engine import RuleEngine
from exporter.faults.rules.loader import RuleBook
from exporter.loop import Clocks, CollectionLoop
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.reading.context import SourceContext
from exporter.reading.files import FILE_DEADLINE_SECS, FileSource
from exporter.reading.source import AnySource
from tests.fakes.host_tree import cpu_node
from tests.fakes.kmsg import kmsg_record
from tests.fakes.source_context import call_now, source_context
from tests.fakes.virtual_time import run_virtually

BOOTTIME, EPOCH = 500_000.0, 1_760_000_000.0
"""When it begins: seconds since boot, and since the epoch."""

STEP_SECS = 5
"""How often the files of the demo's node change."""

IN_STEP = (0, bytes(512))
"""What adjtimex answers of a clock that is synchronized."""

NO_LINES: Mapping[int, str] = MappingProxyType({})

Sources = Callable[[SourceContext], Mapping[str, AnySource]]
"""Sources that take the place of those of the same name."""


def page_of(snapshot: Snapshot, boottime: float, needed: AbstractSet[str] | None = None) -> str:
    """The page of metrics at this boot time in seconds; with `needed` these families only."""
    live = live_families(Moment(boottime))
    families = (*families_of(snapshot), *live)
    shown = (it for it in families if needed is None or it.name in needed)
    return render(shown, snapshot, Format.TEXT).body.decode()


@dataclass(frozen=True, slots=True)
class VirtualNode:
    """Where its files are; `step` is what happens on it at each second since the beginning."""

    config: Config
    step: Callable[[int], None] = lambda _: None
    instead: Sources = lambda _: MappingProxyType({})
    adjtimex: Adjtimex = lambda: IN_STEP

    def snapshots(self, name: str, secs: int, book: RuleBook) -> list[Snapshot]:
        """What the exporter would publish on it in so many seconds."""
        return run_virtually(self._watched(name, secs, book))

    async def _watched(self, name: str, secs: int, book: RuleBook) -> list[Snapshot]:
        loop = asyncio.get_running_loop()
        taken: list[Snapshot] = []
        engine = RuleEngine(book, KINDS, time.perf_counter, boot_id="")

        async def conclude(snapshot: Snapshot) -> Conclusions:
            return engine.conclude(snapshot)

        def wake(source: str) -> None:
            collector.wake(source)

        collector: CollectionLoop
        clocks = Clocks(lambda: EPOCH + loop.time(), lambda: BOOTTIME + loop.time())
        context = source_context(
            self.config,
            hostname=name,
            wall=clocks.wall,
            boottime=clocks.boottime,
            wake=wake,
            is_metric_taken=NAMES.__contains__,
        )
        collector = CollectionLoop(
            name,
            self._sources(context),
            interval_secs=self.config.metrics.collect_interval_secs,
            clocks=clocks,
            publish=taken.append,
            conclude=conclude,
        )
        self.step(0)
        collecting = asyncio.ensure_future(collector.run())
        for second in range(1, secs + 1):
            await asyncio.sleep(1.0)
            self.step(second)
        collecting.cancel()
        await collector.close()
        return taken

    def _sources(self, context: SourceContext) -> Iterator[AnySource]:
        clock = ClockReader(adjtimex=self.adjtimex)
        instead = {
            "clock": FileSource("clock", clock.read, call_now, FILE_DEADLINE_SECS),
            **self.instead(context),
        }
        for row in chosen(context.config).sources_for(context.config):
            yield instead.get(row.name) or row.build(context)


class _DemoBackend:
    """Answers as the probe of the demo does, without a process."""

    def __init__(self, node: DemoNode, hangs_at: float) -> None:
        self._node = node
        self._hangs_at = hangs_at

    async def ask(self) -> GpuAnswer:
        if asyncio.get_running_loop().time() > self._hangs_at:
            raise BackendError("timeout", "the driver hangs")
        return parse_answer(json.loads(json.dumps(self._node.answer())))

    async def close(self) -> None:
        """Nothing is held."""


@contextmanager
def demo_node(
    start: int,
    *incidents: DemoIncident,
    interval_secs: float = INTERVAL_SECS,
    hangs_at: float = math.inf,
) -> Iterator[VirtualNode]:
    """The node of the command `demo --whole-node`, from this second of its script on.

    Of what goes wrong on it only these incidents happen; then its driver hangs.
    """
    node = DemoNode(8, seed=1, speed=1.0, incidents=incidents)
    node.advance_to(start)
    with simulated({}, whole_node=True) as tables:
        interval = {"metrics": {"collect_interval_secs": interval_secs}}
        files = NodeFolder(Path(tables["demo"]["folder"]), BOOTTIME, with_host=True)
        events: list[GpuEvents] = []

        def step(second: int) -> None:
            if second % STEP_SECS:
                return
            xids = node.advance_to(start + second)
            files.write(node, xids, BOOTTIME + second)
            for each in events:
                for xid in xids:
                    each.take(event(xid))

        def gpus(context: SourceContext) -> Mapping[str, AnySource]:
            events.append(GpuEvents(context.wall, context.boottime))
            backends = Backends(_DemoBackend(node, hangs_at), None, lambda: False)
            return {"gpu": GpuSource(context, backends, events[0])}

        try:
            yield VirtualNode(load([Layer("demo", tables | interval)]), step, gpus)
        finally:
            files.close()


@contextmanager
def cpu_server(
    folder: Path, kernel_log: Mapping[int, str] = NO_LINES, adjtimex: Adjtimex = lambda: IN_STEP
) -> Iterator[VirtualNode]:
    """A server without GPUs, whose kernel writes these lines at these seconds."""
    tree = cpu_node(folder)
    tree.remove("/proc/mdstat")  # it tells of an array that has lost a disk
    pipe = folder / "kmsg"
    os.mkfifo(pipe)
    writing = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)

    numbers = count()

    def step(second: int) -> None:
        for line in kernel_log.get(second, "").splitlines():
            os.write(writing, kmsg_record(line, sequence=next(numbers), stamp=BOOTTIME + second))

    tables = {
        "gpu": {"driver_markers": ["/nowhere/driver"], "smi_paths": ["/nowhere/nvidia-smi"]},
        "sources": tree.roots,
        "kernel_log": {"path": str(pipe)},
    }
    try:
        yield VirtualNode(load([Layer("test", tables)]), step, adjtimex=adjtimex)
    finally:
        os.close(writing)
