"""The source of all GPUs: those of NVIDIA while its driver is loaded, then other vendors."""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from exporter.collectors.gpu.backend import Backend, Backends, Deadline, SpareBackend
from exporter.collectors.gpu.nvidia import NO_DRIVER, NvidiaGpus, bound_gpus
from exporter.collectors.gpu.nvml import build_nvml
from exporter.collectors.gpu.values import Gpus
from exporter.collectors.gpu.vendor_gpus import VendorGpus
from exporter.collectors.gpu.xids.nvml_events import GpuEvents, XidStore
from exporter.model.reading import Reading
from exporter.reading.context import SourceContext
from exporter.reading.files import is_there
from exporter.record import replace

LOOK_FOR_UNLOAD_SECS = 1.0
"""While the GPUs are released the driver may be unloaded, and loaded again within seconds.

At other times the probe has the devices open, and the kernel unloads no driver that is in use.
"""

DEADLINE_SECS = 5.0

PAUSED = ("timeout", "crashed")  # after these NVML's next try may have to wait

log = logging.getLogger("exporter.collectors.gpu.source")


class GpuSource:
    """All GPUs of the node, vendor by vendor: NVIDIA first, then those that `find_others` finds.

    A pass over the hardware runs beside the collections: `read` starts one for each vendor and
    waits a moment, so that a driver that hangs delays nobody. The loop is woken when there
    is something new to be read.
    """

    name = "gpu"
    deadline_secs = DEADLINE_SECS

    def __init__(self, ctx: SourceContext, backends: Backends, events: GpuEvents) -> None:
        self._config = ctx.config.gpu
        self._nvidia = NvidiaGpus(ctx, backends, self.publish)
        self.find_others: Callable[[], Awaitable[tuple[VendorGpus, ...]]] | None = None
        self.others: tuple[VendorGpus, ...] = ()
        self._events = events
        events.on_news = self.publish
        self._call = ctx.call
        self._boottime = ctx.boottime
        self._wake = partial(ctx.wake, "gpu")
        self._watch: asyncio.Task[None] | None = None
        self._released_since = 0.0
        self._released_until: float | None = None
        self._releases = 0
        self._restarts: int | None = 0
        self._letting_go: asyncio.Task[None] | None = None
        self._has_news = False

    async def read(self) -> Reading[Gpus]:
        """Read what is known of all GPUs now."""
        if self._watch is None:
            await self._events.load()
            await self._look_for_driver()
            self._watch = asyncio.ensure_future(self._keep_looking())
        self._has_news |= self._nvidia.note_problems()
        if not self._has_news:
            await asyncio.gather(self._pass_over_nvidia(), self._pass_over_others())
        self._has_news = False
        self._nvidia.take_end()
        return self._reading()

    async def _pass_over_nvidia(self) -> None:
        if self._nvidia.has_driver and not self._is_released():
            await self._nvidia.wait_a_moment()

    async def _pass_over_others(self) -> None:
        self.others = await self.find_others() if self.find_others else ()
        await asyncio.gather(*(vendor.wait_a_moment() for vendor in self.others))

    def _reading(self) -> Reading[Gpus]:
        nvidia, vendors = self._nvidia, (self._nvidia, *self.others)
        counts = Counter(xid=self._events.rejected)
        for vendor in vendors:
            counts.update(vendor.cache.rejected)
        rejected = tuple((name, float(counts[name])) for name in sorted(counts) if counts[name])
        before, restarts = self._restarts, nvidia.backends.restarts()
        self._restarts = restarts
        tried = nvidia.backend.reason not in PAUSED or restarts != before
        states = (state for vendor in vendors for state in vendor.states())
        gpus = Gpus(
            replace(nvidia.backend, tried=tried),
            tuple(sorted(states, key=lambda state: (state.gpu.index, state.gpu.uuid))),
            xids=self._events.xids,
            events=self._events.events,
            probe_restarts=restarts,
            releases=self._releases,
            release_overdue=self._is_release_overdue(),
            disabled_calls=nvidia.cache.disabled_calls,
            others=tuple(vendor.backend for vendor in self.others),
        ).at(self._boottime())
        missing = tuple(gap for vendor in vendors for gap in vendor.cache.missing)
        return Reading(gpus, missing, rejected)

    def release(self) -> None:
        """Let go of the GPUs of NVIDIA: end the children now, and start none for a while.

        Of other vendors nothing is held between two passes.
        """
        log.info("GPUs are released for %g s", self._config.release_secs)
        self._releases += 1
        if not self._is_released():
            self._released_since = self._boottime()
        self._released_until = self._boottime() + self._config.release_secs
        self._letting_go = asyncio.ensure_future(self._let_go())
        if self._watch is not None:  # it may sleep longer than the driver is gone
            self._watch.cancel()
            self._watch = asyncio.ensure_future(self._keep_looking())

    def resume(self) -> None:
        """Read the GPUs of NVIDIA again from now on."""
        self._released_until = None
        self._has_news = False
        self._wake()

    def _is_released(self) -> bool:
        until = self._released_until
        return until is not None and self._boottime() < until

    def _is_release_overdue(self) -> bool:
        """Whether requests that follow each other keep the GPUs released."""
        secs = self._boottime() - self._released_since
        return self._is_released() and secs > self._config.release_secs

    async def _let_go(self) -> None:
        await self._nvidia.close()
        if self._nvidia.has_driver and self._is_released():
            self._nvidia.show(self._nvidia.from_cache("released"))
            self.publish()

    async def close(self) -> None:
        """End the passes and the children."""
        for task in (self._watch, self._letting_go):
            if task is not None:
                task.cancel()
        await asyncio.gather(*(vendor.close() for vendor in (self._nvidia, *self.others)))

    async def _keep_looking(self) -> None:
        while True:
            longest = LOOK_FOR_UNLOAD_SECS if self._is_released() else math.inf
            await asyncio.sleep(min(longest, self._config.redetect_secs))
            if await self._look_for_driver():
                self._wake()

    async def _look_for_driver(self) -> bool:
        """Look whether the driver of NVIDIA is loaded; tell whether that has changed."""
        is_loaded = self._nvidia.is_demo or await self._call(
            lambda: any(map(is_there, self._config.driver_markers))
        )
        if is_loaded == self._nvidia.has_driver:
            return False
        log.info("a GPU driver was loaded" if is_loaded else "the GPU driver was unloaded")
        if is_loaded:
            self._nvidia.backend = self._nvidia.starting()
        else:
            self._released_until = None  # whoever asked for it has had the driver unloaded
            await self._nvidia.forget(NO_DRIVER)
        return True

    def publish(self) -> None:
        """Have what is known now shown at once, without another pass."""
        self._has_news = True
        self._wake()


