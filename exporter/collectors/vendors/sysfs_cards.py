"""GPUs read from sysfs: each in a separate call.

A file of one card that blocks for ever costs that card: it is hung, and is not read again before
its call has ended.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from exporter.blocking import OneAtATime
from exporter.collectors.gpu.backend import AnswerBuilder, BackendError, GpuAnswer, GpuProblem
from exporter.collectors.gpu.cache import SUSPENDED
from exporter.collectors.gpu.quarantine import HUNG
from exporter.collectors.gpu.values import Gpu
from exporter.collectors.pcie.address import is_pci_address
from exporter.collectors.vendors.card_files import CardFiles
from exporter.collectors.vendors.cards import Parts
from exporter.model.reading import Missing

LOST = "gpu_lost"
MAX_CARDS = 64


CardReading = tuple[Gpu | GpuProblem, tuple[Missing, ...]]
"""One card: the GPU or why there is none, and what could not be read."""


class CardReader(Protocol):
    """Reads one card; blocks while it does."""

    def read(self, files: CardFiles, index: int, address: str) -> Gpu:
        """Read everything; what is not there is None."""
        ...

    def forget_all_but(self, addresses: tuple[str, ...]) -> None:
        """Forget what was kept of cards that are not bound any more."""
        ...


class SysfsCards:
    """Asks all cards that one kernel driver is bound to."""

    def __init__(
        self, parts: Parts, reader: CardReader, *, left_out: frozenset[str] = frozenset()
    ) -> None:
        self._driver = parts.vendor.backend
        self._reader = reader
        self._sys = parts.ctx.sys
        self._indexes = parts.indexes
        self._call = parts.ctx.call
        self._deadline_secs = parts.ctx.config.gpu.timeout_secs
        self._left_out = left_out
        self._has_cards = False
        self._listing = OneAtATime(lambda: self._call(self._list), self._deadline_secs)
        self._running: dict[str, asyncio.Future[CardReading]] = {}

    def is_here(self) -> bool:
        """Tell whether the driver is loaded and has, or had, a card; blocks while it looks."""
        folder = self._sys / "bus/pci/drivers" / self._driver
        names = CardFiles(folder, self._driver).names()
        self._has_cards = bool(names) and (self._has_cards or bool(self._bound(names)))
        return self._has_cards

    def _bound(self, names: list[str]) -> tuple[str, ...]:
        cards = (name for name in names if is_pci_address(name) and name not in self._left_out)
        return tuple(name for name in cards if not self._files(name).is_virtual)[:MAX_CARDS]

    def _files(self, address: str, label: str = "bus") -> CardFiles:
        return CardFiles(self._sys / "bus/pci/devices" / address, label)

    async def ask(self) -> GpuAnswer:
        """Read all cards once; raises BackendError where they cannot even be listed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._deadline_secs
        listed = await self._listing.look()
        if listed is None:
            raise BackendError("timeout", f"the cards of {self._driver} cannot be listed in time")
        found, version = listed
        for address, index in found.items():
            if address not in self._running:
                self._running[address] = asyncio.ensure_future(
                    self._call(self._read(address, index))
                )
        tasks = {self._running[address] for address in found}
        if tasks:
            await asyncio.wait(tasks, timeout=max(0.0, deadline - loop.time()))
        return self._answer(found, version)

    def _list(self) -> tuple[dict[str, int], str | None]:
        """List the bound cards with their numbers, and the version of the driver."""
        folder = CardFiles(self._sys / "bus/pci/drivers" / self._driver, self._driver)
        bound = self._bound(folder.names())
        self._reader.forget_all_but(bound)
        module = CardFiles(self._sys / "module" / self._driver, self._driver)
        return {address: self._indexes.of(address) for address in bound}, module.label("version")

    def _read(self, address: str, index: int) -> Callable[[], CardReading]:
        def read() -> CardReading:
            files = self._files(address, f"gpu{index}")
            if files.is_suspended:
                return problem(SUSPENDED), ()
            if files.is_lost:
                return problem(LOST), ()
            gpu = self._reader.read(files, index, address)
            return problem(LOST) if files.is_gone else gpu, tuple(files.missing)

        problem = partial(GpuProblem, index=index, pci_bus_id=address)
        return read

    def _answer(self, found: dict[str, int], version: str | None) -> GpuAnswer:
        builder = AnswerBuilder(by_address=True)
        for address, index in found.items():
            task = self._running[address]
            if not task.done():
                builder.problems.append(GpuProblem(HUNG, index=index, pci_bus_id=address))
                continue
            del self._running[address]
            card, missing = task.result()
            builder.missing += missing
            if isinstance(card, Gpu):
                builder.add(card)
            else:
                builder.problems.append(card)
        return builder.answer(driver_version=version)

    async def close(self) -> None:
        """Nothing is held between two passes."""
        for task in self._running.values():
            task.cancel()
