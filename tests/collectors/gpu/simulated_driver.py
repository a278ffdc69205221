"""A driver in virtual time: GPUs and a library that hang, crash, are slow, and get well again.

The probe processes and nvidia-smi are scripted children; all that reads them is the real program:
source, backends, back-off, quarantine, cache, collector and the shipped rules.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exporter.collectors.everything import KINDS, rule_book
from exporter.collectors.gpu.source import build_gpu
from exporter.collectors.gpu.values import Gpus, GpuState
from exporter.config import Config, GpuConfig, Metrics
from exporter.faults.engine import RuleEngine
from exporter.faults.entities.graph import SIBLINGS
from exporter.model.snapshot import Snapshot
from exporter.model.verdict import Conclusions, Fault
from tests.collecting import Run
from tests.collectors.gpu.smi_documents import gpu_xml, log_xml
from tests.fakes.source_context import source_context
from tests.probes.scripted_children import ScriptedChild, ScriptedChildren

SMI = Path("/bin/true")  # a trusted program is looked for; what it would print is scripted
TURN_SECS = 0.02
LIBRARY = None
"""The place of what concerns no single GPU."""


@dataclass
class Trouble:
    """What is wrong with a GPU or the library: hang, crash, slow, lost; and in which call."""

    kind: str
    call: str = "nvmlDeviceGetUUID"


@dataclass
class SimulatedDriver:
    """So many GPUs, and the trouble of each by its index; that of the library has no index."""

    count: int
    has_smi: bool = True
    troubles: dict[int | None, Trouble] = field(default_factory=dict)
    mig: bool = False
    starts: list[float] = field(default_factory=list)  # of probe processes

    def prepare(self, child: ScriptedChild) -> None:
        """Let a child that was started do what its program would."""
        if child.command.argv[0] == str(SMI):
            self._keep(asyncio.ensure_future(self._print(child)))
            return
        self.starts.append(child.started_at)
        state = {"is_new": True}

        def take(data: bytes) -> None:
            self._keep(asyncio.ensure_future(self._answer(child, json.loads(data), state)))

        child.on_request = take

    _tasks: set["asyncio.Future[None]"] = field(default_factory=set)

    def _keep(self, task: "asyncio.Future[None]") -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(
        self, child: ScriptedChild, request: dict[str, Any], state: dict[str, bool]
    ) -> None:
        off = request.get("switched_off", ())
        if state.pop("is_new", False) and not await self._call(child, "nvmlInit", LIBRARY):
            return
        if not await self._call(child, "nvmlDeviceGetCount", LIBRARY):
            return
        gpus: list[dict[str, Any]] = []
        for place in self._chosen(request):
            trouble = self.troubles.get(place)
            call = trouble.call if trouble else "nvmlDeviceGetUUID"
            is_off = call in off or f"{call}@{place}" in off
            if not is_off and not await self._call(child, call, place):
                return
            gpus.append(self._row(place))
        if child.is_running:
            answer = {"id": request["id"], "gpus": gpus, "count": self.count, "is_partial": False}
            child.says(json.dumps(answer).encode() + b"\n")

    def _chosen(self, request: dict[str, Any]) -> list[int]:
        only, skip = request.get("only"), request.get("skip", ())
        first = request["id"] % max(self.count, 1)
        places = [(first + n) % self.count for n in range(self.count)]
        return [n for n in places if (n == only if only is not None else n not in skip)]

    def _row(self, place: int) -> dict[str, Any]:
        trouble = self.troubles.get(place)
        row: dict[str, Any] = {"index": place, "uuid": f"GPU-{place}", "name": "H100"}
        row["pci_bus_id"] = f"0000:0{place}:00.0"
        if trouble is not None and trouble.kind == "lost":
            return {**row, "problem": "gpu_lost"}
        return {**row, "temperature_celsius": 40, "mig_enabled": self.mig}

    async def _call(self, child: ScriptedChild, call: str, place: int | None) -> bool:
        """Make one call; whether the child is still there after it."""
        _leave_crumb(child, call if place is None else f"{call}@{place}")
        while child.is_running:
            trouble = self.troubles.get(place)
            if trouble is None or (place is LIBRARY and trouble.call != call):
                return True
            if trouble.kind == "crash":
                child.ends(-11)
            elif trouble.kind == "slow":
                await asyncio.sleep(0.4)
                return child.is_running
            elif trouble.kind == "hang":
                await asyncio.sleep(0.1)
            else:
                return True
        return False

    async def _print(self, child: ScriptedChild) -> None:
        """Do as nvidia-smi: it uses the same library, and is as slow."""
        while any(trouble.kind == "hang" for trouble in self.troubles.values()):
            await asyncio.sleep(0.1)
            if not child.is_running:
                return
        await asyncio.sleep(TURN_SECS)
        if not self.has_smi or any(t.kind == "crash" for t in self.troubles.values()):
            child.ends(-11)
            return
        places = range(self.count)
        rows = [gpu_xml(n, temperature__gpu_temp="40 C") for n in places if self._is_listed(n)]
        child.says(log_xml(*rows).encode())
        child.ends(0)

    def _is_listed(self, place: int) -> bool:
        trouble = self.troubles.get(place)
        return trouble is None or trouble.kind != "lost"


def _leave_crumb(child: ScriptedChild, crumb: str) -> None:
    for descriptor in child.command.descriptors:
        os.pwrite(descriptor, crumb.encode().ljust(128, b"\0"), 0)


class SimulatedNode:
    """The program on such a driver: what it reads, what it concludes, and when faults began."""

    def __init__(self, driver: SimulatedDriver, interval_secs: float, marker: Path) -> None:
        loop = asyncio.get_running_loop()
        self.driver = driver
        self.children = ScriptedChildren(driver.prepare)
        settings = GpuConfig(
            driver_markers=(str(marker),), smi_paths=(str(SMI),), redetect_secs=1.0
        )
        ctx = source_context(
            Config(gpu=settings, metrics=Metrics(collect_interval_secs=interval_secs)),
            driver_children=self.children.as_children(),
            wall=lambda: 1.7e9 + loop.time(),
            boottime=self._boottime,
            wake=lambda _: self.run.collector.wake("gpu"),
        )
        self.source = build_gpu(ctx)
        self._engine = RuleEngine(BOOK, KINDS, loop.time, "")
        self.run: Run = Run([self.source], interval_secs, self._conclude)

    def _boottime(self) -> float:
        return 500.0 + asyncio.get_running_loop().time()

    async def _conclude(self, snapshot: Snapshot) -> Conclusions:
        return self._engine.conclude(snapshot)

    def begun(self) -> list[tuple[float, str, str]]:
        """When each fault began, its rule and its severity, over the whole run so far.

        A fault of the node that stands for those of its GPUs is left out: these are counted.
        """
        found: dict[tuple[str, str, float], tuple[float, str, str]] = {}
        for at, snapshot in self.run.published:
            seen = faults(snapshot)
            together = {
                it.causes[0].rule for it in seen if it.causes and it.causes[0].via == SIBLINGS
            }
            for fault in seen:
                if fault.rule in together and fault.subject.kind == "node":
                    continue
                key = (fault.rule, fault.subject.hw_id, fault.since)
                found.setdefault(key, (at, f"{fault.rule}@{fault.subject.hw_id}", fault.severity))
        return sorted(found.values())

    @asynccontextmanager
    async def collecting(self) -> AsyncIterator[None]:
        """Collect meanwhile, then end it."""
        task = asyncio.ensure_future(self.run.collector.run())
        try:
            yield
        finally:
            task.cancel()
            await self.source.close()

    @property
    def states(self) -> tuple[GpuState, ...]:
        """What was published last of each GPU."""
        gpus = self.run.last.reading(Gpus)
        return () if gpus is None else gpus.states


BOOK = rule_book()


def faults(snapshot: Snapshot) -> tuple[Fault, ...]:
    """The faults that hold in a snapshot."""
    conclusions = snapshot.conclusions
    return tuple(f for f in (conclusions.faults if conclusions else ()) if f.is_active)