def build_gpu(ctx: SourceContext) -> GpuSource:
    """Build the GPU source with the backends that the configuration allows.

    Where a driver is loaded the probe starts now, and imports while the rules are loaded.
    """
    config, children = ctx.config.gpu, ctx.driver_children
    limits = (config.timeout_secs, ctx.config.metrics.collect_interval_secs)
    kept_in = ctx.config.state.dir
    store = XidStore(Path(kept_in), ctx.proc, ctx.call) if kept_in else None
    events = GpuEvents(ctx.wall, ctx.boottime, store)
    nvml = build_nvml(ctx, Deadline(*limits), events.take)
    if nvml is not None and any(map(is_there, config.driver_markers)):
        nvml.start_ahead()

    def build_smi() -> Backend:
        from exporter.collectors.gpu.smi import program  # noqa: PLC0415 - not where NVML answers

        environment = ctx.child_environment
        paths = program.program_paths(config, environment)
        return program.NvidiaSmiBackend(
            children, paths, environment, Deadline(*limits), lambda: bound_gpus(ctx)
        )

    backends = Backends(
        nvml,
        SpareBackend(build_smi) if config.backend in ("auto", "nvidia-smi") else None,
        is_stuck=lambda: children.abandoned_count > (nvml is not None and nvml.is_one_stuck),
        restarts=lambda: None if nvml is None else nvml.restarts,
        problems=lambda: () if nvml is None else nvml.problems,
    )
    return GpuSource(ctx, backends, events)
