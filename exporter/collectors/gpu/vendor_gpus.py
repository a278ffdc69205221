"""What is known of the GPUs of one vendor, and the life of a pass, the same for every vendor."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable

from exporter.collectors.gpu.backend import GpuAnswer
from exporter.collectors.gpu.cache import GpuCache
from exporter.collectors.gpu.values import GpuBackend, GpuState
from exporter.collectors.pcie.values import passes_through
from exporter.reading.context import SourceContext
from exporter.reading.sysfs import link_name

PATIENCE_SECS = 1.0
"""How long a collection waits for a pass; what comes later is published when it comes."""

DUE_SECS = 0.8
"""A pass is due after this, a little less than the shortest interval: timers fire early too."""

log = logging.getLogger("exporter.collectors.gpu.source")


class VendorGpus(ABC):
    """Runs one pass at a time beside the collections: a driver that hangs delays nobody.

    `backend` says how the GPUs are read, `publish` is called if no collection waits for what a
    pass has found. Only GPUs of NVIDIA can be those of the demo: their processes are made up.
    """

    def __init__(
        self,
        ctx: SourceContext,
        vendor: str,
        backend: GpuBackend,
        publish: Callable[[], None],
        due_secs: float = DUE_SECS,
    ) -> None:
        self.backend = backend
        self.is_demo = vendor == "nvidia" and ctx.config.gpu.backend == "demo"
        sees_host_pids = ctx.sees_host_pids or self.is_demo
        self.cache = GpuCache(ctx.config.gpu, vendor=vendor, sees_host_pids=sees_host_pids)
        self._boottime = ctx.boottime
        self._call = ctx.call
        self._devices = ctx.sys / "bus/pci/devices"
        self._publish = publish
        self._due_secs = due_secs
        self._pass: asyncio.Task[None] | None = None
        self._started: float | None = None
        self._is_awaited = False

    @abstractmethod
    async def ask(self) -> tuple[GpuAnswer | None, GpuBackend]:
        """Ask for all GPUs, and name the backend to show; None where nothing answered."""

    @abstractmethod
    async def close_backends(self) -> None:
        """End what a pass has started."""

    @property
    def is_running(self) -> bool:
        """Whether a pass runs now."""
        return self._pass is not None and not self._pass.done()

    def states(self) -> tuple[GpuState, ...]:
        """All GPUs as they may be shown now."""
        return self.cache.states(self._boottime())

    async def wait_a_moment(self) -> None:
        """Start a pass unless one runs or has just run, and wait for it, but not long."""
        self.take_end()
        now = self._boottime()
        if self._pass is None:
            if self._started is not None and now - self._started < self._due_secs:
                return
            self._started = now
            self._pass = asyncio.ensure_future(self._run_pass())
        self._is_awaited = True
        try:
            await asyncio.wait({self._pass}, timeout=PATIENCE_SECS)
        finally:
            self._is_awaited = False
        self.take_end()

    def take_end(self) -> None:
        """Raise the error of a pass that has ended with one: a bug fails the source."""
        if self._pass is not None and self._pass.done():
            ended, self._pass = self._pass, None
            if not ended.cancelled():
                ended.result()

    def publish_unless_awaited(self) -> None:
        """Publish what is known now, unless a collection waits for the pass and does so."""
        if not self._is_awaited:
            self._publish()

    def show(self, backend: GpuBackend) -> None:
        """Show what is known as stale, read by this backend."""
        self.cache.mark_stale()
        self.backend = backend

    async def close(self) -> None:
        """End the pass that runs and what it has started; the next one is due at once."""
        self._started = None
        if self._pass is not None:
            self._pass.cancel()
        await self.close_backends()

    async def forget(self, backend: GpuBackend) -> None:
        """Forget all GPUs: the driver is gone."""
        self.backend = backend
        self.cache.forget()
        await self.close()

    async def _passed_through(self, answer: GpuAnswer) -> frozenset[str]:
        """Return the PCI addresses of GPUs that a virtual machine has been given since."""
        quiet = self.cache.quiet_addresses(answer)
        if not quiet:
            return frozenset()
        links = {pci: self._devices / pci / "driver" for pci in quiet}
        drivers = await self._call(lambda: {pci: link_name(links[pci]) for pci in links})
        return frozenset(pci for pci in drivers if passes_through(drivers[pci]))

    async def _run_pass(self) -> None:
        before = self.backend
        asked_at = self._boottime()  # what the answer says was so then or later
        answer, self.backend = await self.ask()
        if answer is None:
            self.cache.mark_stale()
        else:
            self.cache.passed_through = await self._passed_through(answer)
            self.cache.take(answer, asked_at)
        if (before.backend, before.reason) != (self.backend.backend, self.backend.reason):
            log.info("GPUs are read with %s (%s)", self.backend.backend, self.backend.reason)
        self.publish_unless_awaited()
