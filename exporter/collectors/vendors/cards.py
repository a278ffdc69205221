"""What is known of the GPUs of one other vendor, and what its reader is built from.

This module is imported when the driver of another vendor is found: nobody else pays for it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Protocol

from exporter.collectors.gpu.backend import Backend, BackendError
from exporter.collectors.gpu.cache import CacheTtl, GpuCache
from exporter.collectors.gpu.passes import DUE_SECS, Passes
from exporter.collectors.gpu.values import GpuBackend, GpuState
from exporter.collectors.pcie.values import is_pci_address
from exporter.collectors.vendors.card_files import CardFiles
from exporter.collectors.vendors.vendors import PCI_IDS, Vendor
from exporter.reading.context import SourceContext

ACCELERATOR_CLASSES = ("0x03", "0x12")
BROKEN = "unknown_error"

log = logging.getLogger("exporter.collectors.gpu.source")


class Indexes:
    """Numbers the GPUs of a node: those of NVIDIA first, then vendor by vendor by PCI address.

    A place is that on the bus, whether a driver is loaded or not, and is kept: so no GPU takes
    the number of one that is lost or whose driver comes later.
    """

    def __init__(self, sys_root: Path) -> None:
        self._folder = sys_root / "bus/pci/devices"
        self._lock = Lock()
        self._known: dict[str, int] = {}

    def of(self, address: str) -> int:
        """Return the number of the GPU at this address; blocks while it looks at the bus."""
        if address not in self._known:
            found = [*_accelerators(self._folder), address]
            with self._lock:
                for each in found:
                    self._known.setdefault(each, len(self._known))
        return self._known[address]


def _accelerators(folder: Path) -> list[str]:
    """List the addresses of all GPUs on the bus, vendor by vendor; virtual functions are none."""
    found = []
    for name in CardFiles(folder, "bus").names():
        files = CardFiles(folder / name, name)
        vendor = (files.text("vendor", 64) or "").strip()
        is_one = is_pci_address(name) and vendor in PCI_IDS
        if is_one and _is_accelerator(files):
            found.append((PCI_IDS.index(vendor), name))
    return [name for _, name in sorted(found)]


def _is_accelerator(files: CardFiles) -> bool:
    is_one = (files.text("class", 64) or "").startswith(ACCELERATOR_CLASSES)
    return is_one and "physfn" not in files.names()


class VendorBackend(Backend, Protocol):
    """Reads the GPUs of one vendor."""

    def is_here(self) -> bool:
        """Tell whether the driver is loaded and has, or had, a GPU; blocks while it looks."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What a module of the list builds its backend from."""

    vendor: Vendor
    ctx: SourceContext
    indexes: Indexes


class VendorGpus:
    """What is known of the GPUs of one vendor; a pass runs beside the collections."""

    def __init__(
        self,
        vendor: Vendor,
        backend: VendorBackend,
        cache: GpuCache,
        *,
        boottime: Callable[[], float],
        publish: Callable[[], None],
        due_secs: float,
    ) -> None:
        self.vendor = vendor
        self._backend = backend
        self.cache = cache
        self._boottime = boottime
        self.passes = Passes(self._run_pass, publish, boottime, due_secs)
        self._reason = "pending"
        self._driver_version: str | None = None

    def is_here(self) -> bool:
        """Tell whether its driver is loaded; blocks while it looks."""
        return self._backend.is_here()

    @property
    def backend(self) -> GpuBackend:
        """How its GPUs are read, and why not."""
        return GpuBackend(self.vendor.backend, self._reason, self._driver_version)

    def states(self) -> tuple[GpuState, ...]:
        """All its GPUs as they may be shown now."""
        return self.cache.states(self._boottime())

    async def forget(self) -> None:
        """Forget its GPUs: the driver is gone."""
        self._reason = "pending"
        self.cache.forget()
        await self.close()
        self.passes.take_end()

    async def close(self) -> None:
        """End the pass and what it has started."""
        self.passes.cancel()
        await self._backend.close()

    async def _run_pass(self) -> None:
        asked_at, before = self._boottime(), self._reason
        try:
            answer = await self._backend.ask()
        except BackendError as failed:
            self._fail(failed.reason, failed)
        except Exception as error:
            log.debug("%s failed", self.vendor.backend, exc_info=error)
            self._fail(BROKEN, error)
        else:
            self._reason = "ok"
            self._driver_version = answer.driver_version or self._driver_version
            self.cache.take(answer, asked_at)
            if before != self._reason:
                log.info("%s GPUs are read with %s", self.vendor.vendor, self.vendor.backend)
        self.passes.publish_unless_awaited()

    def _fail(self, reason: str, error: Exception) -> None:
        if self._reason != reason:
            log.warning("%s cannot be used (%s): %s", self.vendor.backend, reason, error)
        self._reason = reason
        self.cache.mark_stale()


def build_gpus(parts: Parts, publish: Callable[[], None]) -> VendorGpus:
    """Build what reads the GPUs of this vendor."""
    ctx, config = parts.ctx, parts.ctx.config
    module = import_module(f"exporter.collectors.vendors.{parts.vendor.module}")
    ttl = CacheTtl(config.gpu.cache_ttl_secs, config.gpu.dynamic_ttl_secs)
    return VendorGpus(
        parts.vendor,
        module.build(parts),
        GpuCache(ttl, vendor=parts.vendor.vendor, sees_host_pids=ctx.sees_host_pids),
        boottime=ctx.boottime,
        publish=publish,
        due_secs=max(DUE_SECS, DUE_SECS * config.metrics.collect_interval_secs),
    )
