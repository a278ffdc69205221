"""The GPU source: driver marker, then NVML, nvidia-smi, cache, absent."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

from exporter.blocking import CallBlocking
from exporter.collectors.gpu.backend import BackendError, Backends, Deadline, GpuAnswer, GpuProblem
from exporter.collectors.gpu.cache import CacheTtl, GpuCache
from exporter.collectors.gpu.driver import Driver, bound_gpus, driver_of
from exporter.collectors.gpu.nvml import NvmlProbes, build_nvml
from exporter.collectors.gpu.passes import Passes
from exporter.collectors.gpu.smi.program import NvidiaSmiBackend, program_paths
from exporter.collectors.gpu.values import DisabledCall, GpuBackend, Gpus
from exporter.collectors.gpu.xids.nvml_events import GpuEvents
from exporter.config import Demo
from exporter.config import Gpu as GpuConfig
from exporter.model.reading import Reading
from exporter.probes.child import Children

LOOK_FOR_UNLOAD_SECS = 1.0
"""A driver that is unloaded is let go of within two seconds."""

DEADLINE_SECS = 5.0

NO_DEVICES = "no_devices"
PAUSED = ("timeout", "crashed")  # after these NVML's next try may have to wait
NO_DRIVER = GpuBackend("none", "no_driver")

log = logging.getLogger("exporter.collectors.gpu.source")


class GpuSource:
    """All GPUs of the node.

    A pass over the hardware runs beside the collections: `read` starts one and waits a moment
    for it, so that a driver that hangs delays nobody. `wake` is called when there is something
    new to be read.
    """

    name = "gpu"
    deadline_secs = DEADLINE_SECS

    def __init__(
        self,
        backends: Backends,
        driver: Driver,
        cache: GpuCache,
        events: GpuEvents,
        *,
        call: CallBlocking,
        boottime: Callable[[], float],
        wake: Callable[[], None],
        bound_gpus: Callable[[], Awaitable[tuple[str, ...]]],
    ) -> None:
        self._bound_gpus = bound_gpus
        self._backends = backends
        self._driver = driver
        self._cache = cache
        self._events = events
        events.on_news = self._publish
        self._call = call
        self._boottime = boottime
        self._wake = wake
        self._backend = NO_DRIVER
        self._watch: asyncio.Task[None] | None = None
        self._passes = Passes(self._run_pass, self._publish, boottime)
        self._released_since = 0.0
        self._released_until: float | None = None
        self._releases = 0
        self._restarts: int | None = 0
        self._letting_go: asyncio.Task[None] | None = None
        self._has_news = False
        self._disabled_calls: tuple[DisabledCall, ...] = ()

    async def read(self) -> Reading[Gpus]:
        """Read what is known of all GPUs now."""
        if self._watch is None:
            await self._events.load()
            await self._look_for_driver()
            self._watch = asyncio.ensure_future(self._keep_looking())
        if self._backend.backend == self._backends.first:
            self._has_news |= self._cache.note(self._backends.problems())
        if self._backend is not NO_DRIVER and not self._has_news and not self._is_released():
            await self._passes.wait_a_moment()
        self._has_news = False
        self._passes.take_end()
        now = self._boottime()
        all_rejected = self._cache.rejected + Counter(xid=self._events.rejected)
        rejected = tuple(sorted((name, float(count)) for name, count in all_rejected.items()))
        before, restarts = self._restarts, self._backends.restarts()
        self._restarts = restarts
        gpus = Gpus(
            replace(self._backend, tried=self._backend.reason not in PAUSED or restarts != before),
            self._cache.states(now),
            xids=self._events.xids,
            events=self._events.events,
            probe_restarts=restarts,
            releases=self._releases,
            release_overdue=self._is_release_overdue(),
            disabled_calls=self._disabled_calls,
        ).at(now)
        return Reading(gpus, self._cache.missing, rejected)

    def release(self) -> None:
        """Let go of all GPUs: end the children now, and start none for a while."""
        log.info("GPUs are released for %g s", self._driver.release_secs)
        self._releases += 1
        if not self._is_released():
            self._released_since = self._boottime()
        self._released_until = self._boottime() + self._driver.release_secs
        self._letting_go = asyncio.ensure_future(self._let_go())

    def resume(self) -> None:
        """Read GPUs again from now on."""
        self._released_until = None
        self._has_news = False
        self._wake()

    def _is_released(self) -> bool:
        until = self._released_until
        return until is not None and self._boottime() < until

    def _is_release_overdue(self) -> bool:
        """Whether requests that follow each other keep the GPUs released."""
        secs = self._boottime() - self._released_since
        return self._is_released() and secs > self._driver.release_secs

    async def _let_go(self) -> None:
        self._passes.cancel()
        await self._close_backends()
        if self._backend is not NO_DRIVER and self._is_released():
            self._cache.mark_stale()
            self._backend = self._from_cache("released")
            self._publish()

    async def close(self) -> None:
        """End the passes and the children."""
        self._passes.cancel()
        for task in (self._watch, self._letting_go):
            if task is not None:
                task.cancel()
        await self._close_backends()

    async def _keep_looking(self) -> None:
        while True:
            is_there = self._backend is not NO_DRIVER
            longest = LOOK_FOR_UNLOAD_SECS if is_there else self._driver.redetect_secs
            await asyncio.sleep(min(longest, self._driver.redetect_secs))
            await self._look_for_driver()

    async def _look_for_driver(self) -> None:
        is_there = await self._call(self._driver.is_there)
        was_there = self._backend is not NO_DRIVER
        if is_there == was_there:
            return
        log.info("a GPU driver was loaded" if is_there else "the GPU driver was unloaded")
        self._backend = self._starting() if is_there else NO_DRIVER
        if not is_there:
            await self._forget()
        self._wake()

    async def _forget(self) -> None:
        self._passes.cancel()
        self._cache.forget()
        self._released_until = None  # whoever asked for it has had the driver unloaded
        await self._close_backends()

    async def _close_backends(self) -> None:
        for backend in (self._backends.nvml, self._backends.smi):
            if backend is not None:
                await backend.close()

    async def _run_pass(self) -> None:
        before = self._backend
        asked_at = self._boottime()  # what the answer says was so then or later
        answer, self._backend = await self._ask()
        if answer is None:
            self._cache.mark_stale()
        else:
            self._disabled_calls = answer.disabled_calls
            self._cache.take(answer, asked_at)
        if (before.backend, before.reason) != (self._backend.backend, self._backend.reason):
            log.info("GPUs are read with %s (%s)", self._backend.backend, self._backend.reason)
        self._passes.publish_unless_awaited()

    def _publish(self) -> None:
        """Have what is known now shown at once, without another pass."""
        self._has_news = True
        self._wake()

    async def _ask(self) -> tuple[GpuAnswer | None, GpuBackend]:
        """Ask the best backend that answers, and give the backend to show for it."""
        if self._backends.is_stuck():
            return None, self._from_cache("stuck")
        nvml_reason = "disabled"
        if self._backends.nvml is not None:
            try:
                answer = await self._backends.nvml.ask()
            except BackendError as failed:
                nvml_reason = failed.reason
                self._note_failure(failed)
            else:
                answer = await self._with_losses(answer)
                return answer, _backend(self._backends.first, "ok", answer, nvml_up=True)
        if self._backends.smi is None or self._backends.is_stuck():
            return None, self._from_cache(nvml_reason)
        try:
            answer = await self._backends.smi.ask()
        except BackendError as failed:
            log.debug("nvidia-smi: %s", failed)
            lost = await self._with_losses(GpuAnswer(()))
            reason = failed.reason if self._backends.nvml is None else nvml_reason
            if failed.reason != NO_DEVICES or not lost.problems:
                return None, self._from_cache(reason)
            answer = replace(lost, driver_version=self._backend.driver_version)
        backend = _backend("nvidia-smi", nvml_reason, answer, nvml_up=self._nvml_down)
        return answer, self._with_known_cuda_version(backend)

    async def _with_losses(self, answer: GpuAnswer) -> GpuAnswer:
        """Take an answer without GPUs for a loss where some were, or are bound to the driver."""
        if answer.gpus or answer.problems or answer.is_partial:
            return answer
        known = [state.gpu for state in self._cache.states(self._boottime())]
        problems = tuple(GpuProblem(NO_DEVICES, gpu.uuid or None, gpu.index) for gpu in known)
        if not known:
            bound = enumerate(await self._bound_gpus())
            problems = tuple(GpuProblem(NO_DEVICES, None, place, bus) for place, bus in bound)
        return replace(answer, problems=problems)

    @property
    def _nvml_down(self) -> bool | None:
        """What is shown of NVML while it gives nothing: nothing where it is switched off."""
        return None if self._backends.nvml is None else False

    def _starting(self) -> GpuBackend:
        return GpuBackend("none", "pending", nvml_up=self._nvml_down)

    def _note_failure(self, failed: BackendError) -> None:
        """Say why NVML fails when it begins to, before another backend is asked."""
        if self._backend.nvml_up is False and self._backend.reason == failed.reason:
            return
        log.warning("NVML cannot be used (%s): %s", failed.reason, failed)
        self._cache.mark_stale()
        self._backend = self._from_cache(failed.reason)
        self._passes.publish_unless_awaited()

    def _with_known_cuda_version(self, backend: GpuBackend) -> GpuBackend:
        """Keep what was reported before of the same driver: old nvidia-smi lack it."""
        before = self._backend.driver_version
        if backend.cuda_version is not None or backend.driver_version != before:
            return backend
        return replace(backend, cuda_version=self._backend.cuda_version)

    def _from_cache(self, reason: str) -> GpuBackend:
        """Nothing answered: the versions said before still hold for what the cache shows."""
        before = self._backend
        return GpuBackend(
            "cache", reason, before.driver_version, before.cuda_version, nvml_up=self._nvml_down
        )


def _backend(name: str, reason: str, answer: GpuAnswer, *, nvml_up: bool | None) -> GpuBackend:
    return GpuBackend(name, reason, answer.driver_version, answer.cuda_version, nvml_up=nvml_up)


def build_gpu(
    config: GpuConfig,
    *,
    children: Children,
    environment: Mapping[str, str],
    call: CallBlocking,
    events: GpuEvents,
    boottime: Callable[[], float],
    wake: Callable[[], None],
    interval_secs: float = 0.0,
    demo: Demo | None = None,
    sys_root: Path = Path("/sys"),
    sees_host_pids: bool = True,
) -> GpuSource:
    """Build the GPU source with the backends that the configuration allows."""
    smi, limits = None, (config.timeout_secs, interval_secs)
    probes = NvmlProbes(config, demo or Demo(), environment, children, sys_root)
    nvml = build_nvml(probes, Deadline(*limits), events.take, wake)

    async def on_bus() -> tuple[str, ...]:
        return await call(lambda: bound_gpus(sys_root))

    if config.backend in ("auto", "nvidia-smi"):
        paths = program_paths(config, environment)
        smi = NvidiaSmiBackend(children, paths, environment, Deadline(*limits), on_bus)
    ttl = CacheTtl(config.cache_ttl_secs, config.dynamic_ttl_secs)
    return GpuSource(
        Backends(
            nvml,
            smi,
            is_stuck=lambda: children.abandoned_count > (nvml is not None and nvml.is_one_stuck),
            restarts=lambda: None if nvml is None else nvml.restarts,
            first="demo" if config.backend == "demo" else "nvml",
            problems=lambda: () if nvml is None else nvml.problems,
        ),
        driver_of(config),
        GpuCache(ttl, vendor="nvidia", sees_host_pids=sees_host_pids or config.backend == "demo"),
        events,
        call=call,
        boottime=boottime,
        wake=wake,
        bound_gpus=on_bus,
    )
