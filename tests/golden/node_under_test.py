"""A whole node on fakes: real sources, real probe processes, a clock that the test moves."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from exporter.blocking import DaemonThreads
from exporter.collectors import chosen
from exporter.collectors.everything import EVERYTHING
from exporter.config import Config
from exporter.config.file import Layer, load
from exporter.exposition.page import Moment, Pages
from exporter.exposition.render import Format
from exporter.family_choice import choice_of
from exporter.loop import Clocks, CollectionLoop
from exporter.model.snapshot import Snapshot
from exporter.probes.child import Children
from exporter.reports.node import inventory
from exporter.web.answer import to_json
from tests.fakes.nvml_library import NvmlLibrary
from tests.fakes.smi_program import NvidiaSmi
from tests.fakes.source_context import source_context

ROOT = Path(__file__).resolve().parent.parent.parent
BOOTTIME = 5000.0
WALL = 1_700_000_000.0

STAT = ("cpu  100 0 100 800 0 0 0 0 0 0", "cpu  150 0 100 850 0 0 0 0 0 0")
PROCESSORS = 4
CAPTURE = "h100x8.scenario"
TWO = "count = 2"


def write_host(root: Path, stat: str = STAT[0]) -> None:
    """The files of a small node: four processors on two cores, 16 GiB of memory."""
    files = {
        "proc/stat": "\n".join((stat, *(f"cpu{n} 1 0 1 8 0 0 0 0" for n in range(PROCESSORS)))),
        "proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 12582912 kB\n",
        "proc/uptime": "5000.25 9000.00\n",
        "proc/cpuinfo": 'model name\t: Example "X" CPU\\9\n',
        "proc/sys/kernel/osrelease": "6.1.0-13-amd64\n",
        "root/etc/os-release": 'NAME="Debian GNU/Linux"\nVERSION_ID="12"\n',
    }
    for cpu in range(PROCESSORS):
        name = f"sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"
        files[name] = f"{cpu % 2},{cpu % 2 + 2}\n"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class NodeUnderTest:
    """One node; `boottime` is its clock, in seconds, and stands still unless moved."""

    def __init__(self, folder: Path, nvml: NvmlLibrary, smi: NvidiaSmi) -> None:
        self.boottime = BOOTTIME
        self.host = folder / "host"
        self.marker = folder / "driver-version"
        self.woken = asyncio.Event()
        self.nvml, self.smi = nvml, smi
        write_host(self.host)
        self._children = Children()
        self._snapshot: Snapshot | None = None
        config = self._config(smi)
        is_exported = choice_of(config, EVERYTHING)
        self._pages = Pages(EVERYTHING, lambda: self.boottime, self._moment, is_exported)
        self._collector = self._build(config, nvml)

    def driver_is_loaded(self) -> None:
        """Two cards answer, to NVML and to nvidia-smi."""
        self.nvml_says()
        self.smi.say(TWO, capture=CAPTURE)
        self.marker.touch()

    def nvml_says(self, *lines: str) -> None:
        """The same cards, but for these lines."""
        self.nvml.say(TWO, *lines, capture=CAPTURE)

    async def collect(self, *, after_secs: float = 0.0) -> None:
        """One complete collection, so many seconds after the one before."""
        self.boottime += after_secs
        await self._collector.collect()

    async def close(self) -> None:
        """End all children."""
        await self._collector.close()
        await self._children.end_all()

    def page(self, form: Format, *, after_secs: float = 1.0) -> str:
        """The metrics page a second later: nothing is kept from the scrape before."""
        self.boottime += after_secs
        body = self._pages.body(form, gzipped=False)
        assert body is not None
        return body.decode()

    def snapshot(self) -> Snapshot:
        """What was published last."""
        assert self._snapshot is not None
        return self._snapshot

    def node_document(self) -> str:
        """The answer of `/node` now."""
        assert self._snapshot is not None
        return to_json(inventory(self._snapshot.at(self.boottime), self.boottime)).decode()

    def _build(self, config: Config, nvml: NvmlLibrary) -> CollectionLoop:
        ctx = source_context(
            config,
            hostname="gpu-node-7",
            child_environment={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin", **nvml.environment},
            children=self._children,
            driver_children=self._children,
            call=DaemonThreads(),
            wall=lambda: WALL,
            boottime=lambda: self.boottime,
            wake=lambda _: self.woken.set(),
        )
        return CollectionLoop(
            'node"7\\a',
            [
                row.build(ctx)
                for row in chosen(config).sources_for(config)
                if row.name in CONTRACT_SOURCES
            ],
            interval_secs=15.0,
            clocks=Clocks(lambda: WALL, lambda: self.boottime),
            publish=self._publish,
        )

    def _config(self, smi: NvidiaSmi) -> Config:
        settings: dict[str, Any] = {
            "gpu": {
                "driver_markers": [str(self.marker)],
                "smi_paths": [str(smi.path)],
                "redetect_secs": 0.1,
            },
            "sources": {
                "proc_root": str(self.host / "proc"),
                "sys_root": str(self.host / "sys"),
                "host_root": str(self.host / "root"),
            },
        }
        return load([Layer("test", settings)])

    def _moment(self, boottime: float) -> Moment:
        return Moment(boottime=boottime, version="1.2.3", python="3.12.1")

    def _publish(self, snapshot: Snapshot) -> None:
        """Publish it with durations that are the same in every run."""
        reports = tuple(replace(report, duration_secs=0.001) for report in snapshot.reports)
        self._snapshot = replace(snapshot, duration_secs=0.002, reports=reports)
        self._pages.publish(self._snapshot)


CONTRACT_SOURCES = {"host", "cpu", "memory", "gpu"}
"""The sources whose names are a contract; each other group has pages of its own."""
