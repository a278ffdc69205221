"""A GPU node on its lowest seams: real readers and rules, and a clock that the scene moves."""

import asyncio
import math
import os
import re
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fcntl import ioctl
from pathlib import Path
from shutil import rmtree
from termios import FIONREAD
from typing import Any

from exporter.collector import Collectors
from exporter.collectors import chosen
from exporter.collectors.clock import ClockReader
from exporter.collectors.disk.filesystem import FilesystemSource
from exporter.collectors.disk.nvme import NvmeHealthReader
from exporter.collectors.gpu.source import GpuSource
from exporter.collectors.kernel_log.checkpoint import Position
from exporter.collectors.kernel_log.source import KernelLogSource
from exporter.collectors.network.ethtool import EthtoolReader
from exporter.config import Config
from exporter.config.file import Layer, load
from exporter.loop import Clocks, CollectionLoop
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions
from exporter.probes.child import Children
from exporter.reading.context import SourceContext
from exporter.reading.files import FILE_DEADLINE_SECS, FileSource
from exporter.reading.known_good import KnownGood
from exporter.reading.source import AnySource
from exporter.rule_runner import RuleRunner
from tests.collectors.kernel_log.feeding import kmsg
from tests.corpus.invariants import Watch
from tests.fakes import host_proc
from tests.fakes.ethtool import FakeDrivers, Statistics, printed
from tests.fakes.host_tree import HostTree, gpu_node
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.fakes.source_context import call_now, source_context
from tests.fakes.system_bus import SystemBus
from tests.fakes.tracefs import Tracefs
from tests.loaded_once import loaded_once
from tests.scenes.scene import INTERVAL_SECS, NOTHING, Change, Scene
from tests.scenes.system_calls import SystemCalls
from tests.scenes.traced_job import TracedJob

ROOT = Path(__file__).resolve().parent.parent.parent
BOOTTIME, EPOCH = 500_000.0, 1_760_000_000.0
GROWING = re.compile(r"\{(\d+)\}")
"""How much a counter grows from look to look."""

LONG_SECS, SPARSE_SECS, SPARSE_STEPS = 120.0, 60.0, 8
"""Of a longer wait only the last part is judged at each interval."""

BLOCK_SECS = 0.25
"""Real seconds until the lines of an Xid that may still grow are taken as complete."""

LINK = "-> "
"""What the text of a symbolic link begins with; its target follows."""

CAPTURE, GPUS = "h100x8.scenario", 4
"""The first four of its GPUs: eight take twice the time, and tell no more of a rule."""
POD = "0f0e0d0c-1111-4222-8333-444455556666"
SLICE = (
    "/kubepods.slice/kubepods-burstable.slice/"
    f"kubepods-burstable-pod{POD.replace('-', '_')}.slice/cri-containerd-{'a' * 64}.scope"
)
"""The control group of the pod that trains."""
DRIVER = "/dev/nvidiactl"
TRACEFS = "kernel/tracing"
"""Where tracefs is below /sys."""
PROGRAMS = "/opt/bin"
"""Where the programs of other vendors are."""
ETHTOOL = "/run/ethtool"
"""Where a scene puts what `ethtool -S` prints of an interface."""
UNITS, SYSTEM_BUS = "/run/units", "/run/dbus/system_bus_socket"
"""Where a scene says how units of systemd are, and where systemd tells of them."""
PASS_SECS = 20.0
"""Real seconds that a pass over the GPUs may take on a busy machine."""
STARTED: dict[tuple[int, ...], Collectors] = {}


def healthy_node(folder: Path, gpus: int = GPUS) -> HostTree:
    """Make the files of a node with GPUs, on which the processes of a pod train.

    It has two InfiniBand ports: each has as many files as a GPU.
    """
    tree = gpu_node(folder, gpus, ports=2)
    rmtree(tree.proc / "net")
    tree.link({"/proc/net": "1/net"})
    tree.write({"/proc/mdstat": "Personalities : [raid1]\nunused devices: <none>\n"})
    tree.write({"/proc/sys/kernel/random/boot_id": "0b0c0ffe-0000-4000-8000-0b0c0ffee0b0\n"})
    names = f"var/log/pods/ml_train-0_{POD}/main/0.log"
    files = _files_of(f"{pid} python3 S {SLICE}" for pid in (41001, 41002))
    tree.write({f"/{names}": "", **{path: text for path, text in files if text}})
    return tree


