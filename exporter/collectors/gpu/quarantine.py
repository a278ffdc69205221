"""GPUs on which the NVML probe hangs or crashes: skipped, and queried by a separate probe."""

import asyncio
import logging
from collections.abc import Callable

from exporter.collectors.gpu.backend import GpuProblem
from exporter.collectors.gpu.supervision.request_probe import (
    LONGEST_PAUSE_SECS,
    ProbeFailed,
    RequestProbe,
)
from exporter.probes.backoff import Backoff

HUNG = "hung"
CRASHES = "crashes"
REASONS = {"timeout": HUNG, "stuck": HUNG, "crashed": CRASHES}
"""What a GPU has that its own probe failed on; any other failure tells nothing of the GPU."""

RETRY_SECS = 5.0
"""So long after one call has hung the next is tried: a GPU that answers is back within 30 s."""

CRASH_PAUSE_SECS = 20.0
"""A GPU that crashes the probe is tried more seldom: each try is a start of a process."""

ENOUGH = 0.5
"""A slow GPU is asked for nothing more after this part of the deadline: slow is not hung."""

PASSES = 2
"""So many answers make a GPU well: activity is measured from the second pass on."""

log = logging.getLogger("exporter.collectors.gpu.source")


class Quarantine:
    """The suspects, by index, and what was found when they were asked alone.

    A suspect that answers, well or with an error, is none any more; `on_change` is called then, and
    when one has failed alone too.
    """

    def __init__(
        self,
        probe: RequestProbe,
        timeout_secs: float,
        on_change: Callable[[], None] = lambda: None,
        *,
        retry_secs: float = RETRY_SECS,
    ) -> None:
        self._probe = probe
        self._timeout_secs = timeout_secs
        self._on_change = on_change
        self._retry_secs = retry_secs
        self._suspects: dict[int, _Suspect] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def suspects(self) -> tuple[int, ...]:
        """The indexes that no pass must touch."""
        return tuple(self._suspects)

    @property
    def problems(self) -> tuple[GpuProblem, ...]:
        """The suspects that failed alone too."""
        return tuple(
            GpuProblem(suspect.reason, index=place)
            for place, suspect in self._suspects.items()
            if suspect.reason is not None
        )

    @property
    def is_undecided(self) -> bool:
        """Whether a suspect has not been asked alone yet: nothing is known of it."""
        return any(suspect.reason is None for suspect in self._suspects.values())

    @property
    def is_stuck(self) -> bool:
        """Whether a killed child of this probe is still alive: it sleeps in the driver."""
        return self._probe.is_stuck

    def add(self, places: set[int]) -> None:
        """Leave these GPUs out from now on, and ask them alone."""
        for place in places:
            self._suspects.setdefault(place, _Suspect())
        if self._suspects and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._ask_until_none_is_left())

    def doubt(self) -> None:
        """Forget what was found of the suspects: the library has failed as a whole."""
        for suspect in self._suspects.values():
            suspect.reason = None

    async def close(self) -> None:
        """Forget the suspects and end their probe."""
        self._suspects.clear()
        if self._task is not None:
            self._task.cancel()
        await self._probe.close()

    async def _ask_until_none_is_left(self) -> None:
        now = asyncio.get_running_loop().time
        while self._suspects:
            for place, suspect in tuple(self._suspects.items()):
                if now() >= suspect.not_before:
                    await self._ask(place, suspect)
            if self._suspects:
                await asyncio.sleep(self._retry_secs)
        await self._probe.close()

    async def _ask(self, place: int, suspect: "_Suspect") -> None:
        try:
            enough = ENOUGH * self._timeout_secs
            request = {"op": "read", "only": place, "enough_secs": enough}
            for _ in range(PASSES):
                await self._probe.ask(request, self._timeout_secs)
        except ProbeFailed as failed:
            self._note(place, suspect, failed)
            if not self._probe.is_stuck:
                await self._probe.close()  # the next try must not wait for a back-off
        else:
            log.info("GPU %d answers again", place)
            self._suspects.pop(place, None)
            self._on_change()

    def _note(self, place: int, suspect: "_Suspect", failed: ProbeFailed) -> None:
        """Keep why the GPU failed alone; one that crashes the probe is tried ever more seldom."""
        if failed.reason == "crashed":
            pause = suspect.backoff.next_secs()
            suspect.not_before = asyncio.get_running_loop().time() + pause
        reason = REASONS.get(failed.reason)
        if failed.reason == "crashed" and failed.place != place:
            return  # the library crashed before it came to this GPU
        if reason is not None and reason != suspect.reason:
            log.warning("GPU %d %s and is not read until it answers: %s", place, reason, failed)
            suspect.reason = reason
            self._on_change()


class _Suspect:
    """A GPU that is asked alone; `reason` is None until it has failed alone too."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.backoff = Backoff(CRASH_PAUSE_SECS, LONGEST_PAUSE_SECS)
        self.not_before = 0.0
