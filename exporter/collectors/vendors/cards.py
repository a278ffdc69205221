"""What is known of the GPUs of one other vendor, and what its reader is built from.

This module is imported when the driver of another vendor is found: nobody else pays for it.
"""

import logging
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Protocol

from exporter.collectors.gpu.backend import Backend, BackendError, GpuAnswer
from exporter.collectors.gpu.values import GpuBackend
from exporter.collectors.gpu.vendor_gpus import DUE_SECS, VendorGpus
from exporter.collectors.pcie.address import is_pci_address
from exporter.collectors.vendors.card_files import CardFiles
from exporter.collectors.vendors.vendors import PCI_IDS, Vendor
from exporter.reading.context import SourceContext
from exporter.record import dataclass, replace

ACCELERATOR_CLASSES = ("0x03", "0x12")
BROKEN = "unknown_error"

log = logging.getLogger("exporter.collectors.gpu.source")


class Indexes:
    """Numbers the GPUs of a node: those of NVIDIA first, then vendor by vendor by PCI address.

    A place is that on the bus, whether a driver is loaded or not, and is kept: so no GPU takes
    the number of a card that is lost or whose driver loads later.
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
    return is_one and not files.is_virtual


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


class OtherVendorGpus(VendorGpus):
    """The GPUs of a vendor that one reader asks; what breaks costs this vendor only."""

    def __init__(self, parts: Parts, reader: VendorBackend, publish: Callable[[], None]) -> None:
        interval_secs = parts.ctx.config.metrics.collect_interval_secs
        super().__init__(
            parts.ctx,
            parts.vendor.vendor,
            GpuBackend(parts.vendor.backend, "pending"),
            publish,
            due_secs=max(DUE_SECS, DUE_SECS * interval_secs),
        )
        self.reader = reader

    async def close_backends(self) -> None:
        """End what the reader has started."""
        await self.reader.close()

    async def ask(self) -> tuple[GpuAnswer | None, GpuBackend]:
        """Read all GPUs; a bug costs this vendor only."""
        try:
            answer = await self.reader.ask()
        except Exception as error:
            reason = error.reason if isinstance(error, BackendError) else BROKEN
            log.debug("%s failed", self.backend.backend, exc_info=error)
            if self.backend.reason != reason:
                log.warning("%s cannot be used (%s): %s", self.backend.backend, reason, error)
            return None, replace(self.backend, reason=reason)
        version = answer.driver_version or self.backend.driver_version
        return answer, replace(self.backend, reason="ok", driver_version=version)


def build_gpus(parts: Parts, publish: Callable[[], None]) -> OtherVendorGpus:
    """Build what reads the GPUs of this vendor."""
    module = import_module(f"exporter.collectors.vendors.{parts.vendor.module}")
    return OtherVendorGpus(parts, module.build(parts), publish)