def collectors_of(config: Config) -> Collectors:
    """Return the collectors of a configuration, the same for each start with these collectors."""
    known = loaded_once(chosen(config))
    return STARTED.setdefault(tuple(map(id, known)), known)


class Stage:
    """A node with four GPUs; `boottime` counts virtual seconds.

    The files of `tree` are used by many stages: each puts them back when it is closed.
    """

    def __init__(
        self, folder: Path, nvml: NvmlLibrary, smi: NvidiaSmi, tree: HostTree | None = None
    ) -> None:
        self.boottime = BOOTTIME
        self.calls = SystemCalls()
        self.watch = Watch()
        self.tree: HostTree = tree or healthy_node(folder / "node")
        self._originals: dict[str, str | None] = {}
        self.nvml, self.smi = nvml, smi
        self._bus = SystemBus(self.tree.at(SYSTEM_BUS), self.tree.at(UNITS))
        self._log = _KernelLog(folder / "kmsg")
        self._tracefs: Tracefs | None = None
        self._job: TracedJob | None = None
        self._folder = folder
        self._state = folder / "state"
        self._state.mkdir()
        self._children = Children()
        self._snapshot: Snapshot
        self._running: tuple[CollectionLoop, RuleRunner] | None = None
        self._interval_secs = INTERVAL_SECS
        self._before: dict[str, str | None] = {}
        self._sources: list[AnySource] = []
        self._own_cards: tuple[str, ...] = ()
        self._cards()

    async def start(self, scene: Scene, settings: Mapping[str, Any] = NOTHING) -> None:
        """Start the exporter with the default configuration, what the scene sets, and these."""
        self._interval_secs = scene.interval
        self._put(DRIVER, "" if scene.gpus else None)
        if scene.ill.traced and self._tracefs is None:
            self._tracefs = Tracefs(self.tree.sys / TRACEFS)
        if scene.ill.late and self._job is None:
            self._job = TracedJob(self._folder / "bpftrace")
            for path, text in self._job.files.items():
                self._put(path, text)
        config = self._config(scene, settings)
        collectors = collectors_of(config)
        context = source_context(
            config,
            hostname="gpu-node-1",
            child_environment={
                "PYTHONPATH": str(ROOT),
                "PATH": f"{self.tree.at(PROGRAMS)}:/usr/bin",
                **self.nvml.environment,
            },
            children=self._children,
            driver_children=self._children,
            wall=self._wall,
            boottime=lambda: self.boottime,
            known_good=KnownGood(self._state),
        )
        instead = self._asking_the_stage(context)
        self._sources = sources = [
            instead.get(row.name) or row.build(context) for row in collectors.sources_for(config)
        ]
        seldom = math.inf  # a longer wait is judged seldom; that is no pause of the node
        rules = RuleRunner(
            config, collectors, call_now, time.perf_counter, longest_pause_secs=seldom
        )
        clocks = Clocks(self._wall, lambda: self.boottime)
        loop = CollectionLoop(
            "gpu-node-1",
            sources,
            interval_secs=self._interval_secs,
            clocks=clocks,
            publish=self._publish,
        )
        self._running = loop, rules

    def _asking_the_stage(self, ctx: SourceContext) -> dict[str, AnySource]:
        """Make the sources whose system calls the stage answers."""
        calls = self.calls
        clock = ClockReader(ctx.known_good, calls.adjtimex)
        health = NvmeHealthReader(ctx.sys, ctx.root, calls.health_log)
        drivers = EthtoolReader(
            ctx.proc, ctx.sys, ctx.devices, open_in=FakeDrivers(self._nics).opened_in
        )
        job = {} if self._job is None else {"ebpf": self._job.source(ctx)}
        return {
            **job,
            "ethtool": FileSource("ethtool", drivers.read, calls.call, FILE_DEADLINE_SECS),
            "clock": FileSource("clock", clock.read, calls.call, FILE_DEADLINE_SECS),
            "nvme_health": FileSource("nvme_health", health.read, calls.call, FILE_DEADLINE_SECS),
            "filesystem": FilesystemSource(
                ctx.proc, ctx.sys, ctx.root, calls.call, ctx.devices, statvfs=calls.statvfs
            ),
        }

    def _nics(self) -> Mapping[str, tuple[str, Statistics]]:
        """Return what `ethtool -S` prints of each interface that the scene has given statistics."""
        folder = self.tree.at(ETHTOOL)
        files = folder.iterdir() if folder.is_dir() else ()
        return {file.name: (self._address(file.name), printed(file.read_text())) for file in files}

    def _address(self, interface: str) -> str:
        return (self.tree.sys / f"class/net/{interface}/device").resolve().name

    async def stop(self) -> None:
        """Stop the exporter; what it keeps over a restart stays."""
        if self._running is not None:
            loop, rules = self._running
            await loop.close()
            await rules.close()
        await self._children.end_all()
        self._running = None

    def close(self) -> None:
        """Let go of the kernel log and the system bus, and put back all files."""
        self._log.close()
        self._bus.close()
        if self._job is not None:
            self._job.close()
        if self._tracefs is not None:
            self._tracefs.close()
            rmtree(self.tree.sys / TRACEFS)
        for path, text in self._originals.items():
            self._put(path, text)
            if text is None:
                with suppress(OSError):  # a folder above holds other files
                    os.removedirs(self.tree.at(path).parent)

    async def look(self) -> Snapshot:
        """Read all seams once, an interval after the look before."""
        assert self._running is not None
        self.boottime += self._interval_secs
        if self._job is not None:
            await self._job.go_on(self.boottime, self._interval_secs)
        await self._running[0].collect()
        if passes := {task for task in asyncio.all_tasks() if "_run_pass" in repr(task)}:
            await asyncio.wait(passes, timeout=PASS_SECS)
            await self._running[0].collect()
        return await self._judge(self._snapshot)

    async def wait(self, secs: float, dense_secs: float = LONG_SECS) -> Snapshot:
        """Judge what was read last for so many seconds: nothing at the seams changes.

        Only the last `dense_secs` are judged at each interval.
        """
        seen, until = self._snapshot, self.boottime + secs
        sparse_secs = max(SPARSE_SECS, secs / SPARSE_STEPS)
        while self.boottime < until:
            left_secs = until - dense_secs - self.boottime
            self.boottime += self._interval_secs if left_secs <= 0 else min(sparse_secs, left_secs)
            moved = replace(
                seen,
                sequence=self._snapshot.sequence + 1,
                taken_at=self._wall(),
                taken_boottime=self.boottime,
            )
            self._snapshot = await self._judge(moved)
        return self._snapshot

    def stand(self, node: Change) -> None:
        """Let the node be so before and after all that happens: its files and its GPUs."""
        for path, text in (*node.files.items(), *_files_of(node.processes)):
            self._put(path, text)
        self._own_cards = node.nvml
        self._cards()

    async def change(self, change: Change) -> None:
        """Let this happen at the seams."""
        for path, text in (*change.files.items(), *_files_of(change.processes)):
            self._before.setdefault(path, self._text(path))
            self._put(path, text)
        for _ in range(change.releases):
            self._gpus().release()
        if change.nvml:
            self._cards(*change.nvml)
        if change.calls:
            self.calls.say(change.calls)
        if self._job is not None:
            self._job.begin(change.late)
        await self._print(change)

    async def _print(self, change: Change) -> None:
        for number, line in enumerate(change.log):
            printed_at = self.boottime - (len(change.log) - number) / 1000  # one after the other
            self._log.print(line, printed_at, lost=change.lost if number == 1 else 0)
        for text in change.traced:
            assert self._tracefs is not None
            self._tracefs.trace(text, self.boottime)
        if change.log and self._running:
            await self._log_is_read()
        if change.traced and self._running:
            await self._tracefs_is_read()

    async def _log_is_read(self) -> None:
        """Wait until the exporter has taken all lines, and expects no further ones of a block."""
        source = next(source for source in self._sources if isinstance(source, KernelLogSource))
        assert source._followed is not None
        pipeline = source._followed.pipeline
        while pipeline.is_holding or self._log.is_ahead_of(pipeline.position):  # noqa: ASYNC110 - nobody is told of each line
            await asyncio.sleep(0.01)

    async def _tracefs_is_read(self) -> None:
        """Wait until the exporter has taken all Xids, and expects no further line of one."""
        assert self._tracefs is not None
        left = array("i", [1])
        while left[0]:
            ioctl(self._tracefs.reading, FIONREAD, left)
            await asyncio.sleep(0.01)
        await asyncio.sleep(BLOCK_SECS)

    def grow(self, change: Change, number: int) -> None:
        """Write the counters that grow, as they are at the look of this number."""
        for path, text in change.grows.items():
            self._before.setdefault(path, self._text(path))
            self._put(path, _grown(text, number))
        if change.nvml_grows:
            self._cards(*change.nvml, *(_grown(line, number) for line in change.nvml_grows))

    async def repair(self, ill: Change, well: Change) -> None:
        """Take back what was changed, except for counters, which only stop; then this happens."""
        for path, text in self._before.items():
            if path not in ill.grows:
                self._put(path, text)
        if ill.nvml or well.nvml:
            self._cards(*well.nvml)
        if ill.calls:
            self.calls.say(None)
        await self.change(well)

    def _gpus(self) -> GpuSource:
        return next(source for source in self._sources if isinstance(source, GpuSource))

    def _text(self, path: str) -> str | None:
        place = self.tree.at(path)
        if place.is_symlink():
            return f"{LINK}{place.readlink()}"
        return place.read_text() if place.is_file() else None

    def _put(self, path: str, text: str | None) -> None:
        self._originals.setdefault(path, self._text(path))
        if text is not None and text.startswith(LINK):
            self.tree.at(path).unlink(missing_ok=True)
            self.tree.link({path: text.removeprefix(LINK)})
        elif text is not None:
            self.tree.write({path: text})
            if path.startswith(PROGRAMS):
                self.tree.at(path).chmod(0o755)
        elif os.path.lexists(self.tree.at(path)):  # a link too whose target is gone
            self.tree.remove(path)

    def _cards(self, *lines: str) -> None:
        for fake in (self.nvml, self.smi):
            fake.say(f"count = {GPUS}", *self._own_cards, *lines, capture=CAPTURE)

    async def _judge(self, snapshot: Snapshot) -> Snapshot:
        assert self._running is not None
        conclusions: Conclusions = await self._running[1].conclude(snapshot)
        self.watch.look(snapshot, conclusions)
        return replace(snapshot, conclusions=conclusions)

    def _publish(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def _wall(self) -> float:
        return EPOCH + self.boottime - BOOTTIME

    def _config(self, scene: Scene, settings: Mapping[str, Any]) -> Config:
        own = {
            "gpu": {
                "smi_paths": [str(self.smi.path)],
                "driver_markers": [str(self.tree.host / "dev/nvidiactl")],
                "redetect_secs": 0.1,
            },
            "sources": {
                "proc_root": str(self.tree.proc),
                "sys_root": str(self.tree.sys),
                "host_root": str(self.tree.host),
            },
            "kernel_log": {"path": str(self._log.path)},
            "state": {"dir": str(self._state)},
        }
        layers = (own, scene.settings, settings)
        return load([Layer("scene", dict(layer)) for layer in layers])


def _files_of(processes: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the files under /proc of processes, each said as `PID NAME STATE CGROUP`."""
    for said in processes:
        pid, name, state, cgroup = said.split(maxsplit=3)
        yield from host_proc.process(int(pid), name, cgroup, state).items()


def _grown(text: str, number: int) -> str:
    return GROWING.sub(lambda found: str(int(found[1]) * number), text)


class _KernelLog:
    """A device like /dev/kmsg, made of a pipe that keeps both ends open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._ends = [os.open(path, os.O_RDONLY | os.O_NONBLOCK)]
        self._ends.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        self._sequence = 0

    def print(self, text: str, stamp: float, *, lost: int = 0) -> None:
        self._sequence += 1 + lost
        os.write(self._ends[1], kmsg(text, sequence=self._sequence, stamp=stamp))

    def is_ahead_of(self, position: Position | None) -> bool:
        """Tell whether lines were printed after the last one that was read."""
        return position is None or position.sequence != self._sequence

    def close(self) -> None:
        for end in self._ends:
            os.close(end)
