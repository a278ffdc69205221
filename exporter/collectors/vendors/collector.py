"""GPUs of other vendors: their drivers are looked for, and read beside the GPUs of NVIDIA."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.blocking import OneAtATime
from exporter.collector import Collector
from exporter.collectors.gpu.source import GpuSource
from exporter.collectors.gpu.vendor_gpus import PATIENCE_SECS
from exporter.collectors.vendors.vendors import VENDORS, Vendor
from exporter.reading.context import SourceContext
from exporter.reading.files import is_there
from exporter.reading.source import AnySource
from exporter.record import replace

if TYPE_CHECKING:
    from exporter.collectors.vendors.cards import Indexes, OtherVendorGpus


class OtherVendors:
    """The vendors whose drivers were found since the start.

    A vendor whose driver is not here costs one look for a file each collection, and nothing else:
    what reads them is imported when the first driver is found.
    """

    def __init__(self, ctx: SourceContext, publish: Callable[[], None]) -> None:
        self._ctx = ctx
        self._publish = publish
        self._known: dict[Vendor, OtherVendorGpus] = {}
        self._indexes: Indexes | None = None
        self._here: tuple[OtherVendorGpus, ...] = ()
        self._drivers = OneAtATime(lambda: ctx.call(self._find), PATIENCE_SECS)

    async def find(self) -> tuple["OtherVendorGpus", ...]:
        """Return those whose drivers are here, and forget what is known of the others."""
        there = await self._drivers.look()
        new = [] if there is None else [each for each in there if each not in self._known]
        if new:
            self._build(new)
            there = await self._drivers.look()
        if there is not None:
            here = tuple(self._known[each] for each in there)
            gone = [each for each in self._here if each not in here]
            self._here = here
            await asyncio.gather(
                *(each.forget(replace(each.backend, reason="pending")) for each in gone)
            )
        return self._here

    def _build(self, vendors: list[Vendor]) -> None:
        from exporter.collectors.vendors import cards  # noqa: PLC0415 - as said above

        self._indexes = self._indexes or cards.Indexes(self._ctx.sys)
        for vendor in vendors:
            parts = cards.Parts(vendor, self._ctx, self._indexes)
            self._known[vendor] = cards.build_gpus(parts, self._publish)

    def _find(self) -> list[Vendor]:
        """Tell which drivers are here; blocks while it looks."""
        return [each for each in VENDORS if self._is_here(each)]

    def _is_here(self, vendor: Vendor) -> bool:
        if (known := self._known.get(vendor)) is not None:
            return known.reader.is_here()
        return any(map(is_there, vendor.marks(self._ctx)))


def with_other_vendors(gpus: AnySource, ctx: SourceContext) -> AnySource:
    """Have the source of NVIDIA read the other vendors too."""
    if isinstance(gpus, GpuSource):
        gpus.find_others = OtherVendors(ctx, gpus.publish).find
    return gpus


COLLECTOR = Collector(
    "vendors",
    extends={"gpu": with_other_vendors},
    rules=Path(__file__).parent / "rules",
)
