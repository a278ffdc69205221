"""What everything does that writes about the node: try again and again, and complain once."""

import asyncio
import logging
from abc import ABC, abstractmethod

from exporter.config import NodeConditions

LONGEST_PAUSE_SECS = 300.0

log = logging.getLogger("exporter.conditions")


class Writer(ABC):
    """Writes about this node every few seconds; `what` is the plural of what it writes."""

    def __init__(self, settings: NodeConditions, node: str, what: str) -> None:
        self._settings = settings
        self._node = node
        self._what = what
        self._failures = 0
        self._complaint = ""

    async def run(self) -> None:
        """Write for ever; less often after refusals."""
        while True:
            await asyncio.sleep(self.pause_secs())
            await self.step()

    @abstractmethod
    async def step(self) -> None:
        """Write what has changed."""

    def pause_secs(self) -> float:
        """Return the seconds until the next step."""
        doubled = self._settings.interval_secs * 2.0 ** min(self._failures, 16)
        return min(doubled, max(LONGEST_PAUSE_SECS, self._settings.interval_secs))

    def is_well(self) -> None:
        """Forget refusals: a step succeeded."""
        self._failures, self._complaint = 0, ""

    def complain(self, sentence: str) -> None:
        """Count a refusal and log its sentence, unless it was the last one."""
        self._failures += 1
        self.say(f"were not written: {sentence}")

    def say(self, sentence: str) -> None:
        """Log a warning, unless it was the last one."""
        if sentence != self._complaint:
            log.warning("node %s: %s %s", self._node, self._what, sentence)
        self._complaint = sentence
