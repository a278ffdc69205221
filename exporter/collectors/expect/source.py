"""The source that compares a snapshot with the expected hardware."""

from pathlib import Path

from exporter.collectors.expect.hardware import HardwareNow, hardware_of
from exporter.collectors.expect.shortages import shortages
from exporter.collectors.expect.values import Expected, Part, Shortage
from exporter.collectors.expect.wanted import (
    NAME,
    LearnedHardware,
    configured_parts,
    file_in,
    with_labels,
)
from exporter.collectors.gpu.values import Gpus
from exporter.model.reading import Reading
from exporter.model.snapshot import Snapshot
from exporter.reading.context import SourceContext
from exporter.reading.files import FILE_DEADLINE_SECS


class ExpectSource:
    """Compares after each collection; remembers what was missing of a kind that cannot be told."""

    name = "expect"
    follows = Gpus
    deadline_secs = FILE_DEADLINE_SECS

    def __init__(self, ctx: SourceContext) -> None:
        self._config = ctx.config.expect
        self._call = ctx.call
        folder = ctx.config.state.dir
        self._learned = LearnedHardware(file_in(folder), Path(folder) / NAME if folder else None)
        self._named = configured_parts(self._config)
        self._before: tuple[Shortage, ...] = ()

    async def read_after(self, seen: Snapshot) -> Reading[Expected]:
        """Compare the snapshot with what is expected; labels that say nothing are left out."""
        return await self._call(lambda: self._compare(hardware_of(seen)))

    async def close(self) -> None:
        """Let go of nothing."""

    def _compare(self, hardware: HardwareNow) -> Reading[Expected]:
        config, wrong = with_labels(self._config)
        named = self._parts(hardware)
        known = {*hardware.found, *(["memory"] if hardware.memory_gib is not None else [])}
        kept = (each for each in self._before if each.kind not in known)
        self._before = (*shortages(config, named, hardware), *kept)
        expected = sum(map(len, named.values()))
        counts = (config.gpus, config.nvlinks, config.ports, config.disks, config.dimms)
        expected += sum(map(bool, (*counts, config.gpu_model, config.memory_gib)))
        return Reading(Expected(self._before, expected or None), wrong)

    def _parts(self, hardware: HardwareNow) -> dict[str, tuple[Part, ...]]:
        """Return the parts that are expected by name: learned, and configured ones."""
        if not self._config.learn:
            return self._named
        self._learned.see(hardware)
        learned = dict(self._learned.parts())
        for kind, parts in self._named.items():
            known = {part.slot for part in learned.get(kind, ())}
            more = (part for part in parts if part.slot not in known)
            learned[kind] = (*learned.get(kind, ()), *more)
        return learned
