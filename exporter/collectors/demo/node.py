"""The simulated node as a whole: its GPUs moved on second by second, and what they answer."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from exporter.collectors.demo.card import Card
from exporter.collectors.demo.card_reading import identity, reading
from exporter.collectors.demo.jobs import running_on
from exporter.collectors.demo.script import INCIDENTS, DemoIncident, Now, at
from exporter.record import dataclass, replace

DRIVER_VERSION, CUDA_VERSION = "570.124.06", "12.8"


@dataclass(frozen=True, slots=True)
class Xid:
    """An error that a GPU reported, at this second of the script."""

    secs: int
    card: Card
    code: int


class DemoNode:
    """`gpus` cards that do and suffer what the script says; `speed` is its seconds per second.

    Of what goes wrong only these incidents happen.
    """

    def __init__(
        self,
        gpus: int,
        seed: int,
        speed: float,
        incidents: tuple[DemoIncident, ...] = INCIDENTS,
    ) -> None:
        self._incidents = tuple(replace(it, gpu=it.gpu % gpus) for it in incidents)
        self.cards = tuple(Card(index, gpus, seed) for index in range(gpus))
        self.now: Now = self.at(0)
        self._speed = speed
        self._next_secs = 0

    def at(self, secs: int) -> Now:
        """Return what is wrong at this second of the script."""
        return at(secs, self._incidents)

    def advance_to(self, secs: float) -> Sequence[Xid]:
        """Let the script go on to this second; the Xids on the way."""
        return tuple(
            xid for second in range(self._next_secs, int(secs) + 1) for xid in self._step(second)
        )

    def _step(self, secs: int) -> Iterator[Xid]:
        self.now = self.at(secs)
        self._next_secs = secs + 1
        for card in self.cards:
            running = running_on(card.index, self.now)
            for code in card.step(self.now, running, 1 / self._speed):
                yield Xid(secs, card, code)

    def answer(self) -> dict[str, Any]:
        """Answer as the NVML probe would now."""
        return {
            "driver_version": DRIVER_VERSION,
            "cuda_version": CUDA_VERSION,
            "gpus": [_entry(card) for card in self.cards],
        }


def _entry(card: Card) -> dict[str, Any]:
    if card.is_lost:
        return {**asdict(identity(card)), "problem": "gpu_lost"}
    return {**asdict(reading(card)), "missing": {}}


def event(xid: Xid) -> dict[str, Any]:
    """Write what the NVML probe would print at the moment of an Xid."""
    return {
        "event": "xid",
        "xid": xid.code,
        "gpu_instance": None,
        "compute_instance": None,
        "index": xid.card.index,
        "uuid": xid.card.uuid,
    }
