"""A source of all GPUs over a made-up sys root, in virtual or in real time."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.collectors.gpu.backend import Backends
from exporter.collectors.gpu.source import GpuSource
from exporter.collectors.gpu.values import Gpu, Gpus, GpuState
from exporter.collectors.gpu.xids.nvml_events import GpuEvents
from exporter.collectors.vendors.collector import with_other_vendors
from exporter.config import Config, GpuConfig, Sources
from exporter.probes.child import Children
from tests.collectors.gpu.backends import ScriptedBackend, answers
from tests.fakes.source_context import call_now, source_context
from tests.fakes.virtual_time import run_virtually


class VendorNode:
    """One node; each `read` is a collection 15 seconds after the one before."""

    def __init__(
        self,
        sys_root: Path,
        *,
        nvidia: Gpu | None = None,
        call: CallBlocking = call_now,
        timeout_secs: float = 5.0,
        sees_host_pids: bool = True,
        ecc_locations: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._now = 1000.0
        self.wakes = 0
        self._woken = asyncio.Event()
        self.nvml = ScriptedBackend(answers(nvidia) if nvidia else answers())
        self.children = Children()
        ctx = source_context(
            Config(
                gpu=GpuConfig(
                    timeout_secs=timeout_secs,
                    ecc_locations=ecc_locations,
                    driver_markers=("/",) if nvidia else (),
                ),
                sources=Sources(sys_root=str(sys_root), host_root=str(sys_root.parent)),
            ),
            children=self.children,
            child_environment=dict(environment or {}),
            call=call,
            boottime=lambda: self._now,
            wake=lambda _: self._wake(),
            sees_host_pids=sees_host_pids,
        )
        events = GpuEvents(ctx.wall, ctx.boottime)
        self.source = GpuSource(ctx, Backends(self.nvml, None, lambda: False), events)
        with_other_vendors(self.source, ctx)

    def _wake(self) -> None:
        self.wakes += 1
        self._woken.set()

    async def settle(self, secs: float = 30.0) -> None:
        """Wait until what runs beside the collections has ended."""
        while any(each.is_running for each in self.source.others):
            self._woken.clear()
            await asyncio.wait_for(self._woken.wait(), secs)

    async def read(self, after_secs: float = 15.0) -> Gpus:
        """The next collection."""
        self._now += after_secs
        return (await self.source.read()).value


def look(
    sys_root: Path,
    *changes: Callable[[], object],
    sees_host_pids: bool = True,
    ecc_locations: bool = False,
) -> Gpus:
    """What is seen after one collection, and one more after each change."""

    async def scenario() -> Gpus:
        node = VendorNode(sys_root, sees_host_pids=sees_host_pids, ecc_locations=ecc_locations)
        gpus = await node.read()
        for change in changes:
            change()
            gpus = await node.read()
        await node.source.close()
        return gpus

    return run_virtually(scenario())


def only(gpus: Gpus) -> GpuState:
    """The one GPU there is."""
    (state,) = gpus.states
    return state
