"""What everything does that writes about the node: try again and again, and complain once."""

import logging
from collections.abc import Callable

from exporter.clock import boottime_now, wall_now
from exporter.config import NodeConditions
from exporter.model.snapshot import Snapshot
from exporter.outgoing import Repeated
from exporter.record import dataclass

log = logging.getLogger("exporter.conditions")


@dataclass(frozen=True, slots=True)
class Present:
    """The last snapshot, and the time: seconds since the epoch, and seconds of any origin."""

    latest: Callable[[], Snapshot | None]
    wall: Callable[[], float] = wall_now
    elapsed: Callable[[], float] = boottime_now


class Writer(Repeated):
    """Writes about this node every few seconds; `what` is the plural of what it writes."""

    def __init__(self, settings: NodeConditions, node: str, present: Present, what: str) -> None:
        super().__init__(settings.interval_secs)
        self._settings = settings
        self._node = node
        self._present = present
        self._what = what

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
