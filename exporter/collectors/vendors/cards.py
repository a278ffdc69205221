"""The other vendors whose GPUs can be read, and what is known of the GPUs of each.

This module is imported when the driver of one of them is found: nobody else pays for it.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from exporter.collectors.gpu.backend import Backend, BackendError
from exporter.collectors.gpu.cache import CacheTtl, GpuCache
from exporter.collectors.gpu.driver import AMDGPU, I915, XE, npu_managers
from exporter.collectors.gpu.source import DUE_SECS, PATIENCE_SECS
from exporter.collectors.gpu.values import GpuBackend, GpuState
from exporter.collectors.vendors.amd.amdgpu import AmdgpuReader
from exporter.collectors.vendors.intel import BUILT_IN, IntelReader
from exporter.collectors.vendors.npu_smi import NpuSmiBackend
from exporter.collectors.vendors.sysfs_cards import CardReader, Indexes, SysfsCards
from exporter.model.reading import Missing
from exporter.reading.context import SourceContext

BROKEN = "unknown_error"

log = logging.getLogger("exporter.collectors.gpu.source")


@dataclass(frozen=True, slots=True)
class Vendor:
    """One other vendor: its backend's name, whether its driver is here, and how it is asked."""

    name: str
    vendor: str
    is_there: Callable[[], bool]
    backend: Backend


class VendorGpus:
    """What is known of the GPUs of one vendor; a pass runs beside the collections."""

    def __init__(
        self,
        vendor: Vendor,
        cache: GpuCache,
        *,
        boottime: Callable[[], float],
        publish: Callable[[], None],
        due_secs: float,
    ) -> None:
        self.vendor = vendor
        self._cache = cache
        self._boottime = boottime
        self._publish = publish
        self._due_secs = due_secs
        self._pass: asyncio.Task[None] | None = None
        self._started: float | None = None
        self._is_awaited = False
        self._reason = "pending"
        self._driver_version: str | None = None
        self.missing: tuple[Missing, ...] = ()
        self.rejected: Counter[str] = Counter()

    @property
    def is_running(self) -> bool:
        """Whether a pass runs now."""
        return self._pass is not None and not self._pass.done()

    @property
    def backend(self) -> GpuBackend:
        """How its GPUs are read, and why not."""
        return GpuBackend(self.vendor.name, self._reason, self._driver_version)

    def states(self) -> tuple[GpuState, ...]:
        """All its GPUs as they may be shown now."""
        return self._cache.states(self._boottime())

    async def refresh(self) -> None:
        """Start a pass unless one runs or has just run, and wait for it, but not long."""
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
        if self._pass.done():
            ended, self._pass = self._pass, None
            if not ended.cancelled():
                ended.result()

    async def forget(self) -> None:
        """Forget its GPUs: the driver is gone."""
        if self._pass is not None:
            self._pass.cancel()
            self._pass = None
        self._started, self._reason, self.missing = None, "pending", ()
        self._cache.forget()
        await self.vendor.backend.close()

    async def close(self) -> None:
        """End the pass and what it has started."""
        if self._pass is not None:
            self._pass.cancel()
        await self.vendor.backend.close()

    async def _run_pass(self) -> None:
        asked_at, before = self._boottime(), self._reason
        try:
            answer = await self.vendor.backend.ask()
        except BackendError as failed:
            self._fail(failed.reason, failed)
        except Exception as error:
            log.debug("%s failed", self.vendor.name, exc_info=error)
            self._fail(BROKEN, error)
        else:
            self._reason = "ok"
            self._driver_version = answer.driver_version or self._driver_version
            self.missing = answer.missing
            self.rejected.update(answer.rejected)
            self.rejected.update(self._cache.take(answer, asked_at))
            if before != self._reason:
                log.info("%s GPUs are read with %s", self.vendor.vendor, self.vendor.name)
        if not self._is_awaited:
            self._publish()

    def _fail(self, reason: str, error: Exception) -> None:
        if self._reason != reason:
            log.warning("%s cannot be used (%s): %s", self.vendor.name, reason, error)
        self._reason = reason
        self._cache.mark_stale()


def build_vendors(ctx: SourceContext, publish: Callable[[], None]) -> tuple[VendorGpus, ...]:
    """Build all other vendors; each looks for its own driver."""
    config = ctx.config.gpu
    ttl = CacheTtl(config.cache_ttl_secs, config.dynamic_ttl_secs)
    return tuple(
        VendorGpus(
            vendor,
            GpuCache(ttl, vendor=vendor.vendor, sees_host_pids=ctx.sees_host_pids),
            boottime=ctx.boottime,
            publish=publish,
            due_secs=max(DUE_SECS, DUE_SECS * ctx.config.metrics.collect_interval_secs),
        )
        for vendor in _vendors(ctx, Indexes(ctx.sys))
    )


def _vendors(ctx: SourceContext, indexes: Indexes) -> tuple[Vendor, ...]:
    config = ctx.config.gpu
    amd = AmdgpuReader(
        ctx.sys, ecc_locations=config.ecc_locations, sees_host_pids=ctx.sees_host_pids
    )

    def cards(
        driver: str, vendor: str, reader: CardReader, left_out: frozenset[str] = frozenset()
    ) -> Vendor:
        backend = SysfsCards(
            driver,
            reader,
            sys_root=ctx.sys,
            indexes=indexes,
            call=ctx.call,
            deadline_secs=config.timeout_secs,
            left_out=left_out,
        )
        return Vendor(driver, vendor, backend.is_here, backend)

    npus = NpuSmiBackend(
        ctx.children,
        ctx.child_environment,
        indexes=indexes,
        call=ctx.call,
        timeout_secs=config.timeout_secs,
    )
    return (
        cards(AMDGPU, "amd", amd),
        cards(XE, "intel", IntelReader(XE), BUILT_IN),
        cards(I915, "intel", IntelReader(I915), BUILT_IN),
        Vendor(
            "npu-smi", "ascend", lambda: any(node.exists() for node in npu_managers(ctx.root)), npus
        ),
    )
