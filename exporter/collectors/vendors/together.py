"""GPUs of other vendors: each read separately, all combined in one reading."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from exporter.collectors.gpu.passes import PATIENCE_SECS
from exporter.collectors.gpu.source import DEADLINE_SECS, GpuSource
from exporter.collectors.gpu.values import Gpus
from exporter.collectors.vendors.vendors import VENDORS, Vendor
from exporter.model.reading import Labeled, Reading
from exporter.reading.context import SourceContext
from exporter.reading.source import AnySource

if TYPE_CHECKING:
    from exporter.collectors.vendors.cards import Indexes, VendorGpus


class AllGpus:
    """The GPUs of NVIDIA and of other vendors as one source.

    A vendor whose driver is not here costs one look for a file each collection, and nothing else:
    what reads them is imported when the first driver is found.
    """

    name = "gpu"
    deadline_secs = DEADLINE_SECS

    def __init__(self, nvidia: GpuSource, ctx: SourceContext) -> None:
        self._nvidia = nvidia
        self._ctx = ctx
        self._others: dict[Vendor, VendorGpus] = {}
        self._indexes: Indexes | None = None
        self._here: tuple[VendorGpus, ...] = ()
        self._looking: asyncio.Future[list[Vendor]] | None = None
        self._last: Reading[Gpus] | None = None
        self._has_news = False

    async def read(self) -> Reading[Gpus]:
        """Read what is known of all GPUs now."""
        # Woken for others, NVIDIA is not asked again.
        nvidia = self._last if self._has_news else None
        if nvidia is None:
            looking = asyncio.ensure_future(self._look())
            nvidia = self._last = await self._nvidia.read()
            await looking
        self._has_news = False
        return self._joined(nvidia) if self._here else nvidia

    @property
    def others(self) -> tuple["VendorGpus", ...]:
        """The vendors whose drivers were found since the start."""
        return tuple(self._others.values())

    async def _look(self) -> None:
        """See which drivers are here, and read their GPUs."""
        there = await self._found()
        new = [] if there is None else [each for each in there if each not in self._others]
        if new:
            self._build(new)
            there = await self._found()
        if there is not None:
            here = tuple(self._others[each] for each in there)
            gone = [each for each in self._here if each not in here]
            self._here = here
            await asyncio.gather(*(each.forget() for each in gone))
        await asyncio.gather(*(each.passes.wait_a_moment() for each in self._here))

    def _build(self, vendors: list[Vendor]) -> None:
        from exporter.collectors.vendors import cards  # noqa: PLC0415 - as said above

        self._indexes = self._indexes or cards.Indexes(self._ctx.sys)
        for vendor in vendors:
            parts = cards.Parts(vendor, self._ctx, self._indexes)
            self._others[vendor] = cards.build_gpus(parts, self._publish)

    async def _found(self) -> list[Vendor] | None:
        """Tell which drivers are here; None while a look for them blocks: none is begun beside."""
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._ctx.call(self._find))
        looking = self._looking
        await asyncio.wait({looking}, timeout=PATIENCE_SECS)
        if not looking.done():
            return None
        self._looking = None
        return looking.result()

    def _find(self) -> list[Vendor]:
        return [each for each in VENDORS if self._is_here(each)]

    def _is_here(self, vendor: Vendor) -> bool:
        if (known := self._others.get(vendor)) is not None:
            return known.is_here()
        return any(mark.exists() for mark in vendor.marks(self._ctx))

    def _joined(self, nvidia: Reading[Gpus]) -> Reading[Gpus]:
        states = [*nvidia.value.states, *(state for each in self._here for state in each.states())]
        joined = replace(
            nvidia.value,
            states=tuple(sorted(states, key=lambda state: (state.gpu.index, state.gpu.uuid))),
            others=tuple(each.backend for each in self._here),
        )
        return replace(
            nvidia,
            value=joined,
            missing=(*nvidia.missing, *(gap for each in self._here for gap in each.cache.missing)),
            rejected=_summed(nvidia.rejected, self._here),
        )

    def _publish(self) -> None:
        self._has_news = True
        self._ctx.wake("gpu")

    def release(self) -> None:
        """Let go of the GPUs of NVIDIA; of the others nothing is held between two passes."""
        self._nvidia.release()

    def resume(self) -> None:
        """Read the GPUs of NVIDIA again from now on."""
        self._nvidia.resume()

    async def close(self) -> None:
        """End all passes and children."""
        await asyncio.gather(self._nvidia.close(), *(each.close() for each in self.others))


def _summed(rejected: Labeled, others: tuple["VendorGpus", ...]) -> Labeled:
    total = Counter(dict(rejected))
    for each in others:
        total.update(each.cache.rejected)
    return tuple(sorted((name, float(count)) for name, count in total.items()))


def with_other_vendors(nvidia: AnySource, ctx: SourceContext) -> AnySource:
    """Add the other vendors to the source of NVIDIA."""
    return AllGpus(nvidia, ctx) if isinstance(nvidia, GpuSource) else nvidia
